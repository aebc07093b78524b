package worker_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/quiesce/quiesce/model/memory"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// A job that writes a file, on a worker that is told to stop while the job runs.
func Example() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	broker := memory.New(memory.Config{Lease: 30 * time.Second}) // yours talks to your queue
	defer broker.Close()
	signals := make(chan protocol.Event) // realworld.Signals() in production

	mux := worker.NewMux()
	mux.Handle("render", func(ctx context.Context, job *worker.Job) error {
		f, err := job.Scope.Stage(filepath.Join(dir, "frame.png")) // never seen half written
		if err != nil {
			return err
		}
		defer f.Close()
		go func() { signals <- protocol.StopBySignal(protocol.SIGTERM, protocol.Never) }()
		<-job.Draining() // SIGTERM came; there is time to finish
		if err := job.Checkpoint(ctx); err != nil {
			return err
		}
		_, err = fmt.Fprintf(f, "frame of %s", job.Payload)
		return err
	}, worker.Versions(1, 1))

	w, err := worker.New(broker, mux, worker.Options{Grace: 30 * time.Second, Lease: 30 * time.Second, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		panic(err)
	}
	broker.Enqueue("default", "render", 1, []byte("film 7"))
	fmt.Println("exit:", w.Run(context.Background(), signals))
	frame, err := os.ReadFile(filepath.Join(dir, "frame.png"))
	fmt.Printf("%s, %v\n", frame, err)
	// Output:
	// exit: <nil>
	// frame of film 7, <nil>
}
