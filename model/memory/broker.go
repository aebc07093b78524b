package memory

import (
	"sync"
	"time"

	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

const (
	seats = 256 // that may register
	slots = 64  // jobs granted to one request at most
)

// Config is what a broker is told once. What is zero has the default named beside it.
type Config struct {
	Lease       time.Duration  // 5 m, as the worker's
	OnExpiry    model.OnExpiry // Redeliver; for kinds of which the worker does not say QuarantineOnExpiry
	MaxFailures int            // a job that failed so often is dead-lettered; 0 is never
	Poison      int            // a job whose lease ran out so often in a row is dead-lettered; 0 is never
	Starving    int            // interruptions without progress that are a fact worth reporting; 0 is never
	BackoffMin  time.Duration  // delay after the first failure, doubled with each; 0 is none
	BackoffMax  time.Duration  // and no longer than this; at least BackoffMin
	Keep        time.Duration  // 1 h; how long a finished job's row answers late repeats
	Deviations  deviation.Set  // none; tests of this module see checks fail with them
}

func (c Config) model() *model.BrokerConfig {
	or := func(d time.Duration, otherwise protocol.Duration) protocol.Duration {
		if d == 0 {
			return otherwise
		}
		return protocol.Duration(d)
	}
	return &model.BrokerConfig{
		Lease:         or(c.Lease, protocol.DefaultLease),
		Park:          protocol.Forever, // each request says itself how long
		OnExpiry:      c.OnExpiry,
		MaxFailures:   c.MaxFailures,
		Poison:        c.Poison,
		Starving:      c.Starving,
		Backoff:       protocol.Backoff{Min: protocol.Duration(c.BackoffMin), Max: protocol.Duration(max(c.BackoffMin, c.BackoffMax))},
		MaxMessageAge: or(c.Keep, protocol.Hour),
		Deviations:    c.Deviations,
	}
}

// Broker is a job queue in memory. Its methods may be called concurrently.
type Broker struct {
	mu     sync.Mutex
	cfg    *model.BrokerConfig
	now    func() protocol.Instant
	alarm  func(at protocol.Instant) // asks for a tick
	timer  *time.Timer
	queues []*queue // in the order of their first use
	jobs   map[protocol.JobKey]*job
	newest protocol.JobKey
	lives  []member // by incarnation, from 1 on
	seats  map[string]int32
	err    error // of every call, while it is set

	heard   map[int]func() // who wants to know when the way to the broker is there again
	hearers int            // so far
}

// member is a life and what the model calls it.
type member struct {
	worker.Life
	model.Member
}

// queue is one reference broker and the claim requests that wait at it.
type queue struct {
	name  string
	model *model.Broker
	out   model.Outbox
	polls []*poll
	ended []protocol.JobKey // finished and cancelled jobs, whose rows are forgotten in time
}

// job is what the model does not keep of a job.
type job struct {
	queue   *queue
	kind    string
	version uint16
	payload []byte
	cursor  []byte
	last    worker.Prior // the newest claim that may have been an execution and is over
	prior   worker.Prior // last at the newest grant
}

// New returns an empty broker on the clock of package time.
func New(cfg Config) *Broker {
	b := newBroker(cfg)
	start := time.Now()
	b.now = func() protocol.Instant { return protocol.Instant(start.UnixNano() + int64(time.Since(start))) }
	b.alarm = b.wakeAt
	return b
}

func newBroker(cfg Config) *Broker {
	return &Broker{cfg: cfg.model(), jobs: map[protocol.JobKey]*job{}, seats: map[string]int32{}, heard: map[int]func(){}}
}

// wakeAt sets the timer, which is the only goroutine of a broker.
func (b *Broker) wakeAt(at protocol.Instant) {
	if b.timer != nil {
		b.timer.Stop()
	}
	if at == protocol.Never {
		return
	}
	b.timer = time.AfterFunc(time.Duration(max(at.Sub(b.now()), 0)), func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.tick()
	})
}

// Close stops the broker's timer. Calls that wait are answered by ErrClosed, and so is every
// later one.
func (b *Broker) Close() error {
	b.Fail(ErrClosed)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wakeAt(protocol.Never)
	b.alarm = func(protocol.Instant) {}
	return nil
}

// tick does what is due, and asks for the next tick.
func (b *Broker) tick() {
	now := b.now()
	for _, q := range b.queues {
		q.model.Tick(now, &q.out)
		b.flush(q)
		for _, p := range append([]*poll(nil), q.polls...) {
			if p.until <= now {
				q.model.EndPoll(now, b.life(p.incarnation), p.seq, &q.out)
				b.flush(q)
			}
		}
	}
	b.alarm(b.deadline())
}

// deadline is when the next tick is due.
func (b *Broker) deadline() protocol.Instant {
	at := protocol.Never
	for _, q := range b.queues {
		at = min(at, q.model.Deadline())
		for _, p := range q.polls {
			at = min(at, p.until)
		}
	}
	return at
}

// queue returns the queue with a name, which is made by its first use. Every life is known
// to it under the incarnation that it has at the others.
func (b *Broker) queue(name string) *queue {
	for _, q := range b.queues {
		if q.name == name {
			return q
		}
	}
	q := &queue{name: name, model: model.NewBroker(b.cfg, seats, slots)}
	b.queues = append(b.queues, q)
	for i := range b.lives {
		b.introduce(q, &b.lives[i])
	}
	return q
}

func (b *Broker) introduce(q *queue, m *member) {
	q.model.Handle(b.now(), model.Request{From: m.Member, Effect: protocol.Effect{Kind: protocol.Register}}, &q.out)
	m.Incarnation = b.flush(q)[0].Seq
}

// life returns what the model calls an incarnation; a stranger has no incarnation there.
func (b *Broker) life(incarnation uint64) model.Member {
	if incarnation == 0 || incarnation > uint64(len(b.lives)) {
		return model.Member{}
	}
	return b.lives[incarnation-1].Member
}
