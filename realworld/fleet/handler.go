package fleet

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"sync"
	"time"

	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// payloadOf is what a job carries: its number and its work.
func payloadOf(j *Job) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(j.Job))
	return binary.BigEndian.AppendUint64(b, uint64(j.Work))
}

func readPayload(b []byte) (job protocol.JobKey, work protocol.Duration, err error) {
	if len(b) != 16 {
		return 0, 0, fmt.Errorf("fleet: a payload of %d bytes is not one of the fleet's", len(b))
	}
	return protocol.JobKey(binary.BigEndian.Uint64(b)), protocol.Duration(binary.BigEndian.Uint64(b[8:])), nil
}

func writeCursor(d protocol.Duration) []byte { return binary.BigEndian.AppendUint64(nil, uint64(d)) }

func readCursor(b []byte) protocol.Duration {
	if len(b) != 8 {
		return 0
	}
	return protocol.Duration(binary.BigEndian.Uint64(b))
}

// execution is a handler at work. It does what the scenario says of its kind: it looks for
// cancellation at its checkpoints, saves, undoes, fails, is deaf.
type execution struct {
	p     *process
	kind  *kindConfig
	job   *worker.Job
	fate  Fate
	work  protocol.Duration // all of the job's
	base  protocol.Duration // done by earlier executions and saved
	began protocol.Instant
	stood protocol.Duration // while the process stood still, which is no work
	once  sync.Once         // of the undo, however many segments it has
}

var (
	errFails     = errors.New("the scenario says that this execution fails")
	errUndoFails = errors.New("the scenario says that this undo fails")
)

func (p *process) handler(kind *kindConfig) worker.Handler {
	return func(ctx context.Context, job *worker.Job) error {
		number, work, err := readPayload(job.Payload)
		if err != nil {
			return worker.Failed(err)
		}
		x := &execution{p: p, kind: kind, job: job, work: work, base: readCursor(job.Cursor), began: p.clock.Now()}
		p.sink.put(fact{
			Kind: factStarted, At: x.began, Job: job.Key, Token: job.Token, Work: x.base, Total: work,
			Prior: job.Prior.Token, PriorReason: job.Prior.Reason,
		})
		if x.fate, err = p.fateOf(ctx, kind, job.Key, number); err != nil {
			return err
		}
		x.hook()
		how, err := x.run(ctx)
		p.sink.put(fact{
			Kind: factEnded, At: p.clock.Now(), Job: job.Key, Token: job.Token, Work: x.progress(),
			How: uint8(how), Cause: causeOf(err),
		})
		return err
	}
}

// fateOf draws how an execution behaves. The broker knows the how manieth it is.
func (p *process) fateOf(ctx context.Context, kind *kindConfig, key, number protocol.JobKey) (Fate, error) {
	if !kind.chancy() {
		return Fate{}, nil
	}
	info, ok, err := p.queue.Job(ctx, key)
	if err != nil || !ok {
		return Fate{}, fmt.Errorf("fleet: the job is not to be seen: %w", err)
	}
	j := kind.model()
	return p.fates(p.config.Seed, &j, number, info.Deliveries), nil
}

func (x *execution) progress() protocol.Duration {
	return min(x.base+max(x.p.clock.Now().Sub(x.began)-x.stood, 0), x.work)
}

// at is when an amount of the job's work will be done, unless the process stands still.
func (x *execution) at(progress protocol.Duration) protocol.Instant {
	return x.began.Add(progress - x.base + x.stood)
}

// run works towards the end of the job.
func (x *execution) run(ctx context.Context) (meter.How, error) {
	kills := protocol.Forever
	if x.fate.OOM {
		hi, _ := bits.Mul64(uint64(max(x.work-x.base, 0)), x.fate.OOMPoint)
		kills = x.base + protocol.Duration(hi)
	}
	save := next(x.base, x.kind.Save)
	look := next(0, x.kind.Checkpoint) // counted from the beginning, as its loop turns
	for {
		until := min(x.work, kills, save, x.base+min(look, protocol.Forever-x.base))
		interrupted := x.wait(ctx, until)
		switch done := x.progress(); {
		case interrupted: // it looks all the time
			return x.interrupted(ctx)
		case done >= x.work && x.fate.Fails:
			return meter.Failed, worker.Failed(errFails)
		case done >= x.work:
			return meter.Succeeded, nil
		case done >= kills:
			x.p.outOfMemory(x.job)
		case done >= save:
			x.save(ctx, writeCursor(save))
			x.hook()
			save += x.kind.Save
		default:
			look += x.kind.Checkpoint
			if x.fate.Deaf {
				continue
			}
			if x.job.Checkpoint(ctx) != nil {
				return x.interrupted(ctx)
			}
		}
	}
}

// save keeps the progress. One that is flushed is waited for; the work goes on by the clock.
func (x *execution) save(ctx context.Context, cursor []byte) {
	if !x.kind.Flush {
		x.job.Save(cursor)
		return
	}
	_ = x.job.Flush(ctx, cursor) // what keeps it from being stored ends ctx, or the process
}

// next is the first multiple of a step beyond an amount of work.
func next(after, step protocol.Duration) protocol.Duration {
	if step <= 0 {
		return protocol.Forever
	}
	return (after/step + 1) * step
}

func (x *execution) interrupted(ctx context.Context) (meter.How, error) {
	if err := context.Cause(ctx); errors.Is(err, worker.ErrTimeout) {
		return meter.Failed, err
	}
	return meter.Interrupted, context.Cause(ctx)
}

// slice is how long a handler sleeps at once where processes are made to stand still, and
// overslept from when on its process has stood still: a timer fires soon after the end of it.
const (
	slice     = 20 * time.Millisecond
	overslept = 60 * time.Millisecond
)

// wait works until an amount is done. Without checkpoints a handler notices at once that it
// is cancelled, unless it is deaf.
func (x *execution) wait(ctx context.Context, until protocol.Duration) (interrupted bool) {
	cancelled := ctx.Done()
	if x.fate.Deaf || x.kind.Checkpoint > 0 {
		cancelled = nil
	}
	for {
		now := x.p.clock.Now()
		if now >= x.at(until) {
			return false
		}
		left := x.p.clock.real(x.at(until).Sub(now))
		if x.p.config.Pauses {
			left = min(left, slice)
		}
		began := time.Now()
		t := time.NewTimer(left)
		select {
		case <-cancelled:
			t.Stop()
			return true
		case <-t.C:
		}
		if over := time.Since(began) - left; x.p.config.Pauses && over > overslept {
			x.stood += protocol.Duration(float64(over) * x.p.config.Speed)
		}
	}
}

// hook registers what an interruption has to undo, of the segment that begins here.
func (x *execution) hook() {
	if x.kind.Undo > 0 {
		x.job.Scope.OnAbort(x.undo)
	}
}

func (x *execution) undo(context.Context) (err error) {
	x.once.Do(func() {
		x.p.clock.sleep(x.p.clock.Now().Add(x.kind.Undo))
		x.p.sink.put(fact{Kind: factUndone, At: x.p.clock.Now(), Job: x.job.Key, Token: x.job.Token})
		if x.fate.UndoFails {
			err = errUndoFails
		}
	})
	return err
}

// outOfMemory ends the process as the kernel does.
func (p *process) outOfMemory(job *worker.Job) {
	p.sink.put(fact{Kind: factMemory, At: p.clock.Now(), Job: job.Key, Token: job.Token})
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		os.Exit(137)
	}
	select {}
}

func causeOf(err error) protocol.Cause {
	switch {
	case errors.Is(err, worker.ErrDraining):
		return protocol.ErrDraining
	case errors.Is(err, worker.ErrHurry):
		return protocol.ErrHurry
	case errors.Is(err, worker.ErrLeaseLost):
		return protocol.ErrLeaseLost
	case errors.Is(err, worker.ErrTimeout):
		return protocol.ErrTimeout
	case errors.Is(err, worker.ErrCancelled):
		return protocol.ErrCancelled
	default:
		return protocol.NoCause
	}
}
