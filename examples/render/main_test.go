//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/quiesce/quiesce/protocol/worker"
	"github.com/quiesce/quiesce/realworld/proc"
)

// roleVar says what this binary is when it was started by a test: the command render, or the
// worker of it with handlers that behave oddly besides.
const (
	roleVar = "RENDER_TEST_ROLE"
	goVar   = "RENDER_TEST_GO" // a file: once it is there, handlers that wait for the test go on
)

func TestMain(m *testing.M) {
	role := os.Getenv(roleVar)
	switch {
	case role == "odd" && os.Args[1] != "draw":
		c, _, err := parse("work", os.Args[1:])
		if err != nil {
			fmt.Println(err)
			os.Exit(2)
		}
		os.Exit(work(c, odd))
	case role != "":
		os.Exit(run(os.Args[1:]))
	}
	os.Setenv(roleVar, "render") // for the children of handlers that run in this process
	os.Exit(m.Run())
}

// odd are the handlers of the example and some that are no example. Each says when it starts.
func odd(r *renderer) *worker.Mux {
	mux := handlers(r)
	handle := func(kind string, h worker.Handler, options ...worker.KindOption) {
		mux.Handle(kind, func(ctx context.Context, job *worker.Job) error {
			say("started", kind, job.Key)
			return h(ctx, job)
		}, append(options, worker.Gap(100*time.Millisecond))...)
	}
	handle("patient", func(ctx context.Context, job *worker.Job) error { return await(ctx, job) })
	handle("deaf", func(context.Context, *worker.Job) error { select {} })
	handle("panicking", func(ctx context.Context, job *worker.Job) error {
		if err := await(ctx, job); err != nil {
			return err
		}
		panic("oh")
	})
	handle("stuck", func(ctx context.Context, job *worker.Job) error {
		job.Scope.OnAbort(func(context.Context) error { select {} })
		return await(ctx, job)
	}, worker.Undo(300*time.Millisecond))
	handle("obliging", func(ctx context.Context, job *worker.Job) error {
		_ = await(ctx, job)
		return nil
	})
	handle("hydra", grow)
	handle("family", func(ctx context.Context, job *worker.Job) error {
		dir, err := job.Scope.TempDir()
		if err != nil {
			return err
		}
		cmd := proc.Command(ctx, job.Scope, "sh", "-c",
			`trap '' TERM; (trap '' TERM; sleep 1000; sleep 1000) & echo a family in $0; wait; sleep 1000`, dir)
		cmd.Stdout = os.Stdout
		cmd.Grace = 50 * time.Millisecond
		return cmd.Run()
	})
	return mux
}

// say prints a line with the time at its end, in one write.
func say(words ...any) { fmt.Println(append(words, time.Now().UnixNano())...) }

// await returns when the test says go, or with the cause of a cancellation.
func await(ctx context.Context, job *worker.Job) error {
	for {
		if _, err := os.Stat(os.Getenv(goVar)); err == nil {
			return nil
		}
		if err := job.Sleep(ctx, 5*time.Millisecond); err != nil {
			say("cancelled", job.Key, err)
			return err
		}
	}
}
