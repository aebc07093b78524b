package hunt

import (
	"fmt"
	"slices"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

const (
	ms  = protocol.Millisecond
	sec = protocol.Second
)

// Draw returns the small scenario of a seed. It names the run of the same seed under a policy
// that is drawn as well. fault is built into that policy if it is not empty; it is one of
// model.UnsafeNames.
func Draw(seed uint64, fault string) (*model.Scenario, error) {
	c := newChance(seed)
	sc := &model.Scenario{
		Name: fmt.Sprintf("hunt-%d", seed), About: "a small world drawn by chance",
		Fleet: model.Fleet{Workers: c.between(1, 4), Slots: one(c, 1, 1, 2, 3), Start: constant(one(c, 0, 500*ms, 2*sec))},
	}
	sc.Duration = one[protocol.Duration](c, 30, 60, 120) * sec
	c.queue(&sc.Queue)
	c.supervisor(&sc.Supervisor)
	for range c.between(1, 2) {
		sc.Jobs = append(sc.Jobs, c.job(sc, len(sc.Jobs)))
	}
	for range c.upTo(4) {
		sc.Deploys.At = append(sc.Deploys.At, protocol.Instant(c.length(sec, sc.Duration-sec)))
	}
	slices.Sort(sc.Deploys.At)
	sc.Deploys.At = slices.Compact(sc.Deploys.At)
	c.faults(sc)
	policy := c.policy()
	if c.in(8) {
		sc.Queue.MaxClaims = c.between(1, 3)
	}
	for i := range sc.Jobs {
		sc.Jobs[i].Flush = sc.Jobs[i].Save > 0 && c.in(2)
	}
	sc.Policies = []string{policy}
	sc.Finding = &model.Finding{Policy: policy, Seed: seed}
	if fault == "" {
		return sc, nil
	}
	preset, err := model.PresetNamed(policy)
	if err != nil {
		return nil, err
	}
	if preset, err = preset.Unsafe(fault); err != nil {
		return nil, err
	}
	preset.Name = fault
	sc.Variants = []model.Variant{{Preset: preset}}
	sc.Policies, sc.Finding.Policy = []string{fault}, fault
	return sc, nil
}

// policy draws a way of stopping; most often the one that promises most.
func (c *chance) policy() string {
	return one(c, "hybrid", "hybrid", "hybrid", "hybrid", "hybrid", "hybrid", "release-now", "release-now",
		"adaptive", "finish-only", "drain", "drain+sweep", "crash-only", "deaf", "none")
}

func (c *chance) queue(q *model.Queue) {
	q.Lease = one[protocol.Duration](c, 2, 4, 6, 10, 20, 40) * sec
	q.Heartbeat = one(c, q.Lease/3, q.Lease/3, q.Lease/2, q.Lease/5, q.Lease*3/4)
	q.Margin = one(c, q.Lease/50, q.Lease/50, 10*ms, q.Lease/5)
	q.DriftPPM = one[int64](c, 0, 200, 200, 20_000)
	q.Park = one(c, 100*ms, sec, 5*sec, 20*sec)
	q.MaxFailures, q.Poison, q.Starving = one(c, 1, 3, 5, 0), one(c, 1, 3, 3, 0), 10
	q.Backoff.Min = one(c, 100*ms, sec)
	q.Backoff.Max = q.Backoff.Min * one[protocol.Duration](c, 1, 8)
	q.SweepPeriod = one(c, 15*sec, protocol.Minute)
	q.MaxMessageAge = one(c, 10*sec, 60*sec)
}

func (c *chance) supervisor(s *model.Supervisor) {
	s.Kind = one(c, model.Kubernetes, model.Kubernetes, model.Plain, model.Systemd)
	s.Grace = one[protocol.Duration](c, 2, 4, 8, 15, 30) * sec
	if s.Kind == model.Kubernetes && c.in(3) {
		s.PreStop = min(one(c, sec, 5*sec), s.Grace/2)
		s.Tells = !c.in(3)
	}
	if c.in(3) {
		s.Repeat = one(c, 300*ms, 1500*ms)
	}
	if c.in(4) {
		s.Signal = protocol.SIGINT
	}
	switch c.upTo(4) {
	case 0:
		s.Rollout.Strategy = model.Recreate
	case 1:
		s.Rollout.Strategy = model.OneByOne
	case 2:
		s.Rollout.MaxUnavailable = model.IntOrPercent{Value: 1}
	default:
		s.Rollout.MaxSurge = model.IntOrPercent{Value: c.between(1, 2)}
	}
}

// job draws a kind. What its handler declares fits into the grace, as a loader sees to.
func (c *chance) job(sc *model.Scenario, n int) model.Job {
	j := model.Job{
		Name: one(c, "render", "mail", "report"), Count: c.between(1, 12), Effects: 1, Version: 1, NewVersion: 1,
		Checkpoint: one(c, 50*ms, 500*ms, 3*sec),
	}
	j.Name += fmt.Sprint(n + 1)
	gap := one(c, 100*ms, sec, 4*sec)
	j.Arrivals = one(c, constant(gap), uniform(ms, 2*gap))
	work := one(c, 200*ms, 2*sec, 10*sec, 40*sec)
	j.Work = one(c, constant(work), uniform(work/10, 2*work))
	chanceOf := func(n int) model.PPB {
		if c.in(n) {
			return one(c, model.Certain/20, model.Certain/4, model.Certain)
		}
		return 0
	}
	j.Fails, j.Deaf, j.CPUBound, j.OOM = chanceOf(4), chanceOf(5), chanceOf(10), chanceOf(12)
	if j.OOM == model.Certain {
		j.OOM = model.Certain / 4 // such a job never ends, and nobody promised it would
	}
	if c.in(3) {
		j.Save = one(c, 500*ms, 2*sec)
	}
	if c.in(4) {
		j.NewVersion = 2
	}
	grace := sc.Supervisor.WorkerGrace()
	room := grace - protocol.Config{Grace: grace}.WithDefaults().Reserve
	if c.in(2) {
		j.Undo = min(one(c, 100*ms, sec, 3*sec), room*3/5)
		j.UndoFails = chanceOf(4)
	}
	if j.Checkpoint+j.Undo+j.Undo/4 <= room {
		j.Declared = j.Checkpoint
	}
	// A job that is always too long ends only by failing too often, and only if its handler
	// notices before its worker takes every slot for wedged.
	if c.in(4) && sc.Queue.MaxFailures > 0 && j.Declared > 0 && j.Checkpoint < sc.Queue.Lease {
		j.Timeout = work * 3 / 2
	}
	return j
}

func (c *chance) faults(sc *model.Scenario) {
	f := &sc.Faults
	f.Network.Latency = one(c, constant(ms), constant(ms), uniform(0, 100*ms), uniform(0, 800*ms))
	if c.in(3) {
		f.Network.Loss = one(c, model.Certain/100, model.Certain/10, model.Certain/4)
	}
	if c.in(3) {
		f.Network.Duplicate = one(c, model.Certain/100, model.Certain/10, model.Certain/2)
	}
	if c.in(2) {
		f.DriftPPM = sc.Queue.DriftPPM * 9 / 10
	}
	for n := one(c, 0, 0, 1, 2, 4, 6); n > 0; n-- {
		f.At = append(f.At, model.NodeFault{
			At: protocol.Instant(c.length(sec, sc.Duration)), Node: int32(c.upTo(sc.Fleet.Workers)),
			Kind:   one(c, model.NodeCrash, model.NodePause, model.NodePause, model.NodePartition, model.NodePartition, model.NodePreempt),
			Length: one(c, c.length(100*ms, 2*sec), c.length(sc.Queue.Lease/2, 2*sc.Queue.Lease)),
		})
	}
	for i := range f.At {
		if f.At[i].Kind == model.NodeCrash {
			f.At[i].Length = 0
		}
	}
	slices.SortStableFunc(f.At, func(a, b model.NodeFault) int { return int(a.At - b.At) })
	if c.in(8) {
		f.Drill = one(c, model.Certain/4, model.Certain)
	}
	if c.in(10) {
		f.Slow = model.Spell{Every: 20 * sec, Length: constant(one(c, sec, 5*sec))}
		f.SlowBy = one(c, 300*ms, 3*sec)
	}
	if c.in(12) {
		f.Forget, f.ForgetFor = 20*sec, one(c, 100*ms, sec, 5*sec)
	}
}
