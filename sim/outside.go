package sim

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/protocol"
)

// Outside is what comes to a run from outside and does not depend on what its workers do: the
// jobs, the faults, and how each execution of a job behaves. A fleet of real processes that is
// given it meets what the fleets of the simulator meet.
type Outside struct {
	sc   *model.Scenario
	rnd  Random
	gaps [seatFaults]*dist.Table
}

// NewOutside returns what comes to the run of a scenario with a seed.
func NewOutside(sc *model.Scenario, seed uint64) *Outside {
	return &Outside{sc: sc, rnd: NewRandom(seed, nil), gaps: gapsOf(&sc.Faults)}
}

// OutsideJob is one job on its way to the queue. Jobs are numbered from 1 in the order in
// which they arrive.
type OutsideJob struct {
	At   protocol.Instant
	Job  protocol.JobKey
	Kind protocol.Kind
	Work protocol.Duration
}

// Jobs lists the jobs of the run.
func (o *Outside) Jobs() ([]OutsideJob, error) {
	w := &World{sc: o.sc, rnd: o.rnd, end: protocol.Instant(o.sc.Duration)}
	if err := w.arrival.open(w); err != nil {
		return nil, err
	}
	defer w.arrival.close()
	var all []OutsideJob
	for w.queue.Len() > 0 && w.queue.Peek() <= w.end {
		next := w.queue.Pop()
		w.now = next.At
		j := w.arrivalOf(next.What)
		all = append(all, j)
		if err := w.scheduleAfter(j.Kind); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Start is how long a life of a seat takes from its creation to its Register; lives are
// counted from 1.
func (o *Outside) Start(seat int32, life int) protocol.Duration {
	return startOf(o.sc, &o.rnd, seat, uint32(2*life-1)) // one number when a life begins, one when it ends
}

func startOf(sc *model.Scenario, rnd *Random, seat int32, life uint32) protocol.Duration {
	return protocol.Duration(sc.Fleet.Start.Sample(rnd.Draw(StreamStart, uint64(seat), uint64(life))))
}

// Victim ranks the seats that a deploy stops, the least first. Deploys are counted from 1.
func (o *Outside) Victim(deploy int, seat int32) uint64 {
	return o.rnd.Draw(StreamVictim, uint64(deploy), uint64(seat))
}

// ScaleIn ranks the seats that a scale-in stops, the least first; scale-ins are counted from 1.
func (o *Outside) ScaleIn(n int, seat int32) uint64 {
	return o.rnd.Draw(StreamScaleIn, uint64(n), uint64(seat))
}

// Drill says whether the drain of a seat is killed on purpose, and how long after the stop
// signal. span is the time from the signal to SIGKILL, deploys how many have begun.
func (o *Outside) Drill(deploys int, seat int32, span protocol.Duration) (after protocol.Duration, killed bool) {
	return drillOf(o.sc, &o.rnd, seat, deploys, span)
}

func drillOf(sc *model.Scenario, rnd *Random, seat int32, deploys int, span protocol.Duration) (after protocol.Duration, killed bool) {
	n := 2 * uint64(deploys)
	if !rnd.Happens(StreamDrill, uint64(seat), n, sc.Faults.Drill) {
		return 0, false
	}
	span = min(span, max(sc.Supervisor.Allowed(), 1), drillWindow)
	hi, _ := bits.Mul64(rnd.Draw(StreamDrill, uint64(seat), n+1), uint64(span))
	return protocol.Duration(hi), true
}

// SeatFault is a fault that hits whoever is in a seat.
type SeatFault struct {
	At     protocol.Instant
	Seat   int32
	Kind   SeatFaultKind
	Length protocol.Duration // of a pause or a partition; of the notice before a preemption
}

// SeatFaultKind is what happens to a seat.
type SeatFaultKind uint8

// Kinds of faults of seats, as they are numbered inside.
const (
	SeatCrash     SeatFaultKind = faultCrash
	SeatPause     SeatFaultKind = faultPause
	SeatPartition SeatFaultKind = faultPartition
	SeatEviction  SeatFaultKind = faultEvict
	SeatPreempted SeatFaultKind = faultPreempt
)

// SeatFaults lists the faults of a number of seats in order of time: those that are drawn,
// and those of a recorded trace.
func (o *Outside) SeatFaults(seats int) ([]SeatFault, error) {
	all, err := o.recorded(seats)
	if err != nil {
		return nil, err
	}
	end := protocol.Instant(o.sc.Duration)
	for seat := range int32(seats) {
		for kind := range o.gaps {
			if o.gaps[kind] == nil {
				continue
			}
			n := uint64(0)
			for at := protocol.Instant(0); ; {
				n++
				if at = faultAfter(&o.rnd, o.gaps[kind], seat, kind, n, at); at > end {
					break
				}
				all = append(all, SeatFault{at, seat, SeatFaultKind(kind), o.lengthOf(seat, kind, n)})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b SeatFault) int {
		switch {
		case a.At < b.At:
			return -1
		case a.At > b.At:
			return 1
		}
		return 0
	})
	return all, nil
}

func (o *Outside) lengthOf(seat int32, kind int, n uint64) protocol.Duration {
	f := &o.sc.Faults
	switch kind {
	case faultPause:
		return lengthOf(&o.rnd, &f.Pause, seat, kind, n)
	case faultPartition:
		return lengthOf(&o.rnd, &f.Partition, seat, kind, n)
	case faultPreempt:
		return f.Preempt.Notice
	default:
		return 0
	}
}

// recorded are the faults that the scenario lists and those of a trace, one for each seat of
// the node that they hit.
func (o *Outside) recorded(seats int) ([]SeatFault, error) {
	var all []SeatFault
	hit := func(f model.NodeFault) bool {
		if f.At > protocol.Instant(o.sc.Duration) {
			return false
		}
		kinds := [...]SeatFaultKind{model.NodeCrash: SeatCrash, model.NodePause: SeatPause, model.NodePartition: SeatPartition, model.NodePreempt: SeatPreempted}
		workers := int32(o.sc.Fleet.Workers)
		for seat := f.Node % workers; seat < int32(seats); seat += workers {
			all = append(all, SeatFault{f.At, seat, kinds[f.Kind], f.Length})
		}
		return true
	}
	for _, f := range o.sc.Faults.At {
		hit(f)
	}
	if o.sc.Faults.Trace == nil {
		return all, nil
	}
	stream, err := o.sc.Faults.Trace.Open()
	if err != nil {
		return nil, fmt.Errorf("sim: open the trace of faults: %w", err)
	}
	defer stream.Close() // it is only read
	for {
		f, ok, err := stream.Next()
		if err != nil {
			return nil, fmt.Errorf("sim: read the trace of faults: %w", err)
		}
		if !ok || !hit(f) {
			return all, nil
		}
	}
}

// Fate is how one execution of a job behaves.
type Fate struct {
	Deaf      bool // it never looks for cancellation
	Fails     bool // it reports an error when it comes to its end
	UndoFails bool
	OOM       bool   // it kills its process
	OOMPoint  uint64 // where: so many 2^64ths of the work it has to do
}

// FateOf draws the fate of an execution of a job; executions are counted from 1.
func FateOf(seed uint64, j *model.Job, job protocol.JobKey, execution int) Fate {
	rnd := NewRandom(seed, nil)
	happens := func(what uint64, p model.PPB) bool {
		return rnd.Happens(StreamExecution, uint64(job), uint64(execution)*drawsPerExecution+what, p)
	}
	return Fate{
		Deaf: happens(drawDeaf, j.Deaf), Fails: happens(drawFails, j.Fails),
		UndoFails: rnd.Happens(StreamUndo, uint64(job), uint64(execution), j.UndoFails),
		OOM:       happens(drawOOM, j.OOM),
		OOMPoint:  rnd.Draw(StreamExecution, uint64(job), uint64(execution)*drawsPerExecution+drawOOMPoint),
	}
}
