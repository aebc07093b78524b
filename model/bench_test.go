package model

import (
	"testing"

	"github.com/quiesce/quiesce/protocol"
	"github.com/stretchr/testify/assert"
)

// mill is a broker under steady load: every turn a job is enqueued, claimed, renewed and
// acked, while others wait in the queue.
type mill struct {
	b   *Broker
	who Member
	now protocol.Instant
	job protocol.JobKey
	seq uint64
	out Outbox
}

func newMill(tb testing.TB, journal protocol.Duration) *mill {
	cfg := &BrokerConfig{Lease: minute, Park: 20 * second, MaxMessageAge: second, Journal: journal}
	m := &mill{b: NewBroker(cfg, 1, 1), who: Member{Nonce: 1, Generation: 1}}
	m.b.Handle(0, Request{From: m.who, Effect: protocol.Effect{Kind: protocol.Register}}, &m.out)
	m.who = m.out.Answers[0].To
	for range 100 {
		m.enqueue()
	}
	for range 20_000 {
		m.turn()
	}
	if m.b.Job(1) != nil || m.b.Job(m.job) == nil {
		tb.Fatal("the mill does not turn")
	}
	return m
}

func (m *mill) enqueue() {
	m.job++
	m.b.Enqueue(m.now, m.job, 0, 1, second, &m.out)
}

func (m *mill) send(e protocol.Effect) protocol.Event {
	m.out.Reset()
	m.b.Handle(m.now, Request{From: m.who, Effect: e}, &m.out)
	return m.out.Answers[0].Event
}

func (m *mill) turn() {
	m.now = m.now.Add(ms)
	m.enqueue()
	m.seq++
	given := m.send(protocol.Effect{Kind: protocol.Claim, Seq: m.seq, Want: 1})
	m.send(protocol.Effect{Kind: protocol.Renew, Job: given.Job, Token: given.Token})
	m.send(protocol.Effect{Kind: protocol.Settle, Verb: protocol.Ack, Job: given.Job, Token: given.Token})
}

func TestAWarmBrokerAllocatesNothing(t *testing.T) {
	for name, journal := range map[string]protocol.Duration{"without a journal": 0, "with a journal": second} {
		t.Run(name, func(t *testing.T) {
			m := newMill(t, journal)
			assert.Zero(t, testing.AllocsPerRun(5_000, m.turn))
		})
	}
}

func TestALongPollAllocatesNothing(t *testing.T) {
	m := newMill(t, 0)
	for m.b.fresh.size > 0 {
		m.seq++
		given := m.send(protocol.Effect{Kind: protocol.Claim, Seq: m.seq, Want: 1})
		m.send(protocol.Effect{Kind: protocol.Settle, Verb: protocol.Quarantine, Job: given.Job, Token: given.Token})
	}
	assert.Zero(t, testing.AllocsPerRun(200, func() {
		m.now = m.now.Add(ms)
		m.seq++
		m.out.Reset()
		m.b.Handle(m.now, Request{From: m.who, Effect: protocol.Effect{Kind: protocol.Claim, Seq: m.seq, Want: 1}}, &m.out)
		m.enqueue() // ends the long poll
		given := m.out.Answers[0].Event
		m.send(protocol.Effect{Kind: protocol.Settle, Verb: protocol.Ack, Job: given.Job, Token: given.Token})
	}))
}

func BenchmarkEnqueueClaimRenewAck(b *testing.B) {
	m := newMill(b, 0)
	b.ReportAllocs()
	for b.Loop() {
		m.turn()
	}
}

func BenchmarkEnqueueClaimRenewAckWithJournal(b *testing.B) {
	m := newMill(b, second)
	b.ReportAllocs()
	for b.Loop() {
		m.turn()
	}
}

func BenchmarkCopyOfASmallBroker(b *testing.B) {
	m := newMill(b, 0)
	var dst Broker
	m.b.CopyTo(&dst)
	b.ReportAllocs()
	for b.Loop() {
		m.b.CopyTo(&dst)
	}
}
