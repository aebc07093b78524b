package sim

import (
	"fmt"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
)

// arrivals makes jobs, one pending arrival per kind, or one altogether when they come from
// a trace. Jobs are numbered in the order in which they arrive, so job 17 is the same under
// every policy.
type arrivals struct {
	stream model.JobStream
	jobs   protocol.JobKey // made so far
	perJob []uint64        // by kind: gaps drawn so far
	next   traceJob
}

type traceJob struct {
	work protocol.Duration
	kind protocol.Kind
}

func (a *arrivals) open(w *World) error {
	if w.sc.Trace == nil {
		a.perJob = make([]uint64, len(w.sc.Jobs))
		for k := range w.sc.Jobs {
			w.scheduleArrival(k)
		}
		return nil
	}
	stream, err := w.sc.Trace.Open()
	if err != nil {
		return fmt.Errorf("sim: open the job trace: %w", err)
	}
	a.stream = stream
	return w.scheduleFromTrace()
}

func (a *arrivals) close() {
	if a.stream != nil {
		_ = a.stream.Close() // it was only read
		a.stream = nil
	}
}

func (w *World) scheduleArrival(kind int) {
	j := &w.sc.Jobs[kind]
	n := w.arrival.perJob[kind]
	if j.Arrivals == nil || j.Count > 0 && n >= uint64(j.Count) {
		return
	}
	w.arrival.perJob[kind]++
	gap := j.Arrivals.Sample(w.rnd.Draw(StreamArrival, uint64(kind), n))
	w.at(w.now.Add(protocol.Duration(gap)), event{kind: evArrival, what: uint32(kind)})
}

func (w *World) scheduleFromTrace() error {
	at, work, kind, ok, err := w.arrival.stream.Next()
	if err != nil {
		return fmt.Errorf("sim: read the job trace: %w", err)
	}
	if ok {
		w.arrival.next = traceJob{work, kind}
		w.at(at, event{kind: evArrival, what: uint32(kind)})
	}
	return nil
}

// arrivalOf makes the job whose arrival is due.
func (w *World) arrivalOf(e event) OutsideJob {
	w.arrival.jobs++
	j := OutsideJob{At: w.now, Job: w.arrival.jobs, Kind: protocol.Kind(e.what)}
	if w.arrival.stream != nil {
		j.Work = w.arrival.next.work
	} else {
		j.Work = protocol.Duration(w.sc.Jobs[j.Kind].Work.Sample(w.rnd.Draw(StreamWork, uint64(j.Job), 0)))
	}
	return j
}

// scheduleAfter schedules the arrival after one of a kind.
func (w *World) scheduleAfter(kind protocol.Kind) error {
	if w.arrival.stream != nil {
		return w.scheduleFromTrace()
	}
	w.scheduleArrival(int(kind))
	return nil
}

func (w *World) arrive(e event) error {
	a := w.arrivalOf(e)
	j := &w.sc.Jobs[a.Kind]
	version := j.Version
	if w.fleet.generation > 0 {
		version = max(version, j.NewVersion)
	}
	w.joins(a.Job, a.Kind)
	w.record(meter.Record{Kind: meter.JobEnqueued, Job: a.Job, Work: a.Work})
	if w.check != nil {
		w.check.Enqueued(w.now, a.Job)
	}
	w.broker.Enqueue(w.now, a.Job, a.Kind, version, a.Work, &w.out)
	w.flush()
	if w.large {
		w.foreseeWaiting()
	}
	return w.scheduleAfter(a.Kind)
}
