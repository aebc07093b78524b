package sim

import (
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim/invariant"
)

// Check makes w watched from its beginning on, and returns who watches. It is called before
// Run; watching changes nothing of what happens.
func (w *World) Check() *invariant.Checker {
	w.check = invariant.New(invariant.Setup{
		Scenario: w.sc, Preset: w.preset, Seats: w.fleet.seats, Slots: w.sc.Fleet.Claims(), Broker: w.broker,
	})
	return w.check
}

// breaches is what a checker found, for the row of the run.
func (w *World) breaches() []meter.Breach {
	if w.check == nil {
		return nil
	}
	w.check.Finish(w.now)
	var all []meter.Breach
	for _, f := range w.check.Findings() {
		all = append(all, meter.Breach{
			Invariant: f.Invariant.String(), At: f.At, Job: f.Job, Seat: f.Seat, Text: f.Text,
			Times: w.check.Times(f.Invariant), Expected: !w.preset.Sound(),
		})
	}
	return all
}

// ended tells the checker how a life ended.
func (w *World) ended(p *process, how invariant.HowEnded) {
	if w.check != nil {
		w.check.Ended(w.now, p.local(w.now), p.seat, how)
	}
}

// standsStill tells the checker that a process takes nothing in until an instant.
func (w *World) standsStill(p *process, until protocol.Instant) {
	if w.check != nil {
		w.check.StandsStill(w.now, p.seat, until)
	}
}
