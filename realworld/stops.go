package realworld

import (
	"context"
	"sync"
	"time"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// Stops gathers what tells one worker to stop, to be quiet or to go on, from every source,
// into the one channel that worker.Run takes. Nothing is lost and nothing waits for the
// worker: what it has not taken in yet is kept, in the order of arrival. Any goroutine may
// call any method.
type Stops struct {
	clock worker.Clock
	out   chan protocol.Event
	wake  chan struct{} // something waits
	done  chan struct{} // Close was called

	asked     chan struct{} // the first stop was handed to the worker
	askedOnce sync.Once
	closeOnce sync.Once
	running   sync.WaitGroup

	mu      sync.Mutex
	waiting []waiting
	killAt  func() protocol.Instant // what an OS signal is told about SIGKILL
}

type waiting struct {
	event protocol.Event
	taken func() // called when the worker has it; nil is nobody
}

// NewStops returns an inbox that listens to nothing yet. Close ends it.
func NewStops() *Stops {
	s := &Stops{
		clock: worker.SystemClock(),
		out:   make(chan protocol.Event), wake: make(chan struct{}, 1),
		done: make(chan struct{}), asked: make(chan struct{}),
		killAt: func() protocol.Instant { return protocol.Never },
	}
	s.running.Go(s.deliver)
	return s
}

// Events is what worker.Run takes. The channel is never closed: a worker that still runs when
// Close is called simply hears nothing more.
func (s *Stops) Events() <-chan protocol.Event { return s.out }

// Close stops listening. Signals have their usual effect again, and what waits is dropped.
func (s *Stops) Close() {
	s.closeOnce.Do(func() { close(s.done) })
	s.running.Wait()
}

// Notice is a stop that is no signal: a preStop hook, a spot notice, a call of an API. killAt
// is when SIGKILL will come; the zero time leaves it to the worker's grace. A notice never
// hurries, and neither does the first signal after it.
func (s *Stops) Notice(killAt time.Time) {
	s.put(protocol.StopFrom(protocol.FromNotice, s.instant(killAt)), nil)
}

// Supervisor is a stop that the supervisor asks for by a message of its own.
func (s *Stops) Supervisor(killAt time.Time) {
	s.put(protocol.StopFrom(protocol.FromSupervisor, s.instant(killAt)), nil)
}

// KillAt moves SIGKILL during a drain: nearer at once, and away until the drain has cancelled
// its first handler.
func (s *Stops) KillAt(at time.Time) { s.put(protocol.KillAt(s.instant(at)), nil) }

// Quiet has the worker claim nothing and otherwise live on.
func (s *Stops) Quiet() { s.put(protocol.Event{Kind: protocol.QuietAsked}, nil) }

// Resume ends quiet. It means nothing during a drain.
func (s *Stops) Resume() { s.put(protocol.Event{Kind: protocol.ResumeAsked}, nil) }

// Put hands on an event of any other source.
func (s *Stops) Put(ev protocol.Event) { s.put(ev, nil) }

// Asked is closed when the first stop was handed to the worker.
func (s *Stops) Asked() <-chan struct{} { return s.asked }

// Learn asks source once, in the background, when the first stop has reached the worker, and
// moves SIGKILL to its answer. ctx ends with Close. A source that fails changes nothing:
// failed is told why, unless it is nil.
func (s *Stops) Learn(source func(ctx context.Context) (killAt time.Time, err error), failed func(error)) {
	s.running.Go(func() {
		select {
		case <-s.asked:
		case <-s.done:
			return
		}
		ctx, cancel := s.context()
		defer cancel()
		at, err := source(ctx)
		switch {
		case err == nil:
			s.KillAt(at)
		case failed != nil:
			failed(err)
		}
	})
}

// Alive returns nil once the worker's loop has taken in an empty event, and an error when ctx
// is done before: a worker that turns answers within microseconds, whatever its handlers do.
func (s *Stops) Alive(ctx context.Context) error {
	taken := make(chan struct{})
	s.put(protocol.Event{Kind: protocol.Tick}, func() { close(taken) })
	select {
	case <-taken:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// context is done when Close is called.
func (s *Stops) context() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	s.running.Go(func() {
		select {
		case <-s.done:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, cancel
}

func (s *Stops) put(ev protocol.Event, taken func()) {
	s.mu.Lock()
	s.waiting = append(s.waiting, waiting{ev, taken})
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default: // whoever is awake takes everything
	}
}

// deliver hands events to the worker, one by one.
func (s *Stops) deliver() {
	for {
		next, ok := s.next()
		if !ok {
			select {
			case <-s.wake:
				continue
			case <-s.done:
				return
			}
		}
		select {
		case s.out <- next.event:
			if next.taken != nil {
				next.taken()
			}
			if next.event.Kind == protocol.StopAsked {
				s.askedOnce.Do(func() { close(s.asked) })
			}
		case <-s.done:
			return
		}
	}
}

func (s *Stops) next() (waiting, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		return waiting{}, false
	}
	w := s.waiting[0]
	s.waiting = s.waiting[1:]
	return w, true
}

// instant translates a time of the system into one of the worker's clock.
func (s *Stops) instant(t time.Time) protocol.Instant {
	if t.IsZero() {
		return protocol.Never
	}
	return s.clock.Now().Add(protocol.Duration(time.Until(t)))
}
