package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/quiesce/quiesce/protocol"
)

// Process is everything in one process that somebody else would wait for if it just
// vanished: workers, and tasks such as the leader of a scheduler, a mover of delayed jobs, a
// reaper. They share one budget and one stop, which reaches all of them at once, so a leader
// resigns while the workers still finish their jobs. The first component to end takes the
// others along: what is left of a process should not look like a whole one.
type Process struct {
	Workers []*Worker
	Tasks   []Task
	Grace   time.Duration // as in Options; that of the workers if there are any
	Logger  *slog.Logger  // slog.Default
	Clock   Clock         // the system's
}

// Task is a component that is not a worker, told twice like a handler. stop is closed at the
// first stop: a leader resigns, a mover finishes its batch, a reaper returns. ctx is
// cancelled with ErrDraining when the budget has no more time for it, or ErrHurry, and with
// nothing at the stop, so that what it has to say at the end can still be said.
//
// A task that returns an error after the stop holds something still, which is status 4; one
// that ends before with an error, or panics, is broken, which is status 1; and one that does
// not return is status 3. An *ExitError chooses another status.
type Task struct {
	Name string
	Run  func(ctx context.Context, stop <-chan struct{}) error
}

// Run runs every component until all have come to rest. A done ctx is a stop, and signals
// are those of Worker.Run; each reaches every component. It returns nil when nothing is
// held, and otherwise an *ExitError with the worst of the statuses (5, 3, 4, 1) that wraps
// what each component said.
func (p *Process) Run(ctx context.Context, signals <-chan protocol.Event) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	results := &outcome{}
	parts := append([]*Worker(nil), p.Workers...)
	if len(p.Tasks) > 0 {
		tasks, err := p.taskWorker(stop, results)
		if err != nil {
			return err
		}
		parts = append(parts, tasks)
	}
	if len(parts) == 0 {
		return errors.New("worker: a process needs a worker or a task")
	}
	if err := sameGrace(parts); err != nil {
		return err
	}
	spread(ctx, stop, parts, signals, results)
	return results.err()
}

// spread runs the parts and hands every signal to each of them.
func spread(ctx context.Context, stop func(), parts []*Worker, signals <-chan protocol.Event, results *outcome) {
	outlets := make([]chan protocol.Event, len(parts))
	gone := make([]chan struct{}, len(parts))
	var running sync.WaitGroup
	for i, w := range parts {
		outlets[i], gone[i] = make(chan protocol.Event), make(chan struct{})
		running.Go(func() {
			defer stop()
			defer close(gone[i])
			if err := w.Run(ctx, outlets[i]); err != nil {
				results.add(ExitStatus(err), fmt.Errorf("%s: %w", w.life.Seat, err))
			}
		})
	}
	all := make(chan struct{})
	go func() {
		running.Wait()
		close(all)
	}()
	for {
		select {
		case <-all:
			return
		case ev, open := <-signals:
			if !open {
				signals = nil
				continue
			}
			for i := range outlets {
				select {
				case outlets[i] <- ev:
				case <-gone[i]:
				}
			}
		}
	}
}

// sameGrace refuses parts that believe in different supervisors.
func sameGrace(parts []*Worker) error {
	for _, w := range parts[1:] {
		if first := parts[0]; w.cfg.Grace != first.cfg.Grace {
			return fmt.Errorf("worker: %s has a grace of %v and %s of %v; one process has one supervisor, and one grace",
				first.life.Seat, first.cfg.Grace, w.life.Seat, w.cfg.Grace)
		}
	}
	return nil
}

// taskWorker makes the tasks the jobs of a worker of their own, so that what a stop means to
// them, and when, is decided by the same machine as everything else.
func (p *Process) taskWorker(stop func(), results *outcome) (*Worker, error) {
	opt := Options{Seat: "tasks", Slots: len(p.Tasks), Grace: p.Grace, Lease: eternity, Logger: p.Logger, Clock: p.Clock}
	if len(p.Workers) > 0 {
		opt.Grace, opt.Reserve = p.Workers[0].opt.Grace, p.Workers[0].opt.Reserve
	}
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	mux := NewMux()
	for _, t := range p.Tasks {
		if t.Name == "" || t.Run == nil {
			return nil, fmt.Errorf("worker: task %q needs a name and a function", t.Name)
		}
		mux.Handle(t.Name, t.handler(stop, results), Undo(0), Gap(min(time.Second, opt.Grace/4)))
	}
	return New(&taskBroker{tasks: p.Tasks}, mux, opt)
}

// eternity is the lease of what nobody else can claim.
const eternity = 50 * 365 * 24 * time.Hour

// handler runs a task as a job.
func (t Task) handler(stop func(), results *outcome) Handler {
	return func(ctx context.Context, job *Job) error {
		err := errGoexit
		defer func() {
			if p := recover(); p != nil {
				err = &PanicError{Value: p}
			}
			defer stop()
			if err == nil {
				return
			}
			status := protocol.ExitUnsettled
			var exit *ExitError
			var panicked *PanicError
			select {
			case <-job.Draining():
			default:
				status = protocol.ExitRefused
			}
			if errors.As(err, &panicked) || err == errGoexit {
				status = protocol.ExitRefused
			}
			if errors.As(err, &exit) {
				status = exit.Status
			}
			results.add(status, fmt.Errorf("task %s: %w", t.Name, err))
		}()
		err = t.Run(ctx, job.Draining())
		return nil
	}
}

// outcome gathers what the components of a process said at their end.
type outcome struct {
	mu     sync.Mutex
	status int
	errs   []error
}

func (o *outcome) add(status int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.errs = append(o.errs, err)
	if rank(status) > rank(o.status) {
		o.status = status
	}
}

func (o *outcome) err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.status == protocol.ExitClean {
		return nil
	}
	return &ExitError{Status: o.status, Cause: errors.Join(o.errs...)}
}

// rank orders exit statuses: 5, 3, 4, 1, 0. What nobody knows is worse than 1.
func rank(status int) int {
	switch status {
	case protocol.ExitClean:
		return 0
	case protocol.ExitRefused:
		return 1
	case protocol.ExitUnsettled:
		return 3
	case protocol.ExitLeaked:
		return 4
	case protocol.ExitAtOnce:
		return 5
	default:
		return 2
	}
}

// taskBroker grants every task once, for good.
type taskBroker struct {
	tasks []Task
	once  sync.Once
}

func (*taskBroker) Register(context.Context, Life) (uint64, error) { return 1, nil }
func (*taskBroker) Going(context.Context, uint64, string) error    { return nil }
func (*taskBroker) Capabilities() Capabilities                     { return Capabilities{} }

func (b *taskBroker) Claim(ctx context.Context, _ ClaimRequest) (ClaimAnswer, error) {
	var a ClaimAnswer
	b.once.Do(func() {
		for i, t := range b.tasks {
			a.Grants = append(a.Grants, Grant{Job: protocol.JobKey(i + 1), Token: 1, Kind: t.Name})
		}
	})
	if len(a.Grants) == 0 {
		<-ctx.Done() // there are no others
	}
	return a, nil
}

func (*taskBroker) Withdraw(context.Context, uint64, string, uint64) (int, error) { return 0, nil }

func (*taskBroker) Renew(_ context.Context, r []Renewal) ([]protocol.Code, error) {
	return allOK(len(r)), nil
}

func (*taskBroker) Save(context.Context, Renewal) (protocol.Code, error) { return protocol.OK, nil }

func (*taskBroker) Settle(_ context.Context, s []Settlement) ([]protocol.Code, error) {
	return allOK(len(s)), nil
}

func allOK(n int) []protocol.Code {
	codes := make([]protocol.Code, n)
	for i := range codes {
		codes[i] = protocol.OK
	}
	return codes
}
