package sim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
)

// calm is a fleet of long jobs to which nothing happens but what a test adds.
func calm(change func(*model.Scenario)) *model.Scenario {
	sc := smallFleet()
	sc.Faults = model.Faults{Network: model.Network{Latency: table(dist.Constant(second / 1000))}}
	sc.Deploys = model.Deploys{}
	sc.Supervisor = model.Supervisor{Kind: model.Plain, Grace: 30 * protocol.Second, Rollout: sc.Supervisor.Rollout}
	for i := range sc.Jobs {
		sc.Jobs[i].Deaf, sc.Jobs[i].Fails, sc.Jobs[i].UndoFails = 0, 0, 0
	}
	change(sc)
	return sc
}

// told is what the workers of a run were told about stopping, and how they ended.
type told struct {
	terms, ints, notices, resumes int
	killed, exited                []protocol.Duration // after what they were told first
	leastUp                       int                 // processes at a time
	missing                       int                 // observations of a fleet that is incomplete although nobody is stopping
	causes                        map[meter.Cause]int // of releases and expiries
}

func watchStops(t *testing.T, sc *model.Scenario, policy string) (told, *meter.Row) {
	w := newWorld(t, sc, policy, 5)
	var s told
	s.leastUp, s.causes = sc.Fleet.Workers, map[meter.Cause]int{}
	w.Observe(func(o Observation) {
		switch {
		case o.Kind == SawEvent && o.Event.Kind == protocol.ResumeAsked:
			s.resumes++
		case o.Kind == SawEvent && o.Event.Kind == protocol.StopAsked && o.Event.Source == protocol.FromNotice:
			s.notices++
		case o.Kind == SawEvent && o.Event.Kind == protocol.StopAsked && o.Event.Signal == protocol.SIGINT:
			s.ints++
		case o.Kind == SawEvent && o.Event.Kind == protocol.StopAsked:
			s.terms++
		case o.Kind == SawRecord && o.Record.Kind == meter.ProcessKilled:
			s.killed = append(s.killed, o.Record.Span)
		case o.Kind == SawRecord && o.Record.Kind == meter.ProcessExited:
			s.exited = append(s.exited, o.Record.Span)
		}
		if o.Kind == SawRecord && (o.Record.Kind == meter.LeaseExpired || o.Record.Kind == meter.ClaimEnded && o.Record.Verb == protocol.Release) {
			s.causes[o.Record.Cause]++
		}
		if o.Kind == SawFault && (o.Text == "eviction" || o.Text == "preemption") {
			assert.NotEqual(t, seatEmpty, w.fleet.at(o.Seat).state, "%s of nobody", o.Text)
		}
		if pods := &w.fleet.pods; o.At > protocol.Instant(protocol.Minute) {
			up := pods.NewReady + pods.NewStarting + pods.OldReady + pods.OldStarting
			s.leastUp = min(s.leastUp, up)
			if pods.Stopping == 0 && up < w.fleet.wanted {
				s.missing++
			}
		}
	})
	return s, run(t, w)
}

func everyTenMinutes(sc *model.Scenario) { sc.Deploys.Every = 10 * protocol.Minute }

func TestSystemdSendsSIGCONTAfterEverySIGTERM(t *testing.T) {
	s, _ := watchStops(t, calm(func(sc *model.Scenario) { everyTenMinutes(sc); sc.Supervisor.Kind = model.Systemd }), "hybrid")
	assert.Equal(t, 36, s.terms, "three deploys of twelve workers; the fourth is at the end")
	assert.Equal(t, s.terms, s.resumes)
	assert.Empty(t, s.killed)
}

func TestNomadSendsSIGINT(t *testing.T) {
	s, _ := watchStops(t, calm(func(sc *model.Scenario) {
		everyTenMinutes(sc)
		sc.Supervisor.Kind, sc.Supervisor.PreStop = model.Nomad, 2*protocol.Second
	}), "hybrid")
	assert.Equal(t, 36, s.ints)
	assert.Zero(t, s.terms)
}

func TestARepeatAfterMoreThanASecondHurriesTheDrain(t *testing.T) {
	slowest := func(repeat protocol.Duration) protocol.Duration {
		s, _ := watchStops(t, calm(func(sc *model.Scenario) {
			everyTenMinutes(sc)
			sc.Supervisor.Kind, sc.Supervisor.Repeat = model.Heroku, repeat
			sc.Jobs[0].Work = table(dist.Constant(60 * second))
		}), "hybrid")
		assert.Greater(t, s.terms, 40, "most workers hear it twice")
		longest := protocol.Duration(0)
		for _, d := range s.exited {
			longest = max(longest, d)
		}
		return longest
	}
	assert.Greater(t, slowest(0), 20*protocol.Second, "Heroku's own repeat counts with the first")
	assert.Less(t, slowest(3*protocol.Second), 6*protocol.Second)
}

func TestADrillKillsAsManyDrainsAsItSays(t *testing.T) {
	s, _ := watchStops(t, calm(func(sc *model.Scenario) {
		everyTenMinutes(sc)
		sc.Faults.Drill = model.Certain
		sc.Jobs[0].Work = table(dist.Constant(60 * second))
	}), "finish-only")
	require.NotEmpty(t, s.killed)
	thirds := [3]int{}
	for _, d := range s.killed {
		thirds[min(int(d/(10*protocol.Second)), 2)]++
	}
	for _, n := range thirds {
		assert.Greater(t, n, len(s.killed)/6, "killed at any instant of the grace: %v", thirds)
	}
}

func TestALivenessProbeKillsWhatDrainsTooLong(t *testing.T) {
	s, _ := watchStops(t, calm(func(sc *model.Scenario) {
		everyTenMinutes(sc)
		sc.Faults.Liveness = 7 * protocol.Second
		sc.Jobs[0].Work = table(dist.Constant(60 * second))
	}), "finish-only")
	require.NotEmpty(t, s.killed)
	for _, d := range s.killed {
		assert.Equal(t, 7*protocol.Second, d)
	}
}

func TestAnEvictionLeavesLessGraceThanTheWorkerWasTold(t *testing.T) {
	s, _ := watchStops(t, calm(func(sc *model.Scenario) {
		sc.Faults.Evict = model.Eviction{Every: 30 * protocol.Minute, Grace: 3 * protocol.Second}
		sc.Jobs[0].Work = table(dist.Constant(60 * second))
	}), "hybrid")
	require.NotEmpty(t, s.killed)
	for _, d := range s.killed {
		assert.Equal(t, 3*protocol.Second, d)
	}
	assert.GreaterOrEqual(t, s.leastUp, 12, "whoever is evicted is replaced at once")
	assert.Greater(t, s.causes[meter.ByOther], 5)
	assert.Zero(t, s.causes[meter.ByDeploy], "no deploy is blamed")
}

func TestAStatefulSetReplacesAnEvictedWorkerWhenItsSeatIsFree(t *testing.T) {
	s, _ := watchStops(t, calm(func(sc *model.Scenario) {
		sc.Supervisor.Rollout = model.Rollout{Strategy: model.OneByOne}
		sc.Faults.Evict = model.Eviction{Every: 30 * protocol.Minute, Grace: 3 * protocol.Second}
		sc.Jobs[0].Work = table(dist.Constant(60 * second))
	}), "hybrid")
	assert.NotEmpty(t, s.killed)
	assert.Less(t, s.leastUp, 12)
	assert.Zero(t, s.missing, "nobody stays away")
}

func TestAPreemptionCutsADrainShortThatRunsAlready(t *testing.T) {
	s, _ := watchStops(t, calm(func(sc *model.Scenario) {
		everyTenMinutes(sc)
		sc.Supervisor.Grace = 8 * protocol.Minute
		sc.Faults.Preempt = model.Preemption{Every: 10 * protocol.Minute, Notice: 5 * protocol.Second}
	}), "deaf")
	early := 0
	for _, d := range s.killed {
		if d > 5*protocol.Second && d < 8*protocol.Minute {
			early++
		}
	}
	assert.Greater(t, early, 5, "killed after more than the notice and less than the grace")
}

func TestAPreemptionTellsTheWorkerWhenItEnds(t *testing.T) {
	s, _ := watchStops(t, calm(func(sc *model.Scenario) {
		sc.Faults.Preempt = model.Preemption{Every: 30 * protocol.Minute, Notice: 12 * protocol.Second}
		sc.Jobs[0].Work = table(dist.Constant(60 * second))
	}), "hybrid")
	assert.Greater(t, s.notices, 5)
	assert.Zero(t, s.terms)
	assert.Empty(t, s.killed, "who knows the instant is gone before it")
	for _, d := range s.exited {
		assert.Less(t, d, 12*protocol.Second)
	}
	deaf, _ := watchStops(t, calm(func(sc *model.Scenario) {
		sc.Faults.Preempt = model.Preemption{Every: 30 * protocol.Minute, Notice: 12 * protocol.Second}
	}), "deaf")
	require.NotEmpty(t, deaf.killed)
	for _, d := range deaf.killed {
		assert.Equal(t, 12*protocol.Second, d)
	}
}

func TestAScaleInTakesIdleWorkersFirstIfItCan(t *testing.T) {
	interrupted := func(idle bool) int64 {
		s, row := watchStops(t, calm(func(sc *model.Scenario) {
			sc.Faults.ScaleIn = model.ScaleIn{Every: 5 * protocol.Minute, Workers: 3, Back: 2 * protocol.Minute, IdleFirst: idle}
			sc.Jobs = sc.Jobs[:1]
			sc.Jobs[0].Arrivals, sc.Jobs[0].Work = table(dist.Constant(10*second)), table(dist.Constant(60*second))
		}), "hybrid")
		assert.Equal(t, 21, s.terms, "seven scale-ins of three; the eighth is at the end")
		assert.Equal(t, 9, s.leastUp)
		return row.ByReason[protocol.BecauseDrain]
	}
	assert.Zero(t, interrupted(true), "six jobs at a time leave six of twelve workers idle")
	assert.Greater(t, interrupted(false), int64(5))
}

func TestScaleInsLeaveOneWorkerAndStopNobodyTwice(t *testing.T) {
	s, _ := watchStops(t, calm(func(sc *model.Scenario) {
		sc.Faults.ScaleIn = model.ScaleIn{Every: 5 * protocol.Minute, Workers: 3, Back: protocol.Hour}
		sc.Jobs[0].Work = table(dist.Constant(60 * second))
	}), "hybrid")
	assert.Equal(t, 11, s.terms, "three, three, three and two")
	assert.Equal(t, 1, s.leastUp)
	assert.Greater(t, s.causes[meter.ByOther], 5)
	assert.Zero(t, s.causes[meter.ByDeploy], "no deploy is blamed")
}

func TestAnEvictionLeavesAloneWhoIsBeingStopped(t *testing.T) {
	grace, less := 4*protocol.Minute, 30*protocol.Second
	s, _ := watchStops(t, calm(func(sc *model.Scenario) {
		everyTenMinutes(sc)
		sc.Supervisor.Grace = grace
		sc.Faults.Evict = model.Eviction{Every: 5 * protocol.Minute, Grace: less}
	}), "deaf")
	stopped := map[protocol.Duration]int{}
	for _, d := range s.killed {
		stopped[d]++
	}
	assert.Len(t, stopped, 2, "by a deploy or by an eviction, not by one after the other: %v", stopped)
	assert.Greater(t, stopped[grace], 5)
	assert.Greater(t, stopped[less], 5)
}

func TestAHookTellsTheWorkerAtOnceAndOfTheWholeGrace(t *testing.T) {
	slowest := func(prestop protocol.Duration) (s told, longest protocol.Duration) {
		s, _ = watchStops(t, calm(func(sc *model.Scenario) {
			everyTenMinutes(sc)
			sc.Supervisor.Kind, sc.Supervisor.PreStop, sc.Supervisor.Tells = model.Kubernetes, prestop, true
			sc.Jobs[0].Work = table(dist.Constant(60 * second))
		}), "hybrid")
		for _, d := range s.exited {
			longest = max(longest, d)
		}
		return s, longest
	}
	s, longest := slowest(10 * protocol.Second)
	assert.Equal(t, 36, s.notices)
	assert.Empty(t, s.killed)
	assert.Greater(t, longest, 20*protocol.Second, "jobs go on while they fit")
	assert.Less(t, longest, 30*protocol.Second)
	s, _ = slowest(0)
	assert.Zero(t, s.notices, "there is no hook")
	assert.Equal(t, 36, s.terms)
}

func TestWhoCrashesWhileItIsStoppedIsGone(t *testing.T) {
	sc := calm(func(sc *model.Scenario) {
		everyTenMinutes(sc)
		sc.Supervisor.Grace = 8 * protocol.Minute
		sc.Faults.Crash = 10 * protocol.Minute
	})
	w := newWorld(t, sc, "deaf", 1)
	crashed := 0
	ends := map[whom]int{}
	w.Observe(func(o Observation) {
		if o.Kind != SawRecord {
			return
		}
		switch p := w.fleet.at(max(o.Seat, 0)); o.Record.Kind {
		case meter.ProcessCrashed, meter.ProcessKilled, meter.ProcessExited:
			ends[p.whom()]++
			if p.stopping && o.Record.Kind == meter.ProcessCrashed {
				crashed++
			}
		}
	})
	run(t, w)
	assert.Greater(t, crashed, 5)
	for life, n := range ends {
		assert.Equal(t, 1, n, "seat %d, life %d", life.seat, life.life)
	}
}

func TestADeployAtTheEndOfTheRunIsNone(t *testing.T) {
	deploys := func(at protocol.Duration) int32 {
		w := newWorld(t, calm(func(sc *model.Scenario) { sc.Deploys.At = []protocol.Instant{protocol.Instant(sc.Duration + at)} }), "hybrid", 1)
		run(t, w)
		return w.fleet.deploys
	}
	assert.EqualValues(t, 1, deploys(-1))
	assert.Zero(t, deploys(0))
}

// The processes that the first deploy started are not ready when the second comes.
func TestARolloutThatOvertakesAnotherKeepsItsSurge(t *testing.T) {
	sc := calm(func(sc *model.Scenario) {
		sc.Deploys.At = []protocol.Instant{protocol.Instant(5 * protocol.Minute), protocol.Instant(5*protocol.Minute + protocol.Second)}
	})
	w := newWorld(t, sc, "hybrid", 1)
	most := 0
	w.Observe(func(Observation) {
		n := 0
		for i := range w.fleet.used() {
			if p := w.fleet.at(i); p.state != seatEmpty && !p.stopping {
				n++
			}
		}
		most = max(most, n)
	})
	run(t, w)
	assert.Equal(t, 15, most, "a quarter more than twelve")
}

func TestStopsOfNodesAreTheSameInEveryRun(t *testing.T) {
	everything := func() *model.Scenario {
		sc := smallFleet()
		sc.Supervisor.Kind, sc.Supervisor.Repeat = model.Systemd, 2*protocol.Second
		sc.Faults.Drill, sc.Faults.Liveness = 200_000_000, 10*protocol.Second
		sc.Faults.Evict = model.Eviction{Every: 20 * protocol.Minute, Grace: 3 * protocol.Second}
		sc.Faults.Preempt = model.Preemption{Every: 20 * protocol.Minute, Notice: 12 * protocol.Second}
		sc.Faults.ScaleIn = model.ScaleIn{Every: 7 * protocol.Minute, Workers: 3, Back: 2 * protocol.Minute}
		return sc
	}
	for _, policy := range []string{"crash-only", "deaf", "hybrid", "adaptive"} {
		for seed := range uint64(2) {
			first, again := run(t, newWorld(t, everything(), policy, seed)), run(t, newWorld(t, everything(), policy, seed))
			assert.Equal(t, first.TraceHash, again.TraceHash, "policy %s seed %d", policy, seed)
		}
	}
}
