package explore

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
)

// afterTheEnd is what may still come to a machine that has gone: answers that were on their way,
// handlers and hooks that run on, and whatever people and platforms say.
func afterTheEnd(m *protocol.Machine, now protocol.Instant) (evs []protocol.Event) {
	r := &m.Requests()[0]
	for k := range m.Slots() {
		s := &m.Slots()[k]
		for _, f := range falsehoods {
			evs = append(evs, f.told(k, s, r, now)...)
		}
		evs = append(evs, protocol.Renewed(k, s.Job(), s.Token()+1, protocol.OK, now, 0))
		if s.State() != protocol.SlotLeaked { // nothing runs in it that could say something
			continue
		}
		evs = append(evs, protocol.SaveCursor(k, 1, true))
		for _, way := range handlerReturns {
			evs = append(evs, protocol.Returned(k, way.code, way.clean))
		}
		for _, way := range undoReturns {
			evs = append(evs, protocol.Undid(k, way.code))
		}
	}
	evs = append(evs, protocol.Event{Kind: protocol.Tick}, protocol.Event{Kind: protocol.QuietAsked}, protocol.Event{Kind: protocol.ResumeAsked},
		protocol.Event{Kind: protocol.Reconnected}, protocol.Estimate(0, 11, 9), protocol.KillAt(now), protocol.KillAt(protocol.Never))
	for range 3 {
		evs = append(evs, protocol.StopBySignal(protocol.SIGTERM, protocol.Never), protocol.StopBySignal(protocol.SIGINT, protocol.Never),
			protocol.StopFrom(protocol.FromSupervisor, now), protocol.StopFrom(protocol.FromContext, protocol.Never))
	}
	return evs
}

// TestAMachineThatHasGoneIgnoresWhatStillComes drives machines on after their end. In production
// and in a search their process has ended and nobody does, so no world reaches these cells.
func TestAMachineThatHasGoneIgnoresWhatStillComes(t *testing.T) {
	seen := newCoverage()
	ends := 0
	worlds := []World{named(t, "signals"), named(t, "returns"), named(t, "two-slots"), named(t, "liar-dies")}
	for _, p := range []protocol.OnStop{protocol.FinishOnStop, protocol.CancelOnStop, protocol.DieOnStop, protocol.IgnoreOnStop} {
		w := named(t, "liar-at-boot") // which may be refused before anybody stops it
		w.Policy.OnStop = p
		worlds = append(worlds, w)
	}
	for _, w := range worlds {
		walk(t, w, false, 4000, func(e *engine, _ []byte, st *state, acts []action) {
			c := e.empty()
			for _, a := range acts {
				e.copyAll(st, c)
				e.apply(c, a)
				for i := range c.workers {
					if w := &c.workers[i]; w.dead && !st.workers[i].dead && w.machine.Phase() == protocol.PhaseGone {
						ends++
						e.haunt(t, seen, w, c.now)
					}
				}
			}
		})
	}
	require.Positive(t, ends)
	known := seen.known
	for _, cell := range stateTables(t) {
		if cell.Column == "Gone" || cell.Column == "Leaked" {
			_, reached := known[cell]
			assert.True(t, reached, "%v", cell)
		}
		delete(known, cell)
	}
	assert.Empty(t, known, "the tables have no such cell, or say that it cannot be")
}

// haunt steps a machine that has gone.
func (e *engine) haunt(t *testing.T, seen *coverage, w *worker, now protocol.Instant) {
	was := w.machine.AppendSnapshot(nil)
	for _, ev := range afterTheEnd(&w.machine, now) {
		seen.before(e, w, now, ev)
		for k := range w.machine.Slots() {
			if ev.Kind == protocol.Granted { // before its end it would have run it, or not
				seen.slot(map[bool]string{true: "granted, run", false: "granted, not understood or not run"}[ev.Version == 0], &w.machine.Slots()[k])
			}
		}
		e.fx.Reset()
		w.machine.Step(now, ev, e.fx)
		require.Empty(t, e.fx.All(), "%v", ev)
		require.Equal(t, was, w.machine.AppendSnapshot(nil), "%v", ev)
	}
}
