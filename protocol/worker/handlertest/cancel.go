package handlertest

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// Env is the world that a handler is tested in. The zero value will do for a handler that
// touches nothing but its scope.
type Env struct {
	Kind    string // "job"
	Version uint16
	Payload []byte

	// Dirs are where the handler puts files. What it has put there when it was interrupted
	// must be gone after its undo, except what a stored cursor stands for. Temporary
	// directories are looked after anyway.
	Dirs []string
	// Reset brings the world back to where no execution of the job has been.
	Reset func()
	// Done returns an error unless the job's work is done, whole, and done once. It is asked
	// whenever the handler has returned nil; without it a handler is believed that has come
	// as far as one that nobody cancels.
	Done func() error

	// StartsOver says that the handler saves no progress that it resumes from.
	StartsOver bool
	// Patience is how long a cancelled handler may take to return, its undo hooks to run, and
	// its goroutines to end; 5 s.
	Patience time.Duration
	// Points limits the places at which the handler is cancelled, spread evenly over those
	// that there are; 50. Each is tried with each cause.
	Points int
}

// causes are what a handler can be told.
var causes = []error{worker.ErrDraining, worker.ErrHurry, worker.ErrLeaseLost, worker.ErrTimeout, worker.ErrCancelled}

// CancelEverywhere runs the handler once without disturbing it, and then once for each place
// at which it can be cancelled and each cause. After each it checks that the handler has
// returned in time and legally, that its scope is empty and its undo succeeded, that no
// goroutine, file or directory is left, and that a second execution, which begins at the
// cursor that was stored, does the rest.
//
// It sets TMPDIR, so the test must not be parallel. A handler that does not return ends the
// test, since it runs on beside whatever would follow.
func CancelEverywhere(t testing.TB, h worker.Handler, env Env) {
	t.Helper()
	env = env.withDefaults()
	temp := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} { // Unix, Windows
		t.Setenv(name, temp)
	}
	c := &cancelling{t: t, h: h, env: env, dirs: append([]string{temp}, env.Dirs...)}
	whole, ok := c.undisturbed()
	if !ok {
		return
	}
	if len(whole.Points) == 0 {
		t.Errorf("the handler never looks whether it is cancelled: call Checkpoint or Sleep, and make what it makes in its scope")
		return
	}
	for _, noRenewal := range []bool{false, true} {
		if noRenewal && whole.Saves == 0 {
			break
		}
		for _, at := range spread(len(whole.Points), env.Points) {
			for _, cause := range causes {
				if !c.cancelled(whole, at, cause, noRenewal) {
					return
				}
			}
		}
	}
}

func (e Env) withDefaults() Env {
	if e.Kind == "" {
		e.Kind = "job"
	}
	if e.Patience == 0 {
		e.Patience = 5 * time.Second
	}
	if e.Points == 0 {
		e.Points = 50
	}
	if e.Reset == nil {
		e.Reset = func() {}
	}
	return e
}

// spread returns at most most of the numbers 1 to n, evenly, both ends included.
func spread(n, most int) []int {
	if n <= most || most < 2 {
		most = n
	}
	all := make([]int, 0, most)
	for i := range most {
		all = append(all, 1+i*(n-1)/max(most-1, 1))
	}
	return all
}

// cancelling is one call of CancelEverywhere.
type cancelling struct {
	t       testing.TB
	h       worker.Handler
	env     Env
	dirs    []string
	label   string // of the newest execution
	reports int
}

// enough reports are made before the rest is left alone.
const enough = 10

// undisturbed is the execution that nobody cancels.
func (c *cancelling) undisturbed() (worker.Performance, bool) {
	c.t.Helper()
	c.env.Reset()
	p := c.run(worker.Rehearsal{Grant: c.grant(1)})
	report := c.reporter("without being cancelled")
	switch {
	case !p.Returned:
		report("it did not return within %v", c.env.Patience)
		return p, false
	case p.Code != protocol.ReturnedNil:
		report("it returned %v; it must come to its end undisturbed", p.Err)
		return p, false
	}
	c.checkDone(report)
	c.checkLeft(report, p)
	return p, true
}

// cancelled is an execution that is cancelled, and the one after it. It reports whether
// others can follow.
func (c *cancelling) cancelled(whole worker.Performance, at int, cause error, noRenewal bool) bool {
	c.t.Helper()
	c.env.Reset()
	before := look(c.dirs)
	p := c.run(worker.Rehearsal{
		Grant: c.grant(1), CancelAt: at, Cause: cause, NoRenewal: noRenewal,
		Stored: func([]byte) { before = look(c.dirs) },
	})
	if len(p.Points) < at {
		return p.Returned // it went another way this time
	}
	report := c.reporter(fmt.Sprintf("cancelled at point %d of %d (%v) with %q", at, len(whole.Points), p.Points[at-1], cause))
	if !p.Returned {
		report("it did not return within %v; whatever it waits for must end with its context", c.env.Patience)
		return false
	}
	var panicked *worker.PanicError
	switch {
	case errors.As(p.Err, &panicked):
		report("it panicked: %v\n%s", panicked.Value, panicked.Stack)
	case p.Code == protocol.ReturnedPanic:
		report("%v", p.Err)
	case p.Code == protocol.ReturnedNil && c.env.Done == nil && len(p.Points) < len(whole.Points):
		report("it returned nil although it had come to %d points of %d: nil means that the job is done; return the cause", len(p.Points), len(whole.Points))
	case p.Code == protocol.ReturnedNil:
		c.checkDone(report)
	}
	if p.UndoErr != nil {
		report("its undo failed, which quarantines the job: %v", p.UndoErr)
	}
	c.checkLeft(report, p)
	if p.Code != protocol.ReturnedNil {
		if changes := before.changes(look(c.dirs), p.Made); len(changes) > 0 {
			report("it left behind what it had made outside of its scope: %v", changes)
		}
		c.second(report, whole, p, cause)
	}
	return c.reports < enough
}

// second is the execution after one that was interrupted.
func (c *cancelling) second(report reporter, whole, first worker.Performance, cause error) {
	c.t.Helper()
	g := c.grant(2)
	g.Cursor = first.Cursor
	g.Prior = worker.Prior{Token: 1, Reason: reason(cause)}
	p := c.run(worker.Rehearsal{Grant: g})
	switch {
	case !p.Returned:
		report("the next execution did not return within %v", c.env.Patience)
		return
	case p.Code != protocol.ReturnedNil:
		report("the next execution, from cursor %q, returned %v", g.Cursor, p.Err)
		return
	case !c.env.StartsOver && first.Stored > 0 && p.Saves > whole.Saves-first.Stored:
		report("the next execution began with cursor %q and saved progress %d times more, as if it had started over: one that nobody cancels saves %d times, and %d of those were stored",
			g.Cursor, p.Saves, whole.Saves, first.Stored)
	}
	c.checkDone(func(format string, args ...any) { report("after the next execution: "+format, args...) })
	c.checkLeft(report, p)
}

func reason(cause error) protocol.Reason {
	switch cause {
	case worker.ErrHurry:
		return protocol.BecauseHurry
	case worker.ErrLeaseLost:
		return protocol.BecauseExpired
	case worker.ErrTimeout:
		return protocol.NoReason
	case worker.ErrCancelled:
		return protocol.BecauseCancelled
	default:
		return protocol.BecauseDrain
	}
}

func (c *cancelling) grant(token protocol.Token) worker.Grant {
	return worker.Grant{Job: 1, Token: token, Kind: c.env.Kind, Version: c.env.Version, Payload: c.env.Payload}
}

// run performs a rehearsal under a label by which its goroutines can be told from others.
func (c *cancelling) run(r worker.Rehearsal) worker.Performance {
	c.label = newLabel()
	r.Patience = c.env.Patience
	var p worker.Performance
	labelled(c.label, func() { p = r.Run(c.t.Context(), c.h) })
	return p
}

func (c *cancelling) checkDone(report reporter) {
	if c.env.Done == nil {
		return
	}
	if err := c.env.Done(); err != nil {
		report("it returned nil and the job is not done: %v", err)
	}
}

// checkLeft reports goroutines and files that an execution has left behind.
func (c *cancelling) checkLeft(report reporter, p worker.Performance) {
	c.t.Helper()
	for _, path := range p.Left {
		report("%s is still there", path)
	}
	deadline := time.Now().Add(c.env.Patience)
	stacks := running(c.label)
	for pause := 50 * time.Microsecond; len(stacks) > 0 && time.Now().Before(deadline); pause = min(2*pause, 100*time.Millisecond) {
		runtime.Gosched()
		time.Sleep(pause)
		stacks = running(c.label)
	}
	for _, stack := range stacks {
		report("a goroutine is left:\n%s", stack)
	}
	if left := look(c.dirs[:1]).paths(); len(left) > 0 {
		report("%v is left in the temporary directory; make it with Scope.TempDir", left)
		for _, path := range left {
			_ = os.RemoveAll(path)
		}
	}
}

// reporter reports what is wrong about one execution.
type reporter func(format string, args ...any)

func (c *cancelling) reporter(where string) reporter {
	return func(format string, args ...any) {
		c.t.Helper()
		c.reports++
		c.t.Errorf("handler %s: %s", where, fmt.Sprintf(format, args...))
	}
}
