package worker

import (
	"context"
	"errors"
	"log/slog"
	"math/bits"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/quiesce/quiesce/protocol"
)

// Worker claims jobs and runs them until it is told to stop. It decides nothing: every
// decision is the machine's, and a Worker only carries events to it and effects out.
type Worker struct {
	broker Broker
	mux    *Mux
	opt    Options
	cfg    *protocol.Config
	clock  Clock
	log    *slog.Logger

	machine protocol.Machine
	fx      *protocol.Effects
	life    Life
	mail    chan message
	done    chan struct{}   // closed when Run leaves: nobody reads the mail any more
	calls   context.Context // of every call of the broker; ends with Run
	hangUp  context.CancelFunc
	claims  []context.CancelFunc // by queue: ends the request that is out
	renews  *batcher[Renewal]
	settles *batcher[Settlement]
	slots   []slot
	learned []uint32 // finished executions by kind and bucket
	grants  []Grant  // of the claim answer that is being taken in
	current stepping
	ledger  ledger
	used    atomic.Bool

	ready  atomic.Bool
	killAt atomic.Int64
	status atomic.Int32
}

// slot is what runs in a slot of the machine.
type slot struct {
	job     *Job
	cancel  context.CancelCauseFunc
	started protocol.Instant
	running bool
	err     error // what the handler returned; the cause of a Fail
}

// message is what the worker's one goroutine takes in: events, and beside them what events
// cannot carry.
type message struct {
	events []protocol.Event
	grants []Grant // of a claim answer
	job    *Job    // of a handler that came back
	err    error   // what it returned
}

// New returns a worker that will run the mux's handlers on the broker's jobs. Options that
// cannot work are refused, each problem with its numbers.
func New(broker Broker, mux *Mux, options Options) (*Worker, error) {
	opt, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	cfg, err := opt.config(mux, broker.Capabilities())
	if err != nil {
		return nil, err
	}
	w := &Worker{
		broker: broker, mux: mux, opt: opt, cfg: cfg, clock: opt.Clock, log: opt.Logger,
		fx:   protocol.NewEffects(opt.Slots, len(opt.Queues)),
		life: Life{Seat: opt.Seat, Nonce: uuid.New(), Generation: opt.Generation},
		mail: make(chan message), done: make(chan struct{}),
		claims: make([]context.CancelFunc, len(opt.Queues)),
		slots:  make([]slot, opt.Slots), learned: make([]uint32, len(mux.kinds)*protocol.BucketsPerKind),
	}
	w.killAt.Store(int64(protocol.Never))
	for i := range cfg.Kinds {
		if cfg.OverlapPossible(protocol.Kind(i)) {
			w.log.Warn("two executions of a job may overlap: heartbeat and gap are too long for the lease",
				"kind", mux.kinds[i].name, "gap", cfg.Kinds[i].Gap, "heartbeat", cfg.Heartbeat, "lease", cfg.Lease)
		}
	}
	return w, nil
}

// ErrUsed reports a second Run of one worker: a life is lived once.
var ErrUsed = errors.New("worker: Run was called before; make a new worker")

// Run registers the worker, claims and runs jobs, and returns when it has come to rest. A
// done ctx is a stop like any other, never a cancellation of handlers. signals carries
// stops, quiet and resume (package realworld translates those of the operating system); it
// may be nil.
//
// Run returns nil when nothing is held, and an *ExitError otherwise; after a stop it
// returns by the end of the grace, whatever handlers do.
func (w *Worker) Run(ctx context.Context, signals <-chan protocol.Event) (err error) {
	if w.used.Swap(true) {
		return ErrUsed
	}
	w.calls, w.hangUp = context.WithCancel(context.WithoutCancel(ctx))
	w.renews = newBatcher(w.sendRenewals)
	w.settles = newBatcher(w.sendSettlements)
	defer func() {
		p := recover()
		if p != nil {
			// An invariant of the machine broke. Settle nothing and renew nothing more: the
			// leases do the rest.
			w.log.Error("the protocol broke an invariant", "panic", p, "stack", string(debug.Stack()))
			w.status.Store(protocol.ExitRefused)
			err = &ExitError{protocol.ExitRefused}
		}
		w.ready.Store(false)
		close(w.done)
		w.hangUp()
		w.abandon()
		if p != nil {
			w.flushBroken(p)
		}
	}()
	w.machine.Init(w.cfg, protocol.NewMemory(w.cfg, w.opt.Slots), seedOf(w.life.Nonce))
	w.beginObserved()
	w.loop(ctx, signals)
	w.runExitHooks()
	if st := int(w.status.Load()); st != protocol.ExitClean {
		return &ExitError{st}
	}
	return nil
}

// loop feeds the machine until it is gone.
func (w *Worker) loop(ctx context.Context, signals <-chan protocol.Event) {
	stop := ctx.Done()
	w.step(protocol.Event{Kind: protocol.Tick})
	for w.machine.Phase() != protocol.PhaseGone {
		var due <-chan time.Time
		if at := w.machine.Deadline(); at != protocol.Never {
			timer := w.clock.NewTimer(at)
			due = timer.C()
			w.wait(&stop, signals, due)
			timer.Stop()
			continue
		}
		w.wait(&stop, signals, due)
	}
}

// wait takes in the next thing that happens.
func (w *Worker) wait(stop *<-chan struct{}, signals <-chan protocol.Event, due <-chan time.Time) {
	select {
	case m := <-w.mail:
		w.takeIn(m)
	case ev, open := <-signals:
		if open {
			w.teach(ev)
			w.step(ev)
		}
	case <-*stop:
		*stop = nil
		ev := protocol.StopFrom(protocol.FromContext, protocol.Never)
		w.teach(ev)
		w.step(ev)
	case <-due:
		w.step(protocol.Event{Kind: protocol.Tick})
	}
}

func (w *Worker) takeIn(m message) {
	if m.job != nil {
		s := &w.slots[m.job.slot]
		s.running, s.err = false, m.err
		s.cancel(nil)
		if m.events[0].Code == protocol.ReturnedNil {
			w.learn(protocol.Kind(w.mux.find(m.job.Kind)), w.clock.Now().Sub(s.started))
		}
		w.executed(m)
	}
	w.grants = m.grants
	w.step(m.events...)
	w.grants = nil
}

// step gives events to the machine, with nothing in between, and carries out its effects.
func (w *Worker) step(events ...protocol.Event) {
	now := w.clock.Now()
	for _, ev := range events {
		w.fx.Reset()
		w.current = stepping{now, ev, true}
		w.machine.Step(now, ev, w.fx)
		w.current.inside = false
		for _, o := range w.opt.Observers {
			o.Step(now, ev, w.fx.All(), &w.machine)
		}
		for _, e := range w.fx.All() {
			w.carryOut(e)
		}
	}
	w.ready.Store(w.machine.Phase() == protocol.PhaseServing)
	w.killAt.Store(int64(w.machine.KillAt()))
	w.status.Store(int32(w.machine.Status()))
}

// post puts the parts of one answer into the mailbox, unless nobody reads it any more.
func (w *Worker) post(events ...protocol.Event) { w.send(message{events: events}) }

func (w *Worker) send(m message) {
	select {
	case w.mail <- m:
	case <-w.done:
	}
}

// Ready reports whether the worker claims jobs: for a readiness probe.
func (w *Worker) Ready() bool { return w.ready.Load() }

// SecondsLeft returns how long it is until SIGKILL is expected; ok is false outside a drain.
func (w *Worker) SecondsLeft() (seconds float64, ok bool) {
	at := protocol.Instant(w.killAt.Load())
	if at == protocol.Never {
		return 0, false
	}
	return time.Duration(max(at.Sub(w.clock.Now()), 0)).Seconds(), true
}

// Status returns the exit status as far as it is known.
func (w *Worker) Status() int { return int(w.status.Load()) }

// teach gives an adaptive policy what was learned about execution times, before a stop.
func (w *Worker) teach(ev protocol.Event) {
	if ev.Kind != protocol.StopAsked || w.cfg.Policy.Estimates == protocol.NoEstimates && w.cfg.Policy.LateClaim != protocol.RunLateClaimIfShort {
		return
	}
	for i, n := range w.learned {
		if n > 0 {
			w.step(protocol.Estimate(protocol.Kind(i/protocol.BucketsPerKind), i%protocol.BucketsPerKind, n))
		}
	}
}

// learn counts a finished execution.
func (w *Worker) learn(kind protocol.Kind, took protocol.Duration) {
	b := max(bits.Len64(uint64(took/protocol.Millisecond))-1, 0)
	w.learned[int(kind)*protocol.BucketsPerKind+min(b, protocol.BucketsPerKind-1)]++
}

// abandon tells handlers that still run that they work for nobody.
func (w *Worker) abandon() {
	for i := range w.slots {
		if s := &w.slots[i]; s.running {
			s.job.forfeit()
			s.cancel(ErrLeaseLost)
		}
	}
}

func (w *Worker) runExitHooks() {
	ctx := context.Background()
	if by := w.machine.ExitBy(); by != protocol.Never {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(max(by.Sub(w.clock.Now()), 0)))
		defer cancel()
	}
	observed := w.endObserved(Ending{Status: int(w.status.Load())})
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		for _, hook := range w.opt.OnExit {
			if err := runHook(ctx, func(ctx context.Context) error { hook(ctx); return nil }); err != nil {
				w.log.Error("an exit hook failed", "error", err)
			}
		}
	}()
	w.await(ctx, finished, "an exit hook")
	w.await(ctx, observed, "an observer")
}

func seedOf(id uuid.UUID) uint64 {
	var seed uint64
	for _, b := range id {
		seed = seed*0x100000001b3 ^ uint64(b)
	}
	return seed | 1
}

func duration(d protocol.Duration) time.Duration { return time.Duration(d) }
