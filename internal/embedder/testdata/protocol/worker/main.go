// The smallest program around the worker: its broker refuses it, and it says so.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

type closed struct{ worker.Broker }

func (closed) Capabilities() worker.Capabilities { return worker.Capabilities{} }

func (closed) Register(context.Context, worker.Life) (uint64, error) { return 0, worker.ErrRefused }

func main() {
	mux := worker.NewMux()
	mux.Handle("render", func(context.Context, *worker.Job) error { return nil }, worker.Versions(1, 1))
	w, err := worker.New(closed{}, mux, worker.Options{
		Grace: 30 * time.Second, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		panic(err)
	}
	err = w.Run(context.Background(), make(chan protocol.Event))
	fmt.Println(err, w.Status())
}
