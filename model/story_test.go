package model

import (
	"testing"

	"github.com/quiesce/quiesce/protocol"
	"github.com/stretchr/testify/require"
)

// Units that make stories short.
const (
	ms     = protocol.Millisecond
	second = protocol.Second
	minute = protocol.Minute
)

// story tells a named interleaving to a broker: workers act in turn, at instants given by at.
type story struct {
	t      *testing.T
	cfg    *BrokerConfig
	b      *Broker
	now    protocol.Instant
	out    Outbox // of the newest call
	jobs   protocol.JobKey
	nonces uint64
}

// worker is one life of a worker in a story.
type worker struct {
	*story
	who Member
	seq uint64
}

// tell begins a story: lease one minute, long poll twenty seconds, rescue by expiry, unless
// a change says otherwise.
func tell(t *testing.T, changes ...func(*BrokerConfig)) *story {
	cfg := &BrokerConfig{Lease: minute, Park: 20 * second, MaxMessageAge: 10 * minute,
		Backoff: protocol.Backoff{Min: second, Max: 30 * second}}
	for _, change := range changes {
		change(cfg)
	}
	return &story{t: t, cfg: cfg, b: NewBroker(cfg, 4, 4)}
}

// at moves the clock. Nobody ticks: what is due is noticed by the next call that looks.
func (s *story) at(d protocol.Duration) { s.now = protocol.Instant(d) }

func (s *story) tick() {
	s.out.Reset()
	s.b.Tick(s.now, &s.out)
	require.Greater(s.t, s.b.Deadline(), s.now, "a tick left something undone")
}

// job enqueues the next job and returns its number.
func (s *story) job() protocol.JobKey {
	s.jobs++
	s.out.Reset()
	s.b.Enqueue(s.now, s.jobs, 0, 1, second, &s.out)
	return s.jobs
}

func (s *story) cancel(job protocol.JobKey) {
	s.out.Reset()
	s.b.CancelJob(s.now, job, &s.out)
}

// row returns a copy of a job's row, without the broker's own links.
func (s *story) row(job protocol.JobKey) JobRow {
	row := s.b.Job(job)
	require.NotNil(s.t, row, "job %d is unknown", job)
	return visible(row)
}

// facts returns those of a kind from the newest call.
func (s *story) facts(kind FactKind) []Fact {
	var facts []Fact
	for _, f := range s.out.Facts {
		if f.Kind == kind {
			facts = append(facts, f)
		}
	}
	return facts
}

// worker registers a new life in a seat.
func (s *story) worker(seat int32, generation uint32) *worker {
	s.nonces++
	w := &worker{story: s, who: Member{Seat: seat, Nonce: s.nonces, Generation: generation}}
	ev := w.send(protocol.Effect{Kind: protocol.Register})
	require.Equal(s.t, protocol.OK, ev.Code)
	w.who.Incarnation = ev.Seq
	return w
}

// send delivers one effect and returns the last event it was answered with, if any.
func (w *worker) send(e protocol.Effect) protocol.Event {
	w.out.Reset()
	e.At = w.now
	w.b.Handle(w.now, Request{From: w.who, Effect: e}, &w.out)
	var last protocol.Event
	for _, a := range w.out.Answers {
		if a.To.Seat == w.who.Seat && a.To.Nonce == w.who.Nonce {
			last = a.Event
		}
	}
	return last
}

// given returns what the newest call handed to w.
func (w *worker) given() []grant {
	var given []grant
	for _, a := range w.out.Answers {
		if a.To == w.who && a.Event.Kind == protocol.Granted {
			given = append(given, grant{a.Event.Job, a.Event.Token})
		}
	}
	return given
}

// closes returns the end of the claim answer that the newest call gave w.
func (w *worker) closes() (protocol.Event, bool) {
	for _, a := range w.out.Answers {
		if a.To == w.who && a.Event.Kind == protocol.ClaimAnswered {
			return a.Event, true
		}
	}
	return protocol.Event{}, false
}

// ask sends a new claim request and returns what it is given at once.
func (w *worker) ask(want int32) []grant {
	w.seq++
	return w.askAs(w.seq, want)
}

func (w *worker) askAs(seq uint64, want int32) []grant {
	w.send(protocol.Effect{Kind: protocol.Claim, Slot: protocol.NoSlot, Seq: seq, Want: want})
	return w.given()
}

// take claims one job, which must be there.
func (w *worker) take() grant {
	given := w.ask(1)
	require.Len(w.t, given, 1, "nothing to claim")
	return given[0]
}

// park sends a claim request that has to wait.
func (w *worker) park() {
	require.Empty(w.t, w.ask(1))
	require.Empty(w.t, w.out.Answers, "the request was answered at once")
}

func (w *worker) withdraw(seq uint64) (freed int) {
	ev := w.send(protocol.Effect{Kind: protocol.Withdraw, Slot: protocol.NoSlot, Seq: seq, Reason: protocol.BecauseWithdrawn})
	require.Equal(w.t, protocol.WithdrawAnswered, ev.Kind)
	require.Equal(w.t, protocol.OK, ev.Code)
	return int(ev.Count)
}

func (w *worker) going() { w.send(protocol.Effect{Kind: protocol.Going, Slot: protocol.NoSlot}) }

func (w *worker) about(kind protocol.EffectKind, g grant) protocol.Effect {
	return protocol.Effect{Kind: kind, Job: g.job, Token: g.token}
}

func (w *worker) renew(g grant) protocol.Code { return w.send(w.about(protocol.Renew, g)).Code }

func (w *worker) save(g grant, cursor protocol.Cursor) protocol.Code {
	e := w.about(protocol.Save, g)
	e.Cursor = cursor
	return w.send(e).Code
}

func (w *worker) settle(g grant, verb protocol.Verb) protocol.Code {
	e := w.about(protocol.Settle, g)
	e.Verb = verb
	return w.send(e).Code
}

func (w *worker) ack(g grant) protocol.Code        { return w.settle(g, protocol.Ack) }
func (w *worker) fail(g grant) protocol.Code       { return w.settle(g, protocol.Fail) }
func (w *worker) quarantine(g grant) protocol.Code { return w.settle(g, protocol.Quarantine) }

func (w *worker) release(g grant, reason protocol.Reason, delay protocol.Duration) protocol.Code {
	e := w.about(protocol.Settle, g)
	e.Verb, e.Reason, e.Span = protocol.Release, reason, delay
	return w.send(e).Code
}

func (w *worker) refuse(g grant, delay protocol.Duration) protocol.Code {
	e := w.about(protocol.Settle, g)
	e.Verb, e.Reason, e.Span = protocol.Refuse, protocol.BecauseRefused, delay
	return w.send(e).Code
}
