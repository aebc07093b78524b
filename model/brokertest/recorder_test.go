package brokertest

import (
	"context"
	"fmt"
	"runtime"
	"sync"
)

// recorder is a TB that remembers how a check ended.
type recorder struct {
	name   string
	ctx    context.Context
	mu     sync.Mutex
	log    []string
	failed bool
	skip   bool
	undo   []func()
}

// record runs a check to its end.
func record(ctx context.Context, c check, open Open) *recorder {
	ctx, cancel := context.WithCancel(ctx)
	r := &recorder{name: c.name, ctx: ctx}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			cancel()
			for i := len(r.undo) - 1; i >= 0; i-- {
				r.undo[i]()
			}
		}()
		c.check(r, open)
	}()
	<-done
	return r
}

func (r *recorder) end(failed, skip bool, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed, r.skip = r.failed || failed, r.skip || skip
	r.log = append(r.log, text)
}

func (r *recorder) Helper()                  {}
func (r *recorder) Name() string             { return r.name }
func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.undo = append(r.undo, f)
}
func (r *recorder) Log(a ...any)            { r.end(false, false, fmt.Sprint(a...)) }
func (r *recorder) Logf(f string, a ...any) { r.end(false, false, fmt.Sprintf(f, a...)) }
func (r *recorder) Error(a ...any)          { r.end(true, false, fmt.Sprint(a...)) }
func (r *recorder) Errorf(f string, a ...any) {
	r.end(true, false, fmt.Sprintf(f, a...))
}
func (r *recorder) Fatal(a ...any)            { r.Error(a...); runtime.Goexit() }
func (r *recorder) Fatalf(f string, a ...any) { r.Errorf(f, a...); runtime.Goexit() }
func (r *recorder) Skip(a ...any)             { r.end(false, true, fmt.Sprint(a...)); runtime.Goexit() }
func (r *recorder) Skipf(f string, a ...any) {
	r.end(false, true, fmt.Sprintf(f, a...))
	runtime.Goexit()
}
func (r *recorder) SkipNow() { r.end(false, true, ""); runtime.Goexit() }
func (r *recorder) Fail()    { r.end(true, false, "") }
func (r *recorder) FailNow() { r.Fail(); runtime.Goexit() }
func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}
