package sim

import (
	"fmt"

	"github.com/quiesce/quiesce/model"
)

// nodeFaults are the faults of a recorded trace, one of them pending at a time. They come at
// their instants under every policy, whoever stands on the node then.
type nodeFaults struct {
	stream model.FaultStream
	next   model.NodeFault
}

func (f *nodeFaults) open(w *World) error {
	if w.sc.Faults.Trace == nil {
		return nil
	}
	stream, err := w.sc.Faults.Trace.Open()
	if err != nil {
		return fmt.Errorf("sim: open the trace of faults: %w", err)
	}
	f.stream = stream
	return w.scheduleNodeFault()
}

func (f *nodeFaults) close() {
	if f.stream != nil {
		_ = f.stream.Close() // it was only read
		f.stream = nil
	}
}

func (w *World) scheduleNodeFault() error {
	next, ok, err := w.faults.stream.Next()
	if err != nil {
		return fmt.Errorf("sim: read the trace of faults: %w", err)
	}
	if ok && next.At <= w.end {
		w.faults.next = next
		w.at(next.At, event{kind: evNodeFault, whom: whom{seat: next.Node % int32(w.sc.Fleet.Workers)}})
	}
	return nil
}

// scheduleGivenFaults queues the faults that the scenario lists.
func (w *World) scheduleGivenFaults() {
	for i, f := range w.sc.Faults.At {
		if f.At <= w.end {
			w.at(f.At, event{kind: evNodeFault, whom: whom{seat: f.Node % int32(w.sc.Fleet.Workers)}, what: uint32(i + 1)})
		}
	}
}

// onNodeFault hits every seat of the node. Most of them are empty: a fleet has room for the
// processes that are being replaced.
func (w *World) onNodeFault(e event) error {
	f := w.faults.next
	if e.what > 0 {
		f = w.sc.Faults.At[e.what-1]
	}
	w.fleet.use(w.fleet.seats)
	for seat := e.seat; seat < w.fleet.used(); seat += int32(w.sc.Fleet.Workers) {
		p := w.fleet.at(seat)
		w.note(f.Kind.String(), p)
		switch f.Kind {
		case model.NodeCrash:
			if p.state == seatUp {
				w.crash(p)
			}
		case model.NodePause:
			w.pause(p, f.Length)
		case model.NodePartition:
			p.partition(w.now.Add(f.Length))
		case model.NodePreempt:
			w.takeAway(p, f.Length)
		}
	}
	if f.Kind == model.NodePreempt {
		w.replace() // after all of the node, so that none lands on it and is hit as well
	}
	if e.what > 0 {
		return nil
	}
	return w.scheduleNodeFault()
}
