package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// DefaultGrace is how long a child may take to end after SIGTERM unless it is told otherwise.
// The smallest graces that platforms allow are five seconds.
const DefaultGrace = time.Second

// Scope is what a child belongs to: a *worker.Scope.
type Scope interface {
	OnAbort(undo func(ctx context.Context) error)
}

// listener is a Scope that measures how seldom its handler looks at its context: while it waits
// for a child it does so all the time.
type listener interface {
	Listen() (done func())
}

// Cmd is a child process, as in package os/exec. It can be used once.
type Cmd struct {
	Path string   // of the program
	Args []string // with the name; what the program sees as its arguments
	Dir  string   // the worker's
	Env  []string // the worker's

	Stdin          io.Reader // nothing
	Stdout, Stderr io.Writer // nobody

	// Grace is how long the child may take to end after SIGTERM. It is part of the gap between
	// two looks at the context that the kind declares: the handler returns so much later.
	Grace time.Duration // DefaultGrace

	ctx     context.Context
	scope   Scope
	lookErr error
	child   *child
	gone    chan struct{} // closed when nothing is left; result is set by then
	result  result
	mu      sync.Mutex
	stopped bool // SIGTERM was sent because of ctx or the scope
}

// result is how a child ended.
type result struct {
	status int // the exit status, -1 when a signal ended it
	signal string
	err    error // nothing is known of it
}

// ExitError reports that a child did not end with status 0.
type ExitError struct {
	Name   string
	Status int    // -1 when a signal ended it
	Signal string // the signal's name, or empty
}

func (e *ExitError) Error() string {
	if e.Signal != "" {
		return fmt.Sprintf("proc: %s was ended by a signal: %s", e.Name, e.Signal)
	}
	return fmt.Sprintf("proc: %s ended with status %d", e.Name, e.Status)
}

// Command returns a child of the job that ctx and scope belong to. name is looked up as in
// package os/exec.
func Command(ctx context.Context, scope Scope, name string, args ...string) *Cmd {
	found := exec.Command(name, args...)
	return &Cmd{Path: found.Path, Args: found.Args, Grace: DefaultGrace, ctx: ctx, scope: scope, lookErr: found.Err, gone: make(chan struct{})}
}

// Run starts the child and waits for it.
func (c *Cmd) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	return c.Wait()
}

// Start starts the child. It returns the cause when ctx is done already. A handler waits for
// what it has started; the scope ends what it does not wait for.
func (c *Cmd) Start() error {
	switch {
	case c.child != nil:
		return errors.New("proc: the command was started before; make a new one")
	case c.lookErr != nil:
		return fmt.Errorf("proc: %w", c.lookErr)
	case c.ctx.Err() != nil:
		return context.Cause(c.ctx)
	}
	child, err := start(c)
	if err != nil {
		return fmt.Errorf("proc: %w", err)
	}
	c.child = child
	c.scope.OnAbort(c.abort)
	go func() {
		defer close(c.gone)
		c.result = child.wait()
	}()
	go c.obey()
	return nil
}

// PID is the child's process id.
func (c *Cmd) PID() int { return c.child.pid }

// Wait returns when the child and all that descends from it are gone: nil for exit status 0,
// an *ExitError otherwise. When it was told to end because ctx was cancelled, the error is
// the cause, whatever the child made of it, with the *ExitError beside it if there is one.
func (c *Cmd) Wait() error {
	if c.child == nil {
		return errors.New("proc: the command was not started")
	}
	if l, ok := c.scope.(listener); ok {
		defer l.Listen()()
	}
	<-c.gone
	err := c.result.err
	if err == nil && (c.result.status != 0 || c.result.signal != "") {
		err = &ExitError{Name: filepath.Base(c.Path), Status: c.result.status, Signal: c.result.signal}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.stopped || c.ctx.Err() == nil:
		return err
	case err == nil:
		return context.Cause(c.ctx)
	default:
		return fmt.Errorf("%w (%w)", context.Cause(c.ctx), err)
	}
}

// obey ends the child when ctx is cancelled.
func (c *Cmd) obey() {
	select {
	case <-c.gone:
	case <-c.ctx.Done():
		c.terminate()
		grace := time.NewTimer(c.Grace)
		defer grace.Stop()
		select {
		case <-c.gone:
		case <-grace.C:
			c.child.kill()
		}
	}
}

func (c *Cmd) terminate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.gone: // it has ended by itself
	default:
		if !c.stopped {
			c.stopped = true
			c.child.terminate()
		}
	}
}

// abort is the undo of a handler that did not wait: the child gets half of the time that is
// left for undo, so that the hooks before it have some too.
func (c *Cmd) abort(ctx context.Context) error {
	c.terminate()
	half := c.Grace
	if by, ok := ctx.Deadline(); ok {
		half = min(half, time.Until(by)/2)
	}
	patience := time.NewTimer(half)
	defer patience.Stop()
	select {
	case <-c.gone:
		return nil
	case <-patience.C:
		c.child.kill()
	}
	select {
	case <-c.gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("proc: %s (process %d) cannot be killed", c.Path, c.child.pid)
	}
}
