// Package memory is a job queue in memory: the reference broker of package model behind
// worker.Broker. It does what package model specifies and nothing else, so it is what other
// brokers are compared with, and what a worker or a handler can be tested on without a
// server.
//
//	broker := memory.New(memory.Config{Lease: 30 * time.Second})
//	defer broker.Close()
//	job := broker.Enqueue("default", "render", 1, []byte("film 7"))
//	w, err := worker.New(broker, mux, worker.Options{Grace: time.Minute})
//	...
//	row, _ := broker.Job(job)
//
// [New] takes the time from package time, which testing/synctest can fake. A [Fake] has a
// clock of its own, which only [Fake.Advance] moves.
//
// Nothing is stored and nobody else can reach it: a process that ends takes its queues along.
// It serves up to 256 seats, and grants up to 64 jobs per request.
package memory
