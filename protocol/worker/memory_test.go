package worker

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// bubbleClock reads the time package, which testing/synctest fakes.
type bubbleClock struct{ start time.Time }

func (c bubbleClock) Now() protocol.Instant { return protocol.Instant(time.Since(c.start)) }
func (c bubbleClock) NewTimer(at protocol.Instant) Timer {
	return systemTimer{time.NewTimer(time.Duration(at.Sub(c.Now())))}
}

// memoryBroker is the reference broker behind the Broker port: what package model specifies
// is what the worker is tested against.
type memoryBroker struct {
	mu      sync.Mutex
	clock   bubbleClock
	broker  *model.Broker
	out     model.Outbox
	waiting map[waitKey]chan []protocol.Event
	seats   map[string]int32
	lives   map[Life]model.Member
	members map[uint64]model.Member
	payload map[protocol.JobKey]string
	cursors map[protocol.Cursor][]byte
	kinds   []string
	timer   *time.Timer
	down    bool // every call fails
	claims  int
	facts   []model.Fact
}

type waitKey struct {
	incarnation, seq uint64
}

var errDown = errors.New("the broker is down")

func newMemoryBroker(clock bubbleClock, kinds ...string) *memoryBroker {
	cfg := &model.BrokerConfig{
		Lease: 30 * protocol.Second, Park: 20 * protocol.Second, MaxFailures: 5, Poison: 3, Starving: 10,
		Backoff: protocol.Backoff{Min: protocol.Second, Max: protocol.Minute}, MaxMessageAge: protocol.Hour,
	}
	return &memoryBroker{
		clock: clock, broker: model.NewBroker(cfg, 64, 16), kinds: kinds,
		waiting: map[waitKey]chan []protocol.Event{}, seats: map[string]int32{}, lives: map[Life]model.Member{},
		members: map[uint64]model.Member{}, payload: map[protocol.JobKey]string{}, cursors: map[protocol.Cursor][]byte{},
	}
}

func (b *memoryBroker) enqueue(job protocol.JobKey, payload string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.payload[job] = payload
	b.broker.Enqueue(b.clock.Now(), job, 0, 1, 0, &b.out)
	b.flush()
}

func (b *memoryBroker) job(job protocol.JobKey) model.JobRow {
	b.mu.Lock()
	defer b.mu.Unlock()
	return *b.broker.Job(job)
}

func (b *memoryBroker) setDown(down bool) {
	b.mu.Lock()
	b.down = down
	b.mu.Unlock()
}

// handle carries an effect out and returns the events that answer it at once.
func (b *memoryBroker) handle(who model.Member, e protocol.Effect) ([]protocol.Event, error) {
	if b.down {
		return nil, errDown
	}
	b.broker.Handle(b.clock.Now(), model.Request{From: who, Effect: e}, &b.out)
	return b.flush(), nil
}

// flush hands answers to who waits for them and returns the others.
func (b *memoryBroker) flush() []protocol.Event {
	var direct []protocol.Event
	for _, a := range b.out.Answers {
		direct = append(direct, a.Event)
		if a.More {
			continue
		}
		if a.Event.Kind == protocol.ClaimAnswered {
			key := waitKey{a.To.Incarnation, a.Event.Seq}
			if c := b.waiting[key]; c != nil {
				c <- direct
				delete(b.waiting, key)
				direct = nil
			}
		}
	}
	b.facts = append(b.facts, b.out.Facts...)
	b.out.Reset()
	if b.timer != nil {
		b.timer.Stop()
	}
	if at := b.broker.Deadline(); at != protocol.Never {
		b.timer = time.AfterFunc(time.Duration(max(at.Sub(b.clock.Now()), 0)), func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.broker.Tick(b.clock.Now(), &b.out)
			b.flush()
		})
	}
	return direct
}

func (b *memoryBroker) Register(_ context.Context, life Life) (uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m, ok := b.lives[life]
	if !ok {
		if _, ok := b.seats[life.Seat]; !ok {
			b.seats[life.Seat] = int32(len(b.seats))
		}
		m = model.Member{Seat: b.seats[life.Seat], Nonce: uint64(len(b.lives) + 1), Generation: life.Generation}
	}
	events, err := b.handle(m, protocol.Effect{Kind: protocol.Register})
	if err != nil {
		return 0, err
	}
	m.Incarnation = events[0].Seq
	b.lives[life], b.members[m.Incarnation] = m, m
	return m.Incarnation, nil
}

func (b *memoryBroker) Going(_ context.Context, incarnation uint64, _ string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := b.handle(b.members[incarnation], protocol.Effect{Kind: protocol.Going})
	return err
}

func (b *memoryBroker) Claim(ctx context.Context, req ClaimRequest) (ClaimAnswer, error) {
	b.mu.Lock()
	b.claims++
	answered := make(chan []protocol.Event, 1)
	key := waitKey{req.Incarnation, req.Seq}
	b.waiting[key] = answered
	_, err := b.handle(b.members[req.Incarnation], protocol.Effect{Kind: protocol.Claim, Seq: req.Seq, Want: int32(req.Want)})
	b.mu.Unlock()
	if err != nil {
		return ClaimAnswer{}, err
	}
	select {
	case events := <-answered:
		return b.grants(events)
	case <-ctx.Done():
		return ClaimAnswer{}, ctx.Err()
	}
}

func (b *memoryBroker) grants(events []protocol.Event) (ClaimAnswer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var a ClaimAnswer
	for _, ev := range events {
		a.Parked = time.Duration(ev.Span)
		switch {
		case ev.Kind == protocol.Granted:
			g := Grant{Job: ev.Job, Token: ev.Token, Kind: b.kinds[ev.JobKind], Version: ev.Version, Payload: []byte(b.payload[ev.Job])}
			if row := b.broker.Job(ev.Job); row != nil {
				g.Cursor = b.cursors[row.Cursor]
			}
			a.Grants = append(a.Grants, g)
		case ev.Code == protocol.Refused:
			return a, ErrRefused
		}
	}
	return a, nil
}

func (b *memoryBroker) Withdraw(_ context.Context, incarnation uint64, _ string, seq uint64) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	events, err := b.handle(b.members[incarnation], protocol.Effect{Kind: protocol.Withdraw, Seq: seq})
	if err != nil {
		return 0, err
	}
	return int(events[len(events)-1].Count), nil
}

// keep stores cursor bytes under a handle of the broker's own.
func (b *memoryBroker) keep(cursor []byte) protocol.Cursor {
	if cursor == nil {
		return 0
	}
	handle := protocol.Cursor(len(b.cursors) + 1)
	b.cursors[handle] = cursor
	return handle
}

func (b *memoryBroker) Renew(_ context.Context, renewals []Renewal) ([]protocol.Code, error) {
	return b.extend(protocol.Renew, renewals)
}

func (b *memoryBroker) Save(_ context.Context, save Renewal) (protocol.Code, error) {
	codes, err := b.extend(protocol.Save, []Renewal{save})
	if err != nil {
		return protocol.Unknown, err
	}
	return codes[0], nil
}

func (b *memoryBroker) extend(kind protocol.EffectKind, renewals []Renewal) ([]protocol.Code, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	codes := make([]protocol.Code, len(renewals))
	for i, r := range renewals {
		events, err := b.handle(model.Member{}, protocol.Effect{Kind: kind, Job: r.Job, Token: r.Token, Cursor: b.keep(r.Cursor)})
		if err != nil {
			return nil, err
		}
		codes[i] = events[0].Code
	}
	return codes, nil
}

func (b *memoryBroker) Settle(_ context.Context, settlements []Settlement) ([]protocol.Code, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	codes := make([]protocol.Code, len(settlements))
	for i, s := range settlements {
		events, err := b.handle(model.Member{}, protocol.Effect{Kind: protocol.Settle, Job: s.Job, Token: s.Token, Verb: s.Verb, Reason: s.Reason, Span: protocol.Duration(s.Delay), Cursor: b.keep(s.Cursor)})
		if err != nil {
			return nil, err
		}
		codes[i] = events[0].Code
	}
	return codes, nil
}

func (b *memoryBroker) Capabilities() Capabilities { return Capabilities{} }
