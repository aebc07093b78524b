package memory

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

var _ worker.Reconnector = (*Broker)(nil)

// refusal is why a call does nothing.
func (b *Broker) refusal(ctx context.Context) error {
	if b.err != nil {
		return b.err
	}
	return ctx.Err()
}

// Register is worker.Broker's.
func (b *Broker) Register(ctx context.Context, life worker.Life) (uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.refusal(ctx); err != nil {
		return 0, err
	}
	if i := slices.IndexFunc(b.lives, func(m member) bool { return m.Life == life }); i >= 0 {
		return b.lives[i].Incarnation, nil
	}
	seat, known := b.seats[life.Seat]
	if !known {
		if len(b.seats) == seats {
			return 0, fmt.Errorf("memory: more than %d seats: %w", seats, worker.ErrRefused)
		}
		seat = int32(len(b.seats))
		b.seats[life.Seat] = seat
	}
	n := uint64(len(b.lives) + 1)
	m := member{life, model.Member{Seat: seat, Nonce: n, Incarnation: n, Generation: life.Generation}}
	b.lives = append(b.lives, m)
	for _, q := range b.queues {
		b.introduce(q, &b.lives[n-1])
		q.refuse(func(r request) bool { return b.forgotten(r.incarnation) })
	}
	return n, nil
}

// forgotten reports whether two lives of its seat came after an incarnation: the model
// remembers no more of a seat.
func (b *Broker) forgotten(incarnation uint64) bool {
	newer := 0
	for _, m := range b.lives[incarnation:] {
		if m.Member.Seat == b.lives[incarnation-1].Member.Seat {
			newer++
		}
	}
	return newer >= 2
}

// Going is worker.Broker's.
func (b *Broker) Going(ctx context.Context, incarnation uint64, queue string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.refusal(ctx); err != nil {
		return err
	}
	q := b.queue(queue)
	q.model.Handle(b.now(), model.Request{From: b.life(incarnation), Effect: protocol.Effect{Kind: protocol.Going}}, &q.out)
	b.flush(q)
	return nil
}

// Withdraw is worker.Broker's.
func (b *Broker) Withdraw(ctx context.Context, incarnation uint64, queue string, seq uint64) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.refusal(ctx); err != nil {
		return 0, err
	}
	q := b.queue(queue)
	q.model.Handle(b.now(), model.Request{From: b.life(incarnation), Effect: protocol.Effect{Kind: protocol.Withdraw, Seq: seq}}, &q.out)
	closed := b.flush(q)[0]
	q.refuse(func(r request) bool { return r.incarnation == incarnation && r.seq <= seq })
	b.alarm(b.deadline())
	return int(closed.Count), nil
}

// Renew is worker.Broker's.
func (b *Broker) Renew(ctx context.Context, renewals []worker.Renewal) ([]protocol.Code, error) {
	return b.extend(ctx, protocol.Renew, renewals)
}

// Save is worker.Broker's.
func (b *Broker) Save(ctx context.Context, save worker.Renewal) (protocol.Code, error) {
	codes, err := b.extend(ctx, protocol.Save, []worker.Renewal{save})
	if err != nil {
		return protocol.Unknown, err
	}
	return codes[0], nil
}

func (b *Broker) extend(ctx context.Context, kind protocol.EffectKind, renewals []worker.Renewal) ([]protocol.Code, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.refusal(ctx); err != nil {
		return nil, err
	}
	codes := make([]protocol.Code, len(renewals))
	for i, r := range renewals {
		codes[i] = b.about(protocol.Effect{Kind: kind, Job: r.Job, Token: r.Token}, r.Cursor)
	}
	b.alarm(b.deadline())
	return codes, nil
}

// Settle is worker.Broker's.
func (b *Broker) Settle(ctx context.Context, settlements []worker.Settlement) ([]protocol.Code, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.refusal(ctx); err != nil {
		return nil, err
	}
	codes := make([]protocol.Code, len(settlements))
	for i, s := range settlements {
		codes[i] = b.about(protocol.Effect{
			Kind: protocol.Settle, Job: s.Job, Token: s.Token, Verb: s.Verb, Reason: s.Reason, Span: protocol.Duration(s.Delay),
		}, s.Cursor)
	}
	b.alarm(b.deadline())
	return codes, nil
}

// about gives the model something about a claim, and keeps the cursor that came with it if
// the model took it.
func (b *Broker) about(e protocol.Effect, cursor []byte) protocol.Code {
	j := b.jobs[e.Job]
	if j == nil {
		return protocol.Stale
	}
	if row := j.queue.model.Job(e.Job); row != nil && cursor != nil {
		e.Cursor = row.Cursor + 1
	}
	j.queue.model.Handle(b.now(), model.Request{Effect: e}, &j.queue.out)
	if row := j.queue.model.Job(e.Job); row != nil && e.Cursor != 0 && row.Cursor == e.Cursor {
		j.cursor = bytes.Clone(cursor)
	}
	return b.flush(j.queue)[0].Code
}

// Capabilities is worker.Broker's: this one can do everything, and knows its lease.
func (b *Broker) Capabilities() worker.Capabilities {
	return worker.Capabilities{Lease: time.Duration(b.cfg.Lease)}
}

// OnReconnect is worker.Reconnector's: the way is there again when Fail ends and after a failover.
func (b *Broker) OnReconnect(heard func()) (forget func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hearers++
	n := b.hearers
	b.heard[n] = heard
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.heard, n)
	}
}
