// Package shelf is a broker of jobs that are all there from the beginning, as fast as a broker
// can be: for tests and benchmarks of what looks on at a worker.
package shelf

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// Kind is that of the jobs.
const Kind = "render"

// Shelf is the broker.
type Shelf struct {
	payload []byte
	mu      sync.Mutex
	jobs    int // not granted yet
	settled atomic.Int64
	all     chan struct{} // closed when every job is settled
	want    int64
}

// New returns a broker with a number of jobs, numbered from 1 on. payload is what each carries,
// and its cursor, too.
func New(jobs int, payload []byte) *Shelf {
	return &Shelf{payload: payload, jobs: jobs, all: make(chan struct{}), want: int64(jobs)}
}

// Settled is closed when every job is settled.
func (s *Shelf) Settled() <-chan struct{} { return s.all }

// Work runs a worker until every job is settled, and stops it.
func (s *Shelf) Work(h worker.Handler, slots int, observers ...worker.Observer) error {
	mux := worker.NewMux()
	mux.Handle(Kind, h)
	w, err := worker.New(s, mux, worker.Options{
		Seat: "web-1", Slots: slots, Grace: 30 * time.Second, Observers: observers,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	left := make(chan error)
	go func() { left <- w.Run(ctx, nil) }()
	<-s.all
	stop()
	return <-left
}

// Register always gives out incarnation 7.
func (s *Shelf) Register(context.Context, worker.Life) (uint64, error) { return 7, nil }

// Going is not minded.
func (s *Shelf) Going(context.Context, uint64, string) error { return nil }

// Claim hands out what there is, or waits for more that never comes.
func (s *Shelf) Claim(ctx context.Context, req worker.ClaimRequest) (worker.ClaimAnswer, error) {
	s.mu.Lock()
	first, n := s.jobs, min(req.Want, s.jobs)
	s.jobs -= n
	s.mu.Unlock()
	if n == 0 {
		<-ctx.Done()
		return worker.ClaimAnswer{}, ctx.Err()
	}
	grants := make([]worker.Grant, n)
	for i := range grants {
		job := protocol.JobKey(first - i)
		grants[i] = worker.Grant{Job: job, Token: protocol.Token(job), Kind: Kind, Payload: s.payload, Cursor: s.payload}
	}
	return worker.ClaimAnswer{Grants: grants}, nil
}

// Withdraw takes nothing back.
func (s *Shelf) Withdraw(context.Context, uint64, string, uint64) (int, error) { return 0, nil }

// Renew extends everything.
func (s *Shelf) Renew(_ context.Context, r []worker.Renewal) ([]protocol.Code, error) {
	return codes(len(r)), nil
}

// Save stores nothing and says that it did.
func (s *Shelf) Save(context.Context, worker.Renewal) (protocol.Code, error) { return protocol.OK, nil }

// Settle counts.
func (s *Shelf) Settle(_ context.Context, all []worker.Settlement) ([]protocol.Code, error) {
	if s.settled.Add(int64(len(all))) == s.want {
		close(s.all)
	}
	return codes(len(all)), nil
}

// Capabilities are all there are.
func (s *Shelf) Capabilities() worker.Capabilities { return worker.Capabilities{} }

func codes(n int) []protocol.Code {
	c := make([]protocol.Code, n)
	for i := range c {
		c[i] = protocol.OK
	}
	return c
}
