package model

import (
	"github.com/quiesce/quiesce/protocol"
	"pgregory.net/rapid"
)

// queue is what the reference broker and its specification have in common.
type queue interface {
	Enqueue(now protocol.Instant, job protocol.JobKey, kind protocol.Kind, version uint16, work protocol.Duration, out *Outbox)
	Handle(now protocol.Instant, req Request, out *Outbox)
	CancelJob(now protocol.Instant, job protocol.JobKey, out *Outbox)
	QuarantineOnExpiry(now protocol.Instant, job protocol.JobKey, token protocol.Token)
	Tick(now protocol.Instant, out *Outbox)
	Hangup(now protocol.Instant, who Member, out *Outbox)
	EndPoll(now protocol.Instant, who Member, seq uint64, out *Outbox)
	Deadline() protocol.Instant
}

// op is one call of a queue, as a value: it is applied to several of them.
type op func(q queue, out *Outbox)

const (
	testSeats = 2
	testSlots = 3
)

// history is what a network full of late, doubled and reordered messages may still bring
// to a broker: whatever anybody was ever told, at any later time, from anybody.
type history struct {
	now    protocol.Instant
	lives  []Member
	seqs   map[uint64]uint64 // newest claim request by incarnation
	held   []holding
	jobs   protocol.JobKey
	nonces uint64
	ticked bool // the newest call was a Tick
}

type holding struct {
	by    Member
	job   protocol.JobKey
	token protocol.Token
}

func newHistory() *history { return &history{seqs: map[uint64]uint64{}} }

// learn remembers what an answer tells its receiver.
func (h *history) learn(out *Outbox) {
	for _, a := range out.Answers {
		switch ev := a.Event; ev.Kind {
		case protocol.Registered:
			if ev.Code == protocol.OK {
				h.lives = append(h.lives, a.To)
			}
		case protocol.Granted:
			h.held = append(h.held, holding{a.To, ev.Job, ev.Token})
		}
	}
}

func (h *history) someone(t *rapid.T) Member {
	if len(h.lives) == 0 || rapid.IntRange(0, 30).Draw(t, "stranger") == 30 {
		return Member{Seat: rapid.Int32Range(-1, testSeats).Draw(t, "seat"), Incarnation: rapid.Uint64Range(0, 9).Draw(t, "incarnation")}
	}
	return h.lives[len(h.lives)-1-rapid.IntRange(0, min(len(h.lives)-1, 5)).Draw(t, "lives ago")]
}

func (h *history) request(from Member, e protocol.Effect) op {
	now := h.now
	e.At = now
	return func(q queue, out *Outbox) { q.Handle(now, Request{From: from, Effect: e}, out) }
}

func (h *history) enqueue(t *rapid.T) op {
	h.jobs++
	now, job, kind := h.now, h.jobs, protocol.Kind(rapid.IntRange(0, 2).Draw(t, "kind"))
	return func(q queue, out *Outbox) { q.Enqueue(now, job, kind, 1, protocol.Second, out) }
}

func (h *history) register(t *rapid.T) op {
	h.nonces++
	who := Member{
		Seat:       rapid.Int32Range(0, testSeats-1).Draw(t, "seat"),
		Nonce:      h.nonces,
		Generation: rapid.Uint32Range(1, 3).Draw(t, "generation"),
	}
	if rapid.IntRange(0, 3).Draw(t, "again") == 0 {
		who = h.someone(t) // a repetition, or nonsense
	}
	return h.request(who, protocol.Effect{Kind: protocol.Register})
}

func (h *history) claim(t *rapid.T) op {
	who := h.someone(t)
	seq := h.seqs[who.Incarnation] + rapid.SampledFrom([]uint64{1, 1, 1, 1, 0, 2}).Draw(t, "seq")
	h.seqs[who.Incarnation] = seq
	if rapid.IntRange(0, 9).Draw(t, "late") == 9 && seq > 1 {
		seq--
	}
	want := rapid.Int32Range(0, testSlots+1).Draw(t, "want")
	return h.request(who, protocol.Effect{Kind: protocol.Claim, Slot: protocol.NoSlot, Seq: seq, Want: want})
}

func (h *history) withdraw(t *rapid.T) op {
	who := h.someone(t)
	seq := h.seqs[who.Incarnation] + rapid.SampledFrom([]uint64{0, 0, 0, 1}).Draw(t, "seq")
	return h.request(who, protocol.Effect{Kind: protocol.Withdraw, Slot: protocol.NoSlot, Seq: seq})
}

// about draws a claim to send something about, mostly one of the newest.
func (h *history) about(t *rapid.T, kind protocol.EffectKind) (Member, protocol.Effect) {
	g := holding{by: h.someone(t), job: rapid.Custom(func(t *rapid.T) protocol.JobKey {
		return protocol.JobKey(rapid.Uint64Range(0, uint64(h.jobs)+1).Draw(t, "job"))
	}).Draw(t, "job")}
	if len(h.held) > 0 && rapid.IntRange(0, 30).Draw(t, "no token") < 30 {
		g = h.held[len(h.held)-1-rapid.IntRange(0, min(len(h.held)-1, 8)).Draw(t, "claims ago")]
	}
	e := protocol.Effect{Kind: kind, Slot: 1, Job: g.job, Token: g.token}
	if rapid.IntRange(0, 3).Draw(t, "with cursor") == 3 {
		e.Cursor = protocol.Cursor(rapid.Uint64Range(1, 9).Draw(t, "cursor"))
	}
	return g.by, e
}

func (h *history) renew(t *rapid.T) op { return h.request(h.about(t, protocol.Renew)) }
func (h *history) save(t *rapid.T) op  { return h.request(h.about(t, protocol.Save)) }

func (h *history) settle(t *rapid.T) op {
	who, e := h.about(t, protocol.Settle)
	e.Verb = rapid.SampledFrom([]protocol.Verb{protocol.Ack, protocol.Release, protocol.Release, protocol.Release, protocol.Fail, protocol.Refuse, protocol.Quarantine}).Draw(t, "verb")
	if e.Verb == protocol.Release || e.Verb == protocol.Fail && rapid.IntRange(0, 3).Draw(t, "interrupted") == 3 {
		e.Reason = protocol.Reason(rapid.IntRange(int(protocol.BecauseDrain), int(protocol.BecauseCancelled)).Draw(t, "reason"))
	}
	e.Span = rapid.SampledFrom([]protocol.Duration{0, 0, 40 * protocol.Millisecond, testLease}).Draw(t, "delay")
	return h.request(who, e)
}

func (h *history) going(t *rapid.T) op {
	return h.request(h.someone(t), protocol.Effect{Kind: protocol.Going, Slot: protocol.NoSlot})
}

func (h *history) hangup(t *rapid.T) op {
	now, who := h.now, h.someone(t)
	return func(q queue, out *Outbox) { q.Hangup(now, who, out) }
}

func (h *history) endPoll(t *rapid.T) op {
	now, who := h.now, h.someone(t)
	seq := h.seqs[who.Incarnation] - rapid.SampledFrom([]uint64{0, 0, 0, 1}).Draw(t, "seq")
	return func(q queue, out *Outbox) { q.EndPoll(now, who, seq, out) }
}

func (h *history) cancel(t *rapid.T) op {
	now, job := h.now, protocol.JobKey(rapid.Uint64Range(0, uint64(h.jobs)).Draw(t, "job"))
	return func(q queue, out *Outbox) { q.CancelJob(now, job, out) }
}

// park makes expiry of a claim mean quarantine.
func (h *history) park(t *rapid.T) op {
	now := h.now
	_, e := h.about(t, protocol.Renew)
	return func(q queue, _ *Outbox) { q.QuarantineOnExpiry(now, e.Job, e.Token) }
}

// tick moves the clock, often to exactly the broker's deadline, and ticks or does not:
// timers may be late.
func (h *history) tick(t *rapid.T, deadline protocol.Instant) op {
	h.now += protocol.Instant(rapid.SampledFrom([]protocol.Duration{
		0, protocol.Microsecond, 10 * protocol.Millisecond, testLease / 2, testLease, 3 * testLease,
	}).Draw(t, "later"))
	if deadline != protocol.Never && deadline > h.now && rapid.Bool().Draw(t, "to the deadline") {
		h.now = deadline
	}
	if rapid.IntRange(0, 3).Draw(t, "late timer") == 3 {
		return func(queue, *Outbox) {}
	}
	h.ticked = true
	now := h.now
	return func(q queue, out *Outbox) { q.Tick(now, out) }
}

const testLease = 100 * protocol.Millisecond

// brokerConfig draws settings in which every limit is near.
func brokerConfig(t *rapid.T) *BrokerConfig {
	cfg := &BrokerConfig{
		Lease:         testLease,
		Park:          rapid.SampledFrom([]protocol.Duration{0, 30 * protocol.Millisecond, protocol.Second}).Draw(t, "park"),
		Rescue:        Rescue(rapid.IntRange(0, 3).Draw(t, "rescue")),
		SweepPeriod:   70 * protocol.Millisecond,
		SweepSlack:    rapid.SampledFrom([]protocol.Duration{0, 50 * protocol.Millisecond}).Draw(t, "slack"),
		OnExpiry:      rapid.SampledFrom([]OnExpiry{Redeliver, Redeliver, Redeliver, QuarantineExpired, BuryExpired}).Draw(t, "on expiry"),
		MaxFailures:   rapid.IntRange(0, 3).Draw(t, "max failures"),
		Poison:        rapid.IntRange(0, 3).Draw(t, "poison"),
		Starving:      rapid.IntRange(0, 3).Draw(t, "starving"),
		CountAtClaim:  rapid.Bool().Draw(t, "count at claim"),
		MaxAttempts:   rapid.IntRange(0, 6).Draw(t, "max attempts"),
		MaxMessageAge: rapid.SampledFrom([]protocol.Duration{testLease, protocol.Minute}).Draw(t, "message age"),
		Backoff:       protocol.Backoff{Min: rapid.SampledFrom([]protocol.Duration{0, 20 * protocol.Millisecond}).Draw(t, "backoff"), Max: 50 * protocol.Millisecond},
	}
	if rapid.Bool().Draw(t, "habits") {
		cfg.Habits = Habits{
			ExpiryFails: rapid.Bool().Draw(t, "expiry fails"), ReleaseRestores: rapid.Bool().Draw(t, "release restores"),
			FreedByHangup: rapid.Bool().Draw(t, "freed by hangup"), SweepAtBoot: rapid.Bool().Draw(t, "sweep at boot"),
			BackoffSpread: rapid.SampledFrom([]protocol.Duration{0, 30 * protocol.Millisecond}).Draw(t, "spread"),
			MoverPeriod:   rapid.SampledFrom([]protocol.Duration{0, 50 * protocol.Microsecond}).Draw(t, "mover"),
		}
	}
	if rapid.Bool().Draw(t, "journal") {
		cfg.Journal = testLease
	}
	return cfg
}
