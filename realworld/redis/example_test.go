package redis_test

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/quiesce/quiesce/protocol/worker"
	"github.com/quiesce/quiesce/realworld"
	"github.com/quiesce/quiesce/realworld/redis"
)

// Jobs are added one by one or many at once; each may have a version, a delay, a priority and a key
// that keeps a second one out.
func ExampleQueue_Enqueue() {
	ctx := context.Background()
	broker, err := redis.Open(ctx, redis.Options{URL: "redis://localhost:6379", Queues: []redis.QueueConfig{{Name: "default"}}})
	if err != nil {
		log.Fatal(err)
	}
	defer broker.Close()
	queue, err := broker.Queue("default")
	if err != nil {
		log.Fatal(err)
	}
	added, err := queue.Enqueue(ctx,
		redis.Job{Kind: "render", Version: 1, Payload: []byte(`{"film": "sunrise"}`), Unique: "film:sunrise"},
		redis.Job{Kind: "mail", Payload: []byte("it has begun"), Delay: time.Minute, Priority: 1},
	)
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range added {
		log.Print(a.Job, a.Existed)
	}
}

// A worker on it. The versions are those that its handler understands.
func Example() {
	broker, err := redis.Open(context.Background(), redis.Options{URL: os.Getenv("QUIESCE_REDIS"), Queues: []redis.QueueConfig{{Name: "default"}}})
	if err != nil {
		log.Fatal(err)
	}
	mux := worker.NewMux()
	mux.Handle("render", func(ctx context.Context, job *worker.Job) error { return job.Sleep(ctx, time.Second) }, worker.Versions(0, 1))
	w, err := worker.New(broker, mux, worker.Options{Slots: 10, Grace: 30 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	os.Exit(worker.ExitStatus(w.Run(context.Background(), realworld.Signals())))
}
