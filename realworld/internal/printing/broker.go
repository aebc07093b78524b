// Package printing is a broker for tests with real processes: it hands out numbered jobs and
// prints what it is told, so that a test on the other side of a pipe can follow.
package printing

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// Broker hands out the jobs 1 to Jobs, of kind "wait", each once.
type Broker struct {
	Jobs int
	Out  io.Writer

	mu   sync.Mutex
	next int
}

var _ worker.Broker = (*Broker)(nil)

func (b *Broker) say(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fmt.Fprintf(b.Out, format+"\n", args...)
}

// Register always gives out incarnation 7.
func (b *Broker) Register(context.Context, worker.Life) (uint64, error) { return 7, nil }

// Going prints "going".
func (b *Broker) Going(context.Context, uint64, string) error {
	b.say("going")
	return nil
}

// Claim hands out a job, or waits for one that never comes.
func (b *Broker) Claim(ctx context.Context, req worker.ClaimRequest) (worker.ClaimAnswer, error) {
	b.mu.Lock()
	if b.next < b.Jobs {
		b.next++
		n := b.next
		b.mu.Unlock()
		return worker.ClaimAnswer{Grants: []worker.Grant{{Job: protocol.JobKey(n), Token: protocol.Token(n), Kind: "wait"}}}, nil
	}
	b.mu.Unlock()
	park := time.NewTimer(req.Park)
	defer park.Stop()
	select {
	case <-ctx.Done():
		return worker.ClaimAnswer{}, ctx.Err()
	case <-park.C:
		return worker.ClaimAnswer{Parked: req.Park}, nil
	}
}

// Withdraw takes nothing back.
func (b *Broker) Withdraw(context.Context, uint64, string, uint64) (int, error) { return 0, nil }

// Renew extends everything.
func (b *Broker) Renew(_ context.Context, renewals []worker.Renewal) ([]protocol.Code, error) {
	return allOK(len(renewals)), nil
}

// Save stores everything.
func (b *Broker) Save(context.Context, worker.Renewal) (protocol.Code, error) {
	return protocol.OK, nil
}

// Settle prints the verb and the job.
func (b *Broker) Settle(_ context.Context, settlements []worker.Settlement) ([]protocol.Code, error) {
	for _, s := range settlements {
		b.say("%v %d", s.Verb, s.Job)
	}
	return allOK(len(settlements)), nil
}

// Capabilities are all there are.
func (b *Broker) Capabilities() worker.Capabilities { return worker.Capabilities{} }

func allOK(n int) []protocol.Code {
	codes := make([]protocol.Code, n)
	for i := range codes {
		codes[i] = protocol.OK
	}
	return codes
}
