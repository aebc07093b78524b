package handlertest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol/worker"
	"github.com/quiesce/quiesce/protocol/worker/handlertest"
)

// frames is a film that is made of three frames, each saved, into one file each.
type frames struct{ dir string }

func (f frames) path(n int) string { return filepath.Join(f.dir, fmt.Sprintf("frame-%d", n)) }

func (f frames) render(ctx context.Context, job *worker.Job) error {
	scratch, err := job.Scope.TempDir()
	if err != nil {
		return err
	}
	_, err = worker.Acquire(job.Scope, func() (int, func() error, error) { return 1, func() error { return nil }, nil })
	if err != nil {
		return err
	}
	for n := len(job.Cursor); n < 3; n++ {
		if err := os.WriteFile(filepath.Join(scratch, "raw"), []byte("light"), 0o600); err != nil {
			return err
		}
		if err := job.Sleep(ctx, time.Minute); err != nil {
			return err
		}
		out, err := job.Scope.Stage(f.path(n))
		if err != nil {
			return err
		}
		if _, err := out.WriteString("frame"); err != nil {
			return err
		}
		if n == 1 {
			err = job.Flush(ctx, make([]byte, n+1))
		} else {
			job.Save(make([]byte, n+1))
		}
		if err != nil {
			return err
		}
	}
	return job.Checkpoint(ctx)
}

func (f frames) env() handlertest.Env {
	return handlertest.Env{
		Payload: []byte("film 7"), Dirs: []string{f.dir},
		Reset: func() {
			for n := range 3 {
				_ = os.Remove(f.path(n))
			}
		},
		Done: func() error {
			for n := range 3 {
				if _, err := os.Stat(f.path(n)); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// In bubbles no time passes while a busy machine is slow.
func TestAGoodHandlerPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := frames{t.TempDir()}
		handlertest.CancelEverywhere(t, f.render, f.env())
	})
}

func TestAHandlerThatWaitsForItsContextPassesInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		handlertest.CancelEverywhere(t, func(ctx context.Context, job *worker.Job) error {
			if err := job.Checkpoint(ctx); err != nil {
				return err
			}
			select {
			case <-time.After(time.Hour):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}, handlertest.Env{Patience: 2 * time.Hour})
		assert.Greater(t, time.Since(began), time.Hour, "of fake time")
	})
}

// recorder is a test that keeps what is reported.
type recorder struct {
	testing.TB
	reports []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.reports = append(r.reports, fmt.Sprintf(format, args...))
}

func (*recorder) Helper() {}

// Each handler makes the mistake in its name, and is reported for it.
func TestBadHandlersAreReported(t *testing.T) {
	type world struct {
		dir string
		end chan struct{} // of the test
	}
	for name, c := range map[string]struct {
		handler func(w world) worker.Handler
		want    string
	}{
		"swallows its context": {func(w world) worker.Handler {
			return func(ctx context.Context, job *worker.Job) error {
				if job.Checkpoint(ctx) != nil {
					<-w.end // it waits for something else
				}
				return nil
			}
		}, "did not return within"},
		"leaks a goroutine": {func(w world) worker.Handler {
			return func(ctx context.Context, job *worker.Job) error {
				done := make(chan error)
				go func() {
					select {
					case done <- errors.New("too late"):
					case <-w.end:
					}
				}()
				if err := job.Checkpoint(ctx); err != nil {
					return err // nobody takes it
				}
				<-done
				return nil
			}
		}, "a goroutine is left"},
		"makes its temporary directory by itself": {func(w world) worker.Handler {
			return func(ctx context.Context, job *worker.Job) error {
				dir, err := os.MkdirTemp("", "mine-")
				if err != nil {
					return err
				}
				if err := job.Checkpoint(ctx); err != nil {
					return err
				}
				return os.RemoveAll(dir)
			}
		}, "is left in the temporary directory"},
		"writes its file where it belongs": {func(w world) worker.Handler {
			return func(ctx context.Context, job *worker.Job) error {
				if err := os.WriteFile(filepath.Join(w.dir, "half"), []byte("ha"), 0o600); err != nil {
					return err
				}
				if err := job.Checkpoint(ctx); err != nil {
					return err
				}
				return os.WriteFile(filepath.Join(w.dir, "half"), []byte("half"), 0o600)
			}
		}, "half (new)"},
		"returns nil when it is cancelled": {func(w world) worker.Handler {
			return func(ctx context.Context, job *worker.Job) error {
				for range 3 {
					if job.Checkpoint(ctx) != nil {
						return nil
					}
				}
				return nil
			}
		}, "it returned nil although it had come to 1 points of 3"},
		"panics when it is cancelled": {func(w world) worker.Handler {
			return func(ctx context.Context, job *worker.Job) error {
				if err := job.Checkpoint(ctx); err != nil {
					panic(err)
				}
				return nil
			}
		}, "it panicked"},
		"ends its goroutine": {func(w world) worker.Handler {
			return func(ctx context.Context, job *worker.Job) error {
				if job.Checkpoint(ctx) != nil {
					runtime.Goexit()
				}
				return nil
			}
		}, "ended its goroutine without returning"},
		"has an undo that fails": {func(w world) worker.Handler {
			return func(ctx context.Context, job *worker.Job) error {
				job.Scope.OnAbort(func(context.Context) error { return errors.New("no way back") })
				return job.Checkpoint(ctx)
			}
		}, "no way back"},
		"has an undo that hangs": {func(w world) worker.Handler {
			return func(ctx context.Context, job *worker.Job) error {
				job.Scope.OnAbort(func(context.Context) error { <-w.end; return nil })
				return job.Checkpoint(ctx)
			}
		}, "its undo failed"},
		"starts over": {func(w world) worker.Handler {
			return func(ctx context.Context, job *worker.Job) error {
				for i := range 3 {
					job.Save([]byte{byte(i)})
					if err := job.Checkpoint(ctx); err != nil {
						return err
					}
				}
				return nil
			}
		}, "as if it had started over"},
		"cannot be begun again": {func(w world) worker.Handler {
			return func(ctx context.Context, job *worker.Job) error {
				if job.Token > 1 {
					return errors.New("the account exists")
				}
				return job.Checkpoint(ctx)
			}
		}, "the next execution, from cursor \"\", returned the account exists"},
		"never looks": {func(w world) worker.Handler {
			return func(context.Context, *worker.Job) error { return nil }
		}, "never looks whether it is cancelled"},
		"fails undisturbed": {func(w world) worker.Handler {
			return func(context.Context, *worker.Job) error { return errors.New("no disk") }
		}, "without being cancelled: it returned no disk"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := world{t.TempDir(), make(chan struct{})}
				defer close(w.end)
				r := &recorder{TB: t}
				handlertest.CancelEverywhere(r, c.handler(w), handlertest.Env{
					Dirs:  []string{w.dir},
					Reset: func() { _ = os.Remove(filepath.Join(w.dir, "half")) },
				})
				require.NotEmpty(t, r.reports)
				assert.Contains(t, strings.Join(r.reports, "\n"), c.want)
			})
		})
	}
}

// A job that is not done is noticed although its handler says that it is.
func TestAHandlerThatOnlySaysItIsDoneIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := frames{t.TempDir()}
		r := &recorder{TB: t}
		handlertest.CancelEverywhere(r, func(ctx context.Context, job *worker.Job) error {
			err := f.render(ctx, job)
			if errors.Is(err, worker.ErrTimeout) {
				return nil
			}
			return err
		}, f.env())
		require.NotEmpty(t, r.reports)
		assert.Contains(t, r.reports[0], "it returned nil and the job is not done")
	})
}
