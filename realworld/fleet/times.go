package fleet

import (
	"slices"
	"time"

	"github.com/quiesce/quiesce/protocol"
)

// Times is how long things took that the laboratory is told of by a scenario, in real time and in no
// order. What happened in a process that stood still is left out.
type Times struct {
	Start     []time.Duration // from the creation of a process until it claims, less what it waited for the scenario's start
	RoundTrip []time.Duration // from a settlement to its answer, Redis and the worker's batches included
	Exit      []time.Duration // from the decision to exit until there is no process any more
	HandOff   []time.Duration // from a release until the next holder hears of its claim; with the wait for a free slot
	Overrun   []time.Duration // what an execution took beyond its work: timers and the scheduler
}

func (t *Times) add(o *Times) {
	t.Start = append(t.Start, o.Start...)
	t.RoundTrip = append(t.RoundTrip, o.RoundTrip...)
	t.Exit = append(t.Exit, o.Exit...)
	t.HandOff = append(t.HandOff, o.HandOff...)
	t.Overrun = append(t.Overrun, o.Overrun...)
}

// times takes them from what was reported. Instants are the scenario's.
func (b *ledger) times() Times {
	var t Times
	take := func(to *[]time.Duration, d protocol.Duration) {
		*to = append(*to, shortened(time.Duration(max(d, 0)), b.speed))
	}
	for _, l := range b.lives {
		open, up, ready, exit := protocol.Never, protocol.Never, protocol.Never, protocol.Never
		for i := range l.facts {
			f := &l.facts[i]
			switch f.Kind {
			case factOpen:
				open = min(open, f.At)
			case factUp:
				up = min(up, f.At)
			case factReady:
				ready = min(ready, f.At)
			case factExit:
				exit = min(exit, f.At)
			}
		}
		if len(l.pauses) > 0 {
			continue
		}
		if ready != protocol.Never && open != protocol.Never {
			take(&t.Start, open.Sub(l.created)+ready.Sub(up))
		}
		if exit != protocol.Never && l.reapedAt > 0 {
			take(&t.Exit, l.reapedAt.Sub(exit))
		}
	}
	for _, st := range b.jobs {
		for i, c := range st.claims {
			if c.life != nil && len(c.life.pauses) > 0 {
				continue
			}
			if c.settle != nil && c.settled() {
				take(&t.RoundTrip, c.taken.Sub(c.settle.At))
				if c.settle.Verb == protocol.Release && i+1 < len(st.claims) {
					take(&t.HandOff, st.claims[i+1].granted.Sub(c.settle.At))
				}
			}
			if c.started != nil && c.ended != nil && c.ended.Cause == 0 && c.ended.Work == c.started.Total {
				take(&t.Overrun, c.ended.At.Sub(c.started.At)-(c.started.Total-c.started.Work))
			}
		}
	}
	for _, all := range [][]time.Duration{t.Start, t.RoundTrip, t.Exit, t.HandOff, t.Overrun} {
		slices.Sort(all)
	}
	return t
}
