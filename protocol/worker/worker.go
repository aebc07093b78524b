package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/quiesce/quiesce/internal/crew"
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
	life   Life

	// Of the goroutine that runs Run.
	machine protocol.Machine
	fx      *protocol.Effects
	slots   []slot
	claims  []context.CancelFunc // by queue: ends the request that is out
	learned []uint32             // finished executions by kind and bucket
	granted *Grant               // that the machine is being told of
	holding map[claim]struct{}   // the newest claim of every slot
	alarm   alarm
	current stepping
	gathers bool // takes more for at hand until it has looked; tests may forbid it

	mail    chan message
	regains chan struct{}   // of one: the way to the broker is there again
	done    chan struct{}   // closed when Run leaves: nobody reads the mail any more
	work    context.Context // what handlers and undo hooks run under; never done
	calls   context.Context // of every call of the broker; ends with Run
	crew    crew.Crew       // who makes calls that come again and again

	goodbyes sync.WaitGroup // calls that say that this life will stop

	hangUp  context.CancelFunc
	renews  *batcher[Renewal]
	settles *batcher[Settlement] // without a poster
	poster  Poster               // the broker, if it is one
	outbox  outbox               // with a poster
	used    atomic.Bool

	// Read by anybody.
	ready  atomic.Bool
	killAt atomic.Int64
	status atomic.Int32
	gaps   []atomic.Int64 // by kind: the longest ever measured
	mu     sync.Mutex
	ledger []LedgerLine
	boot   boot
}

// claim names a claim.
type claim struct {
	job   protocol.JobKey
	token protocol.Token
}

// slot is what runs in a slot of the machine.
type slot struct {
	job     *Job
	cancel  context.CancelCauseFunc
	started protocol.Instant
	running bool  // its handler does
	undoing bool  // its undo hooks run
	overran bool  // and have been given up
	err     error // what the handler returned; the cause of a Fail
}

// New returns a worker that will run the mux's handlers on the broker's jobs. The mux must
// not change any more. Options that cannot work are refused, each problem with its numbers.
func New(broker Broker, mux *Mux, options Options) (*Worker, error) {
	if broker == nil || mux == nil {
		return nil, errors.New("worker: New needs a broker and a mux; the first talks to your queue, the second knows your handlers")
	}
	opt, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	mux = mux.built()
	cfg, err := opt.config(mux, broker)
	if err != nil {
		return nil, err
	}
	w := &Worker{
		broker: broker, mux: mux, opt: opt, cfg: cfg, clock: opt.Clock, log: opt.Logger,
		fx:   protocol.NewEffects(opt.Slots, len(opt.Queues)),
		life: Life{Seat: opt.Seat, Nonce: uuid.New(), Generation: opt.Generation},
		mail: make(chan message, 2*opt.Slots+8), done: make(chan struct{}), regains: make(chan struct{}, 1),
		claims: make([]context.CancelFunc, len(opt.Queues)),
		slots:  make([]slot, opt.Slots), learned: make([]uint32, len(mux.kinds)*protocol.BucketsPerKind),
		gaps: make([]atomic.Int64, len(mux.kinds)), holding: make(map[claim]struct{}, opt.Slots),
	}
	w.poster, _ = broker.(Poster)
	w.gathers = true
	w.alarm.clock = w.clock
	w.killAt.Store(int64(protocol.Never))
	w.warnOfOverlap()
	return w, nil
}

func (w *Worker) warnOfOverlap() {
	for i := range w.cfg.Kinds {
		if w.cfg.OverlapPossible(protocol.Kind(i)) {
			w.log.Warn("two executions of a job may overlap: heartbeat and gap are too long for the lease",
				"kind", w.mux.kinds[i].name, "gap", w.cfg.Kinds[i].Gap, "heartbeat", w.cfg.Heartbeat, "lease", w.cfg.Lease)
		}
	}
}

// ErrUsed reports a second Run of one worker: a life is lived once.
var ErrUsed = errors.New("worker: Run was called before; make a new worker")

// Run registers the worker, claims and runs jobs, and returns when it has come to rest. A
// done ctx is a stop like any other, never a cancellation of handlers. signals carries
// stops, quiet, resume, and moves of SIGKILL (protocol.KillAt), whose instants are read on
// the worker's clock; package realworld translates those of the operating system. It may be
// nil, and may be closed.
//
// Run returns nil when nothing is held, and an *ExitError otherwise; after a stop it
// returns by the end of the grace, whatever handlers, hooks and broker do.
func (w *Worker) Run(ctx context.Context, signals <-chan protocol.Event) (err error) {
	if w.used.Swap(true) {
		return ErrUsed
	}
	w.work = context.WithoutCancel(ctx)
	w.calls, w.hangUp = context.WithCancel(w.work)
	w.crew = crew.New(w.done)
	w.renews = newBatcher(w.clock, 2*w.cfg.Reply, w.sendRenewals)
	w.settles = newBatcher(w.clock, 2*w.cfg.Reply, w.sendSettlements)
	defer func() {
		p := recover()
		if p != nil {
			// An invariant of the machine broke. Settle nothing and renew nothing more: the
			// leases do the rest.
			w.log.Error("the protocol broke an invariant", "panic", p, "stack", string(debug.Stack()))
			w.status.Store(protocol.ExitRefused)
			err = &ExitError{Status: protocol.ExitRefused, Cause: fmt.Errorf("worker: %v", p)}
		}
		w.ready.Store(false)
		close(w.done)
		w.hangUp()
		w.alarm.off()
		w.abandon()
		if p != nil {
			w.flushBroken(p)
		}
	}()
	w.machine.Init(w.cfg, protocol.NewMemory(w.cfg, w.opt.Slots), seedOf(w.life.Nonce))
	w.beginObserved()
	if r, ok := w.broker.(Reconnector); ok {
		defer r.OnReconnect(w.regained)()
	}
	w.loop(ctx, signals)
	owed := w.leave()
	if st := w.Status(); st != protocol.ExitClean {
		return &ExitError{Status: st, Cause: owed}
	}
	return nil
}

// burst is how many messages are taken in before the worker looks for signals again, atOnce how
// many of them before it looks at the clock again, which costs as much as a step, and mostYields
// how often it lets others go first before it sends what has gathered.
const (
	burst      = 64
	atOnce     = 8
	mostYields = 4
)

// loop feeds the machine until it is gone.
func (w *Worker) loop(ctx context.Context, signals <-chan protocol.Event) {
	stop, yields := ctx.Done(), 0
	w.step(protocol.Event{Kind: protocol.Tick})
	for w.machine.Phase() != protocol.PhaseGone {
		if w.takeInSome() {
			break
		}
		if w.current.event.More {
			// What ends together is settled together: whoever is about to say so goes first.
			if runtime.Gosched(); len(w.mail) > 0 && yields < mostYields {
				yields++
				continue
			}
			w.step(protocol.Event{Kind: protocol.Tick}) // nothing more is at hand
			if w.machine.Phase() == protocol.PhaseGone {
				break
			}
		}
		yields = 0
		w.sendOutbox()
		select {
		case m := <-w.mail:
			w.takeIn(w.clock.Now(), m)
		case ev, open := <-signals:
			if !open {
				signals = nil
				continue
			}
			w.teach(ev)
			w.step(ev)
		case <-stop:
			stop = nil
			ev := protocol.StopFrom(protocol.FromContext, protocol.Never)
			w.teach(ev)
			w.step(ev)
		case <-w.regains:
			w.step(protocol.Event{Kind: protocol.Reconnected})
		case <-w.alarm.set(w.machine.Deadline()):
			w.alarm.off()
			if w.clock.Now() >= w.machine.Deadline() {
				w.step(protocol.Event{Kind: protocol.Tick})
			}
		}
	}
	w.sendOutbox()
}

// regained takes in that the way to the broker is there again. Of several times that the worker
// has not heard of yet one is enough.
func (w *Worker) regained() {
	select {
	case w.regains <- struct{}{}:
	default:
	}
}

// takeInSome takes in what has gathered in the mailbox, and reports whether the worker is
// gone after it.
func (w *Worker) takeInSome() (gone bool) {
	var now protocol.Instant
	for i := range burst {
		select {
		case m := <-w.mail:
			if i%atOnce == 0 {
				now = w.clock.Now()
			}
			w.takeIn(now, m)
			if w.machine.Phase() == protocol.PhaseGone {
				return true
			}
		default:
			return false
		}
	}
	return false
}

// step gives an event to the machine and carries out its effects.
func (w *Worker) step(ev protocol.Event) { w.stepAt(w.clock.Now(), ev) }

func (w *Worker) stepAt(now protocol.Instant, ev protocol.Event) {
	ev.More = w.gathers && ev.Kind != protocol.Tick
	w.fx.Reset()
	w.current = stepping{now, ev, true}
	w.machine.Step(now, ev, w.fx)
	w.current.inside = false
	for _, o := range w.opt.Observers {
		o.Step(now, ev, w.fx.All(), &w.machine)
	}
	for i := range w.fx.All() {
		w.carryOut(&w.fx.All()[i])
	}
	w.publish()
}

// publish shows others where the worker stands.
func (w *Worker) publish() {
	if ready := w.machine.Phase() == protocol.PhaseServing; ready != w.ready.Load() {
		w.ready.Store(ready)
	}
	if at := int64(w.machine.KillAt()); at != w.killAt.Load() {
		w.killAt.Store(at)
	}
	if st := int32(w.machine.Status()); st != w.status.Load() {
		w.status.Store(st)
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

// LongestGap returns the longest time that handlers of a kind have left between two checks
// for cancellation, or took to return after one, since the worker was made.
func (w *Worker) LongestGap(kind string) time.Duration {
	if k, ok := w.mux.index[kind]; ok {
		return time.Duration(w.gaps[k].Load())
	}
	return 0
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

func seedOf(id uuid.UUID) uint64 {
	var seed uint64
	for _, b := range id {
		seed = seed*0x100000001b3 ^ uint64(b)
	}
	return seed | 1
}

func duration(d protocol.Duration) time.Duration { return time.Duration(d) }
