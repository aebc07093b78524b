package hunt

import (
	"fmt"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/sim"
	"github.com/quiesce/quiesce/sim/invariant"
)

// Outcome is what one run showed.
type Outcome struct {
	Findings []invariant.Finding // the first of each invariant that was broken, by time
	Chances  []sim.Address       // what happened of what need not have
	Row      *meter.Row
	Checker  *invariant.Checker
}

// Broke returns the finding about an invariant, or nil.
func (o *Outcome) Broke(id invariant.ID) *invariant.Finding {
	for i := range o.Findings {
		if o.Findings[i].Invariant == id {
			return &o.Findings[i]
		}
	}
	return nil
}

// Try makes the run that a scenario names, with every invariant watched, and then lets it go on
// without faults until every job has come to its end. A panic of the machine is a finding of
// its own kind: an error.
func Try(sc *model.Scenario) (*Outcome, error) { return try(sc, nil) }

// try lets prepare have the world before it runs.
func try(sc *model.Scenario, prepare func(*sim.World)) (o *Outcome, err error) {
	w, err := open(sc)
	if err != nil {
		return nil, err
	}
	defer func() {
		if p := recover(); p != nil {
			o, err = nil, &PanicError{Scenario: sc, Value: fmt.Sprint(p)}
		}
	}()
	c := w.Check()
	w.LogChances()
	if prepare != nil {
		prepare(w)
	}
	o = &Outcome{Checker: c}
	if o.Row, err = w.Run(nil); err != nil {
		return nil, err
	}
	if c.NotPromised(invariant.DoneAfterFaults) == "" {
		if err = w.RunCalm(); err != nil {
			return nil, err
		}
	}
	o.Findings, o.Chances = c.Findings(), w.Chances()
	return o, nil
}

// open returns the world of the run that a scenario names.
func open(sc *model.Scenario) (*sim.World, error) {
	f := sc.Finding
	if f == nil {
		return nil, fmt.Errorf("hunt: scenario %s names no run: it has no finding", sc.Name)
	}
	preset, under, err := sc.Under(f.Policy)
	if err != nil {
		return nil, err
	}
	overrides, err := sim.Overrides(f.Overrides)
	if err != nil {
		return nil, err
	}
	return sim.NewWorld(under, preset, f.Seed, overrides)
}

// PanicError is a run in which the machine met what its rules exclude.
type PanicError struct {
	Scenario *model.Scenario
	Value    string
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("seed %d under %s: %s", e.Scenario.Finding.Seed, e.Scenario.Finding.Policy, e.Value)
}
