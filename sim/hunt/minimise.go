package hunt

import (
	"slices"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim/invariant"
)

// minimiser looks for the smallest scenario that shows the same.
type minimiser struct {
	best *model.Scenario
	same func(*model.Scenario, *Outcome, error) bool
	runs int
}

// mostRuns bounds the time that minimising takes to a few seconds.
const mostRuns = 3000

// Minimise returns a scenario that is no larger, in which the same invariant is broken, and how
// many runs it took to find. It leaves out faults, deploys, jobs and workers, turns off what can
// be turned off, keeps from happening what need not happen, and makes instants and lengths round;
// then it looks for the shortest story. A change is kept only if the same invariant is broken
// after it.
func Minimise(sc *model.Scenario, id invariant.ID) (*model.Scenario, int) {
	broke := func(c *model.Scenario, o *Outcome, err error) (broke, inTime bool) {
		if err != nil || o.Broke(id) == nil {
			return false, false
		}
		return true, o.Broke(id).At <= protocol.Instant(c.Duration)
	}
	// What is broken while the run lasts stays so: other commands show the run and no more.
	o, err := Try(sc)
	_, wasInTime := broke(sc, o, err)
	m := minimise(sc, func(c *model.Scenario, o *Outcome, err error) bool {
		is, inTime := broke(c, o, err)
		return is && (inTime || !wasInTime)
	})
	m.shorten(id)
	return m.best, m.runs
}

func minimise(sc *model.Scenario, same func(*model.Scenario, *Outcome, error) bool) *minimiser {
	m := &minimiser{best: clone(sc), same: same}
	for {
		before := m.runs
		changed := m.cutEnd()
		changed = m.dropAll() || changed
		changed = m.simplify() || changed
		changed = m.keepFromHappening() || changed
		changed = m.shrinkNumbers() || changed
		if !changed || m.runs == before || m.runs >= mostRuns {
			break
		}
	}
	m.firstSeed()
	return m
}

// clone copies what the minimiser changes.
func clone(sc *model.Scenario) *model.Scenario {
	c := *sc
	c.Jobs = slices.Clone(sc.Jobs)
	c.Deploys.At = slices.Clone(sc.Deploys.At)
	c.Faults.At = slices.Clone(sc.Faults.At)
	f := *sc.Finding
	f.Overrides = slices.Clone(sc.Finding.Overrides)
	f.Invariant = sc.Finding.Invariant
	c.Finding = &f
	return &c
}

// try keeps a change if the invariant is still broken.
func (m *minimiser) try(change func(*model.Scenario) bool) bool {
	if m.runs >= mostRuns {
		return false
	}
	c := clone(m.best)
	if !change(c) {
		return false
	}
	if !sound(c) {
		return false
	}
	m.runs++
	if o, err := Try(c); !m.same(c, o, err) {
		return false
	}
	m.best = c
	return true
}

// sound reports whether a scenario could stand in a file: a loader would not refuse it.
func sound(sc *model.Scenario) bool {
	q, grace := &sc.Queue, sc.Supervisor.WorkerGrace()
	reserve := protocol.Config{Grace: grace}.WithDefaults().Reserve
	lease := q.Timing()
	if q.Heartbeat < protocol.Millisecond || q.Margin <= 0 || q.Heartbeat >= lease.Trusted() || grace <= reserve || len(sc.Jobs) == 0 {
		return false
	}
	for i := range sc.Jobs {
		j := &sc.Jobs[i]
		namesake := func(o model.Job) bool { return o.Name == j.Name }
		if j.Declared+j.Undo+reserve > grace || slices.ContainsFunc(sc.Jobs[:i], namesake) {
			return false
		}
	}
	return sc.Duration > 0
}

// cutEnd ends the run right after the first promise is broken, or as early as can be.
func (m *minimiser) cutEnd() bool {
	ends := []protocol.Duration{m.best.Duration / 2, m.best.Duration * 3 / 4}
	if o, err := Try(m.best); err == nil && len(o.Findings) > 0 {
		ends = append([]protocol.Duration{protocol.Duration(o.Findings[0].At) + sec}, ends...)
	}
	for _, end := range ends {
		end = (end/sec + 1) * sec
		if m.try(func(sc *model.Scenario) bool {
			if end >= sc.Duration {
				return false
			}
			sc.Duration = end
			sc.Deploys.At = slices.DeleteFunc(sc.Deploys.At, func(at protocol.Instant) bool { return at >= protocol.Instant(end) })
			sc.Faults.At = slices.DeleteFunc(sc.Faults.At, func(f model.NodeFault) bool { return f.At >= protocol.Instant(end) })
			return true
		}) {
			return true
		}
	}
	return false
}

// dropAll leaves out one thing after the other.
func (m *minimiser) dropAll() bool {
	changed := false
	drop := func(n func(*model.Scenario) int, one func(*model.Scenario, int)) {
		for i := n(m.best) - 1; i >= 0; i-- {
			changed = m.try(func(sc *model.Scenario) bool { one(sc, i); return true }) || changed
		}
	}
	drop(func(sc *model.Scenario) int { return len(sc.Faults.At) },
		func(sc *model.Scenario, i int) { sc.Faults.At = slices.Delete(sc.Faults.At, i, i+1) })
	drop(func(sc *model.Scenario) int { return len(sc.Deploys.At) },
		func(sc *model.Scenario, i int) { sc.Deploys.At = slices.Delete(sc.Deploys.At, i, i+1) })
	drop(func(sc *model.Scenario) int { return len(sc.Jobs) },
		func(sc *model.Scenario, i int) { sc.Jobs = slices.Delete(sc.Jobs, i, i+1) })
	for _, less := range []func(*model.Scenario) bool{
		func(sc *model.Scenario) bool { sc.Fleet.Workers = 1; return m.best.Fleet.Workers > 1 },
		func(sc *model.Scenario) bool { sc.Fleet.Workers--; return sc.Fleet.Workers > 0 },
		func(sc *model.Scenario) bool { sc.Queue.MaxClaims = 0; return m.best.Queue.MaxClaims > 0 },
		func(sc *model.Scenario) bool { sc.Fleet.Slots = 1; return m.best.Fleet.Slots > 1 },
		func(sc *model.Scenario) bool { sc.Fleet.Slots--; return sc.Fleet.Slots > 0 },
	} {
		changed = m.repeat(less) || changed
	}
	for i := range m.best.Jobs {
		for _, count := range []int{1, 2, 3} {
			changed = m.try(func(sc *model.Scenario) bool {
				if sc.Jobs[i].Count > 0 && sc.Jobs[i].Count <= count {
					return false
				}
				sc.Jobs[i].Count = count
				return true
			}) || changed
		}
		changed = m.repeat(func(sc *model.Scenario) bool { sc.Jobs[i].Count--; return sc.Jobs[i].Count > 0 }) || changed
	}
	return changed
}

// repeat makes a change as often as it can be kept.
func (m *minimiser) repeat(change func(*model.Scenario) bool) bool {
	changed := false
	for m.try(func(sc *model.Scenario) bool { return sc.Fleet.Workers <= m.best.Fleet.Workers && change(sc) }) {
		changed = true
	}
	return changed
}

// to sets a value unless it is that already, and says whether it was not.
func to[T comparable](p *T, v T) bool {
	if *p == v {
		return false
	}
	*p = v
	return true
}

// law sets a distribution to a constant.
func law(p **dist.Table, d protocol.Duration) bool {
	if *p != nil && (*p).Min() == int64(d) && (*p).Max() == int64(d) {
		return false
	}
	*p = constant(d)
	return true
}

// simplify turns off what can be, and makes what is drawn the same for all.
func (m *minimiser) simplify() bool {
	changed := false
	try := func(change func(*model.Scenario) bool) { changed = m.try(change) || changed }
	try(plainPolicy)
	f := func(sc *model.Scenario) *model.Faults { return &sc.Faults }
	try(func(sc *model.Scenario) bool { return law(&f(sc).Network.Latency, ms) })
	try(func(sc *model.Scenario) bool { return to(&f(sc).Network.Loss, 0) })
	try(func(sc *model.Scenario) bool { return to(&f(sc).Network.Duplicate, 0) })
	try(func(sc *model.Scenario) bool { return to(&f(sc).DriftPPM, 0) })
	try(func(sc *model.Scenario) bool { return to(&sc.Queue.DriftPPM, f(sc).DriftPPM) })
	try(func(sc *model.Scenario) bool { return to(&f(sc).Slow, model.Spell{}) })
	try(func(sc *model.Scenario) bool { return to(&f(sc).Forget, 0) })
	try(func(sc *model.Scenario) bool { return to(&f(sc).Drill, 0) })
	s := func(sc *model.Scenario) *model.Supervisor { return &sc.Supervisor }
	try(func(sc *model.Scenario) bool {
		tells := to(&s(sc).Tells, false)
		return to(&s(sc).PreStop, 0) || tells
	})
	try(func(sc *model.Scenario) bool { return to(&s(sc).Tells, false) })
	try(func(sc *model.Scenario) bool { return to(&s(sc).Repeat, 0) })
	try(func(sc *model.Scenario) bool { return to(&s(sc).Signal, 0) })
	try(func(sc *model.Scenario) bool { return to(&s(sc).Kind, model.Kubernetes) && s(sc).PreStop == 0 })
	try(func(sc *model.Scenario) bool {
		return to(&s(sc).Rollout, model.Rollout{MaxUnavailable: model.IntOrPercent{Value: 1}})
	})
	try(func(sc *model.Scenario) bool { return law(&sc.Fleet.Start, 0) })
	q := func(sc *model.Scenario) *model.Queue { return &sc.Queue }
	try(func(sc *model.Scenario) bool { return to(&q(sc).Heartbeat, q(sc).Lease/3) })
	try(func(sc *model.Scenario) bool { return to(&q(sc).Margin, min(q(sc).Lease/50, sec)) })
	try(func(sc *model.Scenario) bool { return to(&q(sc).Park, 20*sec) })
	try(func(sc *model.Scenario) bool { return to(&q(sc).MaxFailures, 5) })
	try(func(sc *model.Scenario) bool { return to(&q(sc).Poison, 3) })
	try(func(sc *model.Scenario) bool { return to(&q(sc).Backoff, protocol.Backoff{Min: sec, Max: 60 * sec}) })
	try(func(sc *model.Scenario) bool { return to(&q(sc).SweepPeriod, 3600*sec) })
	try(func(sc *model.Scenario) bool { return to(&q(sc).MaxMessageAge, 10*sec) })
	for i := range m.best.Jobs {
		j := func(sc *model.Scenario) *model.Job { return &sc.Jobs[i] }
		try(func(sc *model.Scenario) bool { return to(&j(sc).Deaf, 0) })
		try(func(sc *model.Scenario) bool { return to(&j(sc).CPUBound, 0) })
		try(func(sc *model.Scenario) bool { return to(&j(sc).Fails, 0) })
		try(func(sc *model.Scenario) bool { return to(&j(sc).OOM, 0) })
		try(func(sc *model.Scenario) bool { return to(&j(sc).UndoFails, 0) })
		try(func(sc *model.Scenario) bool { return to(&j(sc).Undo, 0) })
		try(func(sc *model.Scenario) bool { j(sc).Flush = false; return to(&j(sc).Save, 0) })
		try(func(sc *model.Scenario) bool { return to(&j(sc).Flush, false) })
		try(func(sc *model.Scenario) bool { return to(&j(sc).Timeout, 0) })
		try(func(sc *model.Scenario) bool { return to(&j(sc).NewVersion, 1) })
		try(func(sc *model.Scenario) bool { return to(&j(sc).Name, "job") })
		for _, d := range []protocol.Duration{sec, 5 * sec, 10 * sec, 30 * sec, 60 * sec} {
			try(func(sc *model.Scenario) bool {
				return j(sc).Work.Min() != j(sc).Work.Max() && law(&j(sc).Work, d)
			})
		}
		try(func(sc *model.Scenario) bool { return law(&j(sc).Arrivals, sec) })
		try(func(sc *model.Scenario) bool { return to(&j(sc).Checkpoint, 500*ms) })
		try(func(sc *model.Scenario) bool {
			return j(sc).Declared != j(sc).Checkpoint && to(&j(sc).Declared, j(sc).Checkpoint)
		})
	}
	return changed
}

// keepFromHappening overrides what happened by chance, one after the other.
func (m *minimiser) keepFromHappening() bool {
	o, err := Try(m.best)
	if err != nil || len(o.Chances) > 200 {
		return false
	}
	before := slices.Clone(m.best.Finding.Overrides)
	for _, a := range slices.Backward(o.Chances) {
		m.try(func(sc *model.Scenario) bool {
			over := a.Override(0)
			if slices.Contains(sc.Finding.Overrides, over) {
				return false
			}
			sc.Finding.Overrides = append(sc.Finding.Overrides, over)
			return true
		})
	}
	// What was overridden and would not happen any more need not be said.
	for i := len(m.best.Finding.Overrides) - 1; i >= 0; i-- {
		m.try(func(sc *model.Scenario) bool {
			sc.Finding.Overrides = slices.Delete(sc.Finding.Overrides, i, i+1)
			return true
		})
	}
	return !slices.Equal(before, m.best.Finding.Overrides)
}

// rounder are values near one that are nicer to read, the nicest first.
func rounder(d protocol.Duration) []protocol.Duration {
	var list []protocol.Duration
	for _, unit := range []protocol.Duration{10 * sec, 5 * sec, sec, 500 * ms, 100 * ms, 10 * ms} {
		if d%unit == 0 {
			break
		}
		if down := d / unit * unit; down > 0 {
			list = append(list, down)
		}
		list = append(list, (d/unit+1)*unit)
	}
	return list
}

// shrinkNumbers makes instants and lengths rounder.
func (m *minimiser) shrinkNumbers() bool {
	changed := false
	nicer := func(value func(*model.Scenario) *protocol.Duration) {
		for _, d := range rounder(*value(m.best)) {
			if m.try(func(sc *model.Scenario) bool { return to(value(sc), d) }) {
				changed = true
				return
			}
		}
	}
	for i := range m.best.Faults.At {
		nicer(func(sc *model.Scenario) *protocol.Duration { return (*protocol.Duration)(&sc.Faults.At[i].At) })
		if m.best.Faults.At[i].Length > 0 {
			nicer(func(sc *model.Scenario) *protocol.Duration { return &sc.Faults.At[i].Length })
		}
		changed = m.try(func(sc *model.Scenario) bool { return to(&sc.Faults.At[i].Node, 0) }) || changed
	}
	for i := range m.best.Deploys.At {
		nicer(func(sc *model.Scenario) *protocol.Duration { return (*protocol.Duration)(&sc.Deploys.At[i]) })
	}
	if m.best.Queue.Heartbeat != m.best.Queue.Lease/3 {
		nicer(func(sc *model.Scenario) *protocol.Duration { return &sc.Queue.Heartbeat })
	}
	if m.best.Queue.Margin != min(m.best.Queue.Lease/50, sec) {
		nicer(func(sc *model.Scenario) *protocol.Duration { return &sc.Queue.Margin })
	}
	for i := range m.best.Jobs {
		nicer(func(sc *model.Scenario) *protocol.Duration { return &sc.Jobs[i].Undo })
		nicer(func(sc *model.Scenario) *protocol.Duration { return &sc.Jobs[i].Save })
		nicer(func(sc *model.Scenario) *protocol.Duration { return &sc.Jobs[i].Timeout })
		if t := m.best.Jobs[i].Work; t.Min() == t.Max() {
			for _, d := range rounder(protocol.Duration(t.Min())) {
				changed = m.try(func(sc *model.Scenario) bool { return law(&sc.Jobs[i].Work, d) }) || changed
			}
		}
	}
	return changed
}

// firstSeed looks for a smaller seed: where little is left to chance, any will do.
func (m *minimiser) firstSeed() {
	if len(m.best.Finding.Overrides) > 0 {
		return // they name numbers of this seed
	}
	for seed := range uint64(4) {
		if m.try(func(sc *model.Scenario) bool { return to(&sc.Finding.Seed, seed) }) {
			return
		}
	}
}

// plainPolicy replaces the policy by hybrid, with the same faults built in.
func plainPolicy(sc *model.Scenario) bool {
	hybrid, err := model.PresetNamed("hybrid")
	if err != nil || sc.Finding.Policy == hybrid.Name {
		return false
	}
	if len(sc.Variants) == 0 {
		sc.Finding.Policy, sc.Policies = hybrid.Name, []string{hybrid.Name}
		return true
	}
	was := sc.Variants[0].Preset
	if was.Policy == hybrid.Policy && was.Rescue == hybrid.Rescue {
		return false
	}
	hybrid.Name, hybrid.Deviations = was.Name, was.Deviations
	sc.Variants = []model.Variant{{Preset: hybrid}}
	return true
}
