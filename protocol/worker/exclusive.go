package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/quiesce/quiesce/protocol"
)

// Exclusive is a resource that at most one life of a seat may use at a time: a scratch
// volume, a device, an address. A worker takes what Options.Exclusive names after it was
// registered and before it claims its first job, and gives it back at the end, in reverse.
//
// Boot does not trust the dead and does not disturb the living: from an earlier life of the
// same seat the resource is taken over once that has been silent for Threshold, or at once
// if it is provably dead (Options.Alone). From another seat it is never taken; the worker
// waits until it is free. Leases of jobs delay no boot: tokens protect them.
type Exclusive struct {
	Name      string
	Threshold time.Duration // of silence, longer than its heartbeat and than any pause to be survived
	Resource  Resource
}

// Resource is the port to an exclusive resource. While it is held, the implementation keeps
// the holder's heartbeat fresh by itself.
type Resource interface {
	// Holder returns who holds the resource, by what is written at the resource itself; the
	// zero Holder is nobody.
	Holder(ctx context.Context) (Holder, error)
	// Take makes next the holder if prev still is, in one atomic step.
	Take(ctx context.Context, prev, next Holder) error
	// Release frees the resource if holder still holds it.
	Release(ctx context.Context, holder Holder) error
}

// Holder is a life that holds a resource.
type Holder struct {
	Seat        string
	Incarnation uint64        // 0 is nobody
	Silent      time.Duration // age of its freshest heartbeat, by the resource's own clock
}

// ErrStartupBackoff is why a worker waits before it claims: an earlier life of its seat may
// still use an exclusive resource. It is found in what the worker logs and in what
// MayTake returns, as a *StartupBackoff.
var ErrStartupBackoff = errors.New("worker: an earlier life of the seat may still be alive")

// StartupBackoff is ErrStartupBackoff with the time that is left.
type StartupBackoff struct {
	Resource string
	Holder   Holder
	Wait     time.Duration // threshold minus the age of the freshest heartbeat
}

func (e *StartupBackoff) Error() string {
	return fmt.Sprintf("worker: %s is held by incarnation %d of this seat, heard of %v ago; waiting %v", e.Resource, e.Holder.Incarnation, e.Holder.Silent, e.Wait)
}

// Is makes a *StartupBackoff an ErrStartupBackoff.
func (e *StartupBackoff) Is(target error) bool { return target == ErrStartupBackoff }

// ErrHeldElsewhere reports a resource that another seat holds, which is never taken over.
var ErrHeldElsewhere = errors.New("worker: the resource is held by another seat")

// MayTake reports whether the life next may take the resource from whoever holds it: nil, a
// *StartupBackoff, ErrHeldElsewhere, or ErrRefused when a later life of its own seat holds
// it already. alone says that no earlier life of the seat can be running.
func (x *Exclusive) MayTake(holder, next Holder, alone bool) error {
	left := x.Threshold - holder.Silent
	switch {
	case holder.Incarnation == 0:
		return nil
	case holder.Seat != next.Seat:
		return fmt.Errorf("%w: %s by seat %q", ErrHeldElsewhere, x.Name, holder.Seat)
	case holder.Incarnation == next.Incarnation:
		return nil // an answer to an earlier Take got lost
	case holder.Incarnation > next.Incarnation:
		return fmt.Errorf("%w: %s is held by incarnation %d of this seat, and this is %d", ErrRefused, x.Name, holder.Incarnation, next.Incarnation)
	case alone || left <= 0:
		return nil
	default:
		return &StartupBackoff{Resource: x.Name, Holder: holder, Wait: left}
	}
}

// boot is the taking of exclusive resources.
type boot struct {
	mu    sync.Mutex
	begun bool
	ready bool
	over  bool // the worker leaves: what is taken from now on goes back at once
	me    Holder
	taken []*Exclusive
}

// register makes this life known, and once it is known takes the exclusive resources. The
// machine asks again until it hears that both are done; meanwhile the repetitions keep the
// broker's knowledge of this life fresh.
func (w *Worker) register() {
	go func() {
		ctx, cancel := w.limited(w.cfg.Reply)
		defer cancel()
		n, err := attempt(func() (uint64, error) { return w.broker.Register(ctx, w.life) })
		if err != nil {
			w.log.Warn("could not register", "error", err)
		} else if !w.exclusivesTaken(n) {
			return
		}
		w.post(protocol.RegisteredAs(n, codeOfError(err)))
	}()
}

// exclusivesTaken reports whether every resource is taken; the first call begins to take them.
func (w *Worker) exclusivesTaken(incarnation uint64) bool {
	if len(w.opt.Exclusive) == 0 {
		return true
	}
	b := &w.boot
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.begun {
		b.begun = true
		b.me = Holder{Seat: w.life.Seat, Incarnation: incarnation}
		go w.takeAll()
	}
	return b.ready
}

// takeAll takes one resource after the other, however long it lasts.
func (w *Worker) takeAll() {
	for i := range w.opt.Exclusive {
		x := &w.opt.Exclusive[i]
		for {
			err := w.take(x)
			if err == nil {
				break
			}
			if errors.Is(err, ErrRefused) {
				w.log.Error("an exclusive resource is out of reach for this life", "resource", x.Name, "error", err)
				w.post(protocol.RegisteredAs(w.boot.me.Incarnation, protocol.Refused))
				return
			}
			wait := x.Threshold
			if b := (*StartupBackoff)(nil); errors.As(err, &b) {
				wait = b.Wait
			}
			w.log.Warn("waiting for an exclusive resource before the first claim", "resource", x.Name, "wait", wait, "error", err)
			if !w.pause(wait) {
				return
			}
		}
	}
	w.boot.mu.Lock()
	w.boot.ready = true
	w.boot.mu.Unlock()
	w.post(protocol.RegisteredAs(w.boot.me.Incarnation, protocol.OK))
}

func (w *Worker) take(x *Exclusive) error {
	ctx, cancel := w.limited(w.cfg.Reply)
	defer cancel()
	holder, err := attempt(func() (Holder, error) { return x.Resource.Holder(ctx) })
	if err != nil {
		return err
	}
	if err := x.MayTake(holder, w.boot.me, w.opt.Alone); err != nil {
		return err
	}
	_, err = attempt(func() (struct{}, error) { return struct{}{}, x.Resource.Take(ctx, holder, w.boot.me) })
	if err != nil {
		return err
	}
	w.boot.mu.Lock()
	over := w.boot.over
	if !over {
		w.boot.taken = append(w.boot.taken, x)
	}
	w.boot.mu.Unlock()
	if over {
		return x.Resource.Release(w.work, w.boot.me)
	}
	return nil
}

// pause waits, and reports whether the worker is still there.
func (w *Worker) pause(d time.Duration) bool {
	t := w.clock.NewTimer(w.clock.Now().Add(protocol.Duration(d)))
	defer t.Stop()
	select {
	case <-t.C():
		return true
	case <-w.done:
		return false
	}
}

// giveBack releases the exclusive resources, unless a handler that may use them runs on:
// then they are left to their threshold.
func (w *Worker) giveBack(ctx context.Context) {
	b := &w.boot
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	for i := len(b.taken) - 1; i >= 0 && w.Status() != protocol.ExitLeaked && w.Status() != protocol.ExitAtOnce; i-- {
		x := b.taken[i]
		if err := guarded(func() error { return x.Resource.Release(ctx, b.me) }); err != nil {
			w.log.Warn("an exclusive resource was not given back", "resource", x.Name, "error", err)
		}
	}
	b.taken = nil
}
