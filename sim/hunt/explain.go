package hunt

import (
	"fmt"
	"slices"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim"
	"github.com/quiesce/quiesce/sim/invariant"
)

// Fact is something about a run that could have been otherwise.
type Fact struct {
	What    string
	Tried   int      // other values
	SavedBy []string // those under which the promise is kept; none: it may vary freely
}

// Free reports whether nothing that was tried in its place saves the run.
func (f Fact) Free() bool { return len(f.SavedBy) == 0 }

// Explanation says what a finding hangs on.
type Explanation struct {
	Story *Story
	Facts []Fact
	// Inevitable is the number of the line of Story from which on no other future was seen to
	// save the run, and the number of lines if even after the last one some future did; Futures
	// is how many were tried at each.
	Inevitable int
	Futures    int
}

// futures is how many other futures are tried at each line of the story.
const futures = 24

// Explain varies everything about the run that a scenario names, one thing at a time, and says
// what saves it. Then it lets the run go as it went up to each line of its story, and go on
// differently from there: by another chance, and without the faults that are still to come.
func Explain(sc *model.Scenario, id invariant.ID) (*Explanation, error) {
	story, err := Tell(sc, id)
	if err != nil {
		return nil, err
	}
	if story == nil {
		return nil, fmt.Errorf("hunt: %v is not broken in %s: nothing is to be explained", id, sc.Name)
	}
	e := &Explanation{Story: story, Inevitable: len(story.Lines), Futures: futures}
	breaks := func(c *model.Scenario) bool {
		o, err := Try(c)
		return err == nil && o.Broke(id) != nil
	}
	for _, v := range variations(sc) {
		fact := Fact{What: v.what}
		for _, x := range v.others {
			c := clone(sc)
			x.change(c)
			if !sound(c) {
				continue
			}
			fact.Tried++
			if !breaks(c) {
				fact.SavedBy = append(fact.SavedBy, x.to)
			}
		}
		if fact.Tried > 0 {
			e.Facts = append(e.Facts, fact)
		}
	}
	for i := len(story.Lines) - 1; i >= 0 && inevitable(sc, id, story.Lines[i].At); i-- {
		e.Inevitable = i
	}
	return e, nil
}

// inevitable reports whether every future from an instant on breaks the invariant.
func inevitable(sc *model.Scenario, id invariant.ID, at protocol.Instant) bool {
	for n := range uint64(futures) {
		c := clone(sc)
		if n%2 == 1 { // in every other future the faults that are to come do not
			c.Faults.At = slices.DeleteFunc(c.Faults.At, func(f model.NodeFault) bool { return f.At > at })
			c.Deploys.At = slices.DeleteFunc(c.Deploys.At, func(d protocol.Instant) bool { return d > at })
		}
		o, err := try(c, func(w *sim.World) { w.ForkAt(at+1, 1+n) })
		if err != nil || o.Broke(id) == nil {
			return false
		}
	}
	return true
}

// variation is one thing about a run, and what it could be instead.
type variation struct {
	what   string
	others []other
}

type other struct {
	to     string
	change func(*model.Scenario)
}

// variations lists what can be otherwise in a scenario.
func variations(sc *model.Scenario) []variation {
	var all []variation
	add := func(what string, others ...other) { all = append(all, variation{what, others}) }
	lengths := func(what string, get func(*model.Scenario) *protocol.Duration) {
		v := variation{what: fmt.Sprintf("%s, %v", what, *get(sc))}
		for _, share := range []struct{ num, den protocol.Duration }{{1, 4}, {1, 2}, {9, 10}, {11, 10}, {2, 1}, {4, 1}} {
			d := *get(sc) * share.num / share.den
			if d > 0 && d != *get(sc) {
				v.others = append(v.others, other{d.String(), func(c *model.Scenario) { *get(c) = d }})
			}
		}
		all = append(all, v)
	}
	var seeds []other
	for n := range uint64(12) {
		seeds = append(seeds, other{fmt.Sprintf("seed %d", sc.Finding.Seed+n+1), func(c *model.Scenario) { c.Finding.Seed += n + 1 }})
	}
	add("what is left to chance", seeds...)
	for i, f := range sc.Faults.At {
		name := fmt.Sprintf("the %v of worker %d at %v", f.Kind, f.Node, f.At)
		add(name, other{"none", func(c *model.Scenario) { c.Faults.At = slices.Delete(c.Faults.At, i, i+1) }})
		lengths("when it comes: "+name, func(c *model.Scenario) *protocol.Duration { return (*protocol.Duration)(&c.Faults.At[i].At) })
		if f.Length > 0 {
			lengths("how long it lasts: "+name, func(c *model.Scenario) *protocol.Duration { return &c.Faults.At[i].Length })
		}
	}
	for i, at := range sc.Deploys.At {
		name := fmt.Sprintf("the deploy at %v", at)
		add(name, other{"none", func(c *model.Scenario) { c.Deploys.At = slices.Delete(c.Deploys.At, i, i+1) }})
		lengths("when it comes: "+name, func(c *model.Scenario) *protocol.Duration { return (*protocol.Duration)(&c.Deploys.At[i]) })
	}
	for i := range sc.Finding.Overrides {
		o := sc.Finding.Overrides[i]
		add(fmt.Sprintf("that %s/%d/%d is %d", o.Stream, o.Entity, o.Index, o.Value),
			other{"drawn", func(c *model.Scenario) { c.Finding.Overrides = slices.Delete(c.Finding.Overrides, i, i+1) }})
	}
	count := func(what string, get func(*model.Scenario) *int) {
		n := *get(sc)
		add(fmt.Sprintf("%s, %d", what, n),
			other{fmt.Sprint(n + 1), func(c *model.Scenario) { *get(c) = n + 1 }}, other{fmt.Sprint(n + 3), func(c *model.Scenario) { *get(c) = n + 3 }})
	}
	count("workers", func(c *model.Scenario) *int { return &c.Fleet.Workers })
	count("slots of a worker", func(c *model.Scenario) *int { return &c.Fleet.Slots })
	lengths("lease", func(c *model.Scenario) *protocol.Duration { return &c.Queue.Lease })
	lengths("heartbeat", func(c *model.Scenario) *protocol.Duration { return &c.Queue.Heartbeat })
	lengths("margin", func(c *model.Scenario) *protocol.Duration { return &c.Queue.Margin })
	lengths("grace", func(c *model.Scenario) *protocol.Duration { return &c.Supervisor.Grace })
	for i := range sc.Jobs {
		name := sc.Jobs[i].Name
		count("jobs of kind "+name, func(c *model.Scenario) *int { return &c.Jobs[i].Count })
		table := func(what string, get func(*model.Scenario) **dist.Table) {
			t := *get(sc)
			v := variation{what: fmt.Sprintf("%s of kind %s, %v", what, name, t)}
			for _, share := range []struct{ num, den uint64 }{{1, 4}, {1, 2}, {2, 1}, {4, 1}} {
				if s, err := t.Stretched(share.num, share.den); err == nil {
					v.others = append(v.others, other{s.String(), func(c *model.Scenario) { *get(c) = s }})
				}
			}
			all = append(all, v)
		}
		table("work", func(c *model.Scenario) **dist.Table { return &c.Jobs[i].Work })
		table("gaps between jobs", func(c *model.Scenario) **dist.Table { return &c.Jobs[i].Arrivals })
		lengths("checkpoint of kind "+name, func(c *model.Scenario) *protocol.Duration { return &c.Jobs[i].Checkpoint })
	}
	if t := sc.Faults.Network.Latency; t != nil {
		v := variation{what: fmt.Sprintf("latency, %v", t)}
		for _, share := range []struct{ num, den uint64 }{{1, 10}, {2, 1}, {20, 1}} {
			if s, err := t.Stretched(share.num, share.den); err == nil {
				v.others = append(v.others, other{s.String(), func(c *model.Scenario) { c.Faults.Network.Latency = s }})
			}
		}
		all = append(all, v)
	}
	return all
}
