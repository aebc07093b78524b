package metrics_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
	"github.com/quiesce/quiesce/realworld/metrics"
)

// A deploy: one job is finished in the grace, one is undone and handed back, one is deaf.
func TestADrainIsCounted(t *testing.T) {
	m := metrics.New(metrics.Options{})
	l := newLife(m, "web-1").granted(0, 1, 2, 3).pass(5 * protocol.Second)
	assert.Equal(t, map[string]float64{
		"quiesce_slots{state=Running}": 3, "quiesce_workers{phase=Serving}": 1,
	}, risen(t, m))

	l.step(protocol.StopBySignal(protocol.SIGTERM, protocol.Never)).pass(2 * protocol.Second)
	v := values(t, m)
	assert.Equal(t, 28.0, v["quiesce_drain_left_seconds{}"])
	assert.Equal(t, 1.0, v["quiesce_workers{phase=Draining}"])

	l.returned(0, protocol.ReturnedNil, true).settled(0, protocol.OK)
	l.pass(21*protocol.Second).returned(1, protocol.ReturnedError, false)
	l.pass(protocol.Second).step(protocol.Undid(1, protocol.UndoDone)).settled(1, protocol.OK)
	l.pass(10 * protocol.Second)
	require.Equal(t, protocol.PhaseGone, l.machine.Phase())
	l.observer.End(worker.Ending{Status: l.machine.Status()})
	assert.Equal(t, map[string]float64{
		"quiesce_jobs_total{kind=render,outcome=finished}":     1,
		"quiesce_jobs_total{kind=render,outcome=released}":     1,
		"quiesce_jobs_total{kind=render,outcome=leaked}":       1,
		"quiesce_executions_total{kind=render,returned=nil}":   1,
		"quiesce_executions_total{kind=render,returned=error}": 1,
		"quiesce_execution_seconds{kind=render} count":         2,
		"quiesce_execution_seconds{kind=render} sum":           4,
		"quiesce_checkpoint_gap_seconds{kind=render}":          0.5,
		"quiesce_interruptions_total{reason=drain}":            1,
		"quiesce_cancels_total{cause=draining}":                2,
		"quiesce_handlers_leaking_total{kind=render}":          1,
		"quiesce_drains_total{source=signal}":                  1,
		"quiesce_drain_seconds{} count":                        1,
		"quiesce_drain_seconds{} sum":                          27.5,
		"quiesce_ledger_lines_total{outcome=finished}":         1,
		"quiesce_ledger_lines_total{outcome=released}":         1,
		"quiesce_ledger_lines_total{outcome=leaked}":           1,
		"quiesce_exits_total{status=3}":                        1,
		"quiesce_workers{phase=Gone}":                          1,
	}, risen(t, m))
	_, known := values(t, m)["quiesce_drain_left_seconds{}"]
	assert.False(t, known, "nothing is left to wait for")
}

func TestWhatWasConfiguredIsShown(t *testing.T) {
	m := metrics.New(metrics.Options{})
	newLife(m, "web-1")
	v := values(t, m)
	assert.Equal(t, 30.0, v["quiesce_grace_seconds{}"])
	assert.Equal(t, 5.0, v["quiesce_reserve_seconds{}"])
	assert.Equal(t, 1.0, v["quiesce_checkpoint_gap_allowed_seconds{kind=render}"], "declared")
	assert.Equal(t, 24.0, v["quiesce_checkpoint_gap_allowed_seconds{kind=thumbnail}"], "what the grace has room for")
	assert.Contains(t, v, "quiesce_jobs_total{kind=thumbnail,outcome=quarantined}", "series are there from the start, so that a rise can be seen")
	assert.NotContains(t, v, "quiesce_drain_left_seconds{}", "no SIGKILL is expected")
}

func TestABadDayIsCounted(t *testing.T) {
	m := metrics.New(metrics.Options{})
	l := newLife(m, "web-1").granted(1, 1, 2).granted(0, 3)
	renew := func(slot int, code protocol.Code) {
		s := &l.machine.Slots()[slot]
		l.step(protocol.Renewed(slot, s.Job(), s.Token(), code, l.now, 0))
	}
	l.pass(101 * protocol.Second)
	renew(0, protocol.Unknown)
	renew(1, protocol.Stale)
	renew(2, protocol.CancelOrder)
	l.returned(1, protocol.ReturnedError, true)                            // nothing is offered any more: lost
	l.returned(2, protocol.ReturnedNil, true).settled(2, protocol.Unknown) // not heard of again
	l.pass(protocol.Second).settled(2, protocol.OK)                        // repeated, and counted once
	l.returned(0, protocol.ReturnedError, false).step(protocol.Undid(0, protocol.UndoFailed)).settled(0, protocol.Repeat)
	l.granted(7, 4).settled(0, protocol.OK)
	got := risen(t, m)
	for name, want := range map[string]float64{
		"quiesce_broker_errors_total{call=renew}":                1,
		"quiesce_broker_errors_total{call=settle}":               1,
		"quiesce_renewals_missed_total{}":                        1,
		"quiesce_leases_lost_total{kind=thumbnail}":              1,
		"quiesce_cancels_total{cause=lease-lost}":                1,
		"quiesce_cancels_total{cause=cancelled}":                 1,
		"quiesce_jobs_total{kind=thumbnail,outcome=lost}":        1,
		"quiesce_jobs_total{kind=thumbnail,outcome=quarantined}": 1,
		"quiesce_jobs_total{kind=render,outcome=finished}":       1,
		"quiesce_acked_after_cancel_total{kind=render}":          1,
		"quiesce_jobs_total{kind=unknown,outcome=refused}":       1,
		"quiesce_interruptions_total{reason=refused}":            1,
	} {
		assert.Equal(t, want, got[name], name)
	}
}

// A settling that is repeated is one interruption, and a job that its handler hands back is
// told from one that was interrupted.
func TestAnInterruptionIsCountedOnce(t *testing.T) {
	m := metrics.New(metrics.Options{})
	l := newLife(m, "web-1").granted(0, 1, 2).returned(0, protocol.ReturnedYield, true).settled(0, protocol.Unknown)
	l.pass(10*protocol.Second).settled(0, protocol.OK)
	v := values(t, m)
	assert.Equal(t, 1.0, v["quiesce_interruptions_total{reason=yield}"])
	assert.Equal(t, 1.0, v["quiesce_jobs_total{kind=render,outcome=handed-back}"])
	assert.Equal(t, 1.0, v["quiesce_broker_errors_total{call=settle}"])
}

// An undo that outlives its slice after its claim was lost leaves a zombie, at a deadline and
// without a word.
func TestAZombieIsSeenWheneverTheDeadlineFires(t *testing.T) {
	for _, last := range []protocol.Event{{}, {Kind: protocol.ResumeAsked}} {
		m := metrics.New(metrics.Options{})
		l := newLife(m, "web-1").granted(0, 1, 2, 3).step(protocol.OperatorCancel(1, 2, 102))
		l.returned(1, protocol.ReturnedError, false).step(protocol.Renewed(1, 2, 102, protocol.Stale, l.now, 0))
		assert.Equal(t, 1.0, values(t, m)["quiesce_slots{state=Undoing}"])
		l.now = l.now.Add(10 * protocol.Second)
		l.step(last)
		assert.Equal(t, 1.0, values(t, m)["quiesce_slots{state=Zombie}"], "%v", last.Kind)
	}
}

// A machine that breaks exits as well, and so does a worker that was never begun: that one is
// not counted.
func TestEveryExitIsCountedOnce(t *testing.T) {
	m := metrics.New(metrics.Options{})
	newLife(m, "a").observer.End(worker.Ending{Status: protocol.ExitRefused, Broke: "an invariant"})
	b := newLife(m, "b").step(protocol.StopFrom(protocol.FromNotice, protocol.Never))
	b.step(protocol.WithdrawClosed(0, b.machine.Requests()[0].Seq(), protocol.OK, 2))
	b.observer.End(worker.Ending{})
	m.Observer().End(worker.Ending{Status: 1}) // it never began
	assert.Equal(t, map[string]float64{
		"quiesce_exits_total{status=0}": 1, "quiesce_exits_total{status=1}": 1, "quiesce_workers{phase=Gone}": 2,
		"quiesce_drains_total{source=notice}": 1, "quiesce_drain_seconds{} count": 1,
		"quiesce_interruptions_total{reason=withdrawn}": 2, "quiesce_ledger_lines_total{outcome=withdrawn}": 1,
	}, risen(t, m))
}

func TestWorkersAreAddedUpUnlessSeatsAreAskedFor(t *testing.T) {
	m := metrics.New(metrics.Options{})
	newLife(m, "a").granted(0, 1)
	b := newLife(m, "b").granted(0, 2)
	b.step(protocol.StopBySignal(protocol.SIGTERM, b.now.Add(9*protocol.Second)))
	v := values(t, m)
	assert.Equal(t, 2.0, v["quiesce_slots{state=Running}"])
	assert.Equal(t, 4.0, v["quiesce_slots{state=Free}"])
	assert.Equal(t, 9.0, v["quiesce_drain_left_seconds{}"])

	m = metrics.New(metrics.Options{BySeat: true})
	newLife(m, "a").granted(0, 1)
	newLife(m, "b").granted(0, 2).step(protocol.StopBySignal(protocol.SIGTERM, protocol.Never))
	v = values(t, m)
	assert.Equal(t, 1.0, v["quiesce_slots{seat=a,state=Running}"])
	assert.Equal(t, 1.0, v["quiesce_workers{phase=Serving,seat=a}"])
	assert.Equal(t, 1.0, v["quiesce_workers{phase=Draining,seat=b}"])
	assert.Equal(t, 30.0, v["quiesce_drain_left_seconds{seat=b}"])
	assert.NotContains(t, v, "quiesce_drain_left_seconds{seat=a}")
	for name := range v {
		assert.Contains(t, name, "seat=", "every metric has it")
	}
}

// A worker that every slot of is wedged drains itself.
func TestASelfMadeDrainIsTold(t *testing.T) {
	m := metrics.New(metrics.Options{})
	l := newLife(m, "web-1").granted(0, 1, 2, 3)
	for i := range slots {
		l.step(protocol.OperatorCancel(i, protocol.JobKey(i+1), protocol.Token(101+i)))
	}
	l.pass(11 * protocol.Minute)
	l.observer.End(worker.Ending{Status: l.machine.Status()})
	v := values(t, m)
	assert.Equal(t, 1.0, v["quiesce_drains_total{source=self}"])
	assert.Equal(t, 1.0, v["quiesce_exits_total{status=3}"])
}

// The machine says that nothing is held, and then the broker says that it may hold something.
func TestTheStatusThatAWorkerExitsWithCounts(t *testing.T) {
	m := metrics.New(metrics.Options{})
	l := newLife(m, "web-1").step(protocol.StopBySignal(protocol.SIGTERM, protocol.Never))
	l.pass(protocol.Minute)
	require.Equal(t, protocol.PhaseGone, l.machine.Phase())
	l.observer.End(worker.Ending{Status: protocol.ExitUnsettled})
	v := values(t, m)
	assert.Equal(t, 0.0, v["quiesce_exits_total{status=0}"])
	assert.Equal(t, 1.0, v["quiesce_exits_total{status=4}"])
}

// Whatever happens in whatever order, the gauges say what the machine's slots say, and every
// claim that began is held or was counted once.
func TestEveryClaimIsHeldOrCountedOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := metrics.New(metrics.Options{})
		l := newLife(m, "web-1")
		next := protocol.JobKey(1)
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			if l.machine.Phase() == protocol.PhaseGone {
				break
			}
			slot := rapid.IntRange(0, slots-1).Draw(rt, "slot")
			s := &l.machine.Slots()[slot]
			code := rapid.SampledFrom([]protocol.Code{protocol.OK, protocol.Stale, protocol.Expired, protocol.Unknown, protocol.Closed}).Draw(rt, "code")
			taken := s.State() != protocol.SlotFree
			switch rapid.SampledFrom([]string{"grant", "return", "undo", "settle", "renew", "pass", "jump", "stop"}).Draw(rt, "what") {
			case "grant":
				if r := &l.machine.Requests()[0]; r.State() == protocol.RequestAsked {
					l.granted(protocol.Kind(rapid.IntRange(0, 2).Draw(rt, "kind")), next)
					next++
				}
			case "return":
				if s.State() == protocol.SlotRunning || s.State() == protocol.SlotCancelled {
					returns := []protocol.Code{protocol.ReturnedNil, protocol.ReturnedYield, protocol.ReturnedError, protocol.ReturnedPanic}
					l.returned(slot, rapid.SampledFrom(returns).Draw(rt, "returned"), rapid.Bool().Draw(rt, "clean"))
				}
			case "undo":
				if s.State() == protocol.SlotUndoing {
					l.step(protocol.Undid(slot, rapid.SampledFrom([]protocol.Code{protocol.UndoDone, protocol.UndoFailed}).Draw(rt, "undid")))
				}
			case "settle":
				if taken {
					l.settled(slot, code)
				}
			case "renew":
				if taken {
					l.step(protocol.Renewed(slot, s.Job(), s.Token(), code, l.now, 0))
				}
			case "pass":
				l.pass(protocol.Duration(rapid.IntRange(0, 120_000).Draw(rt, "ms")) * protocol.Millisecond)
			case "jump": // whatever comes next comes before the timers that are due
				l.now = l.now.Add(protocol.Duration(rapid.IntRange(0, 400_000).Draw(rt, "ms")) * protocol.Millisecond)
			case "stop":
				l.step(protocol.StopBySignal(protocol.SIGTERM, protocol.Never))
			}
			v := values(rt, m)
			held, counted := 0.0, 0.0
			states := map[string]float64{}
			if l.machine.Phase() != protocol.PhaseGone {
				for i := range l.machine.Slots() {
					s := &l.machine.Slots()[i]
					states[s.State().String()]++
					if s.State() != protocol.SlotFree {
						held++
					}
				}
			}
			for state := protocol.SlotFree; state <= protocol.SlotLeaked; state++ {
				require.Equal(rt, states[state.String()], v["quiesce_slots{state="+state.String()+"}"], "%v", state)
			}
			for _, kind := range []string{"render", "thumbnail", "unknown"} {
				for o := protocol.WasFinished; o <= protocol.WasUnsettled; o++ {
					counted += v["quiesce_jobs_total{kind="+kind+",outcome="+o.String()+"}"]
				}
			}
			begun := float64(len(l.begun))
			require.LessOrEqual(rt, counted, begun)
			require.GreaterOrEqual(rt, counted+held, begun)
		}
	})
}
