package brokertest

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// Settings of the named cases, unless a case changes them.
const (
	lease      = time.Minute
	backoffMin = time.Second
	backoffMax = 4 * time.Second
	keep       = time.Hour
	tick       = time.Millisecond // the resolution of a broker's clock
	kind       = "job"
	otherKind  = "other"
	version    = 3
)

// begin is where the broker's clock starts: nowhere near the clock of the test, and on no
// round number.
var begin = time.Date(2030, time.March, 3, 4, 5, 6, 789_000_000, time.UTC)

// stage is a broker on which a named case is played: workers act in turn, at instants that
// the case decides.
type stage struct {
	TB
	broker Subject
	cfg    Config
	lives  byte
}

// set opens a broker for a case.
func set(t TB, open Open, changes ...func(*Config)) *stage {
	cfg := Config{Start: begin, Lease: lease, BackoffMin: backoffMin, BackoffMax: backoffMax, Keep: keep}
	for _, change := range changes {
		change(&cfg)
	}
	return &stage{TB: t, broker: open(t, cfg), cfg: cfg}
}

// call returns the context of one call: a broker that hangs is found out.
func call(t TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// later moves the broker's clock.
func (s *stage) later(d time.Duration) { s.broker.Advance(d) }

// job enqueues a job.
func (s *stage) job() protocol.JobKey { return s.jobOn(Queue) }

func (s *stage) jobOn(queue string) protocol.JobKey {
	return s.broker.Enqueue(queue, NewJob{Kind: kind, Version: version, Payload: []byte("payload")})
}

// info returns where a job stands.
func (s *stage) info(job protocol.JobKey) Job {
	s.Helper()
	info, ok := s.broker.Job(job)
	require.True(s, ok, "job %d is lost", job)
	return info
}

// is requires a state of a job.
func (s *stage) is(job protocol.JobKey, want model.JobState, why string) {
	s.Helper()
	require.Equal(s, stateName(want), stateName(s.info(job).State), "job %d: %s", job, why)
}

var stateNames = map[model.JobState]string{
	model.JobReady: "ready", model.JobClaimed: "claimed", model.JobDelayed: "delayed", model.JobDone: "done",
	model.JobDead: "dead-lettered", model.JobQuarantined: "quarantined", model.JobCancelledByOperator: "cancelled",
}

func stateName(s model.JobState) string { return stateNames[s] }

// hand is a worker's life as far as a broker sees it, on one queue.
type hand struct {
	*stage
	life        worker.Life
	incarnation uint64
	queue       string
	seq         uint64
	kinds       []worker.KindVersions
}

// worker registers the first or next life of a seat.
func (s *stage) worker(seat string) *hand { return s.workerOf(seat, 1) }

func (s *stage) workerOf(seat string, generation uint32) *hand {
	s.Helper()
	s.lives++
	h := &hand{
		stage: s, queue: Queue, life: worker.Life{Seat: seat, Nonce: uuid.UUID{15: s.lives}, Generation: generation},
		kinds: []worker.KindVersions{{Kind: kind, Min: 1, Max: 9}},
	}
	h.register()
	return h
}

func (h *hand) register() {
	h.Helper()
	n, err := h.broker.Register(call(h), h.life)
	require.NoError(h, err, "register")
	require.NotZero(h, n, "an incarnation")
	h.incarnation = n
}

// on returns the same life on another queue, where its requests are numbered anew.
func (h *hand) on(queue string) *hand {
	other := *h
	other.queue, other.seq = queue, 0
	return &other
}

func (h *hand) request(seq uint64, want int, park time.Duration) worker.ClaimRequest {
	return worker.ClaimRequest{
		Incarnation: h.incarnation, Queue: h.queue, Seq: seq, Want: want, Park: park,
		Kinds: h.kinds,
	}
}

// parking makes the worker say of the kind that expiry means quarantine, beside another kind of
// which it says nothing.
func (h *hand) parking() *hand {
	h.kinds = []worker.KindVersions{
		{Kind: kind, Min: 1, Max: 9, OnExpiry: worker.QuarantineOnExpiry}, {Kind: otherKind, Min: 1, Max: 9},
	}
	return h
}

// ask sends a new claim request that does not wait.
func (h *hand) ask(want int) []*held {
	h.Helper()
	h.seq++
	return h.askAs(h.seq, want)
}

// askAs sends a claim request under an id of the case's choice.
func (h *hand) askAs(seq uint64, want int) []*held {
	h.Helper()
	answer, err := h.broker.Claim(call(h), h.request(seq, want, 0))
	require.NoError(h, err, "claim %d", seq)
	return h.given(answer)
}

func (h *hand) given(answer worker.ClaimAnswer) []*held {
	claims := make([]*held, len(answer.Grants))
	for i, g := range answer.Grants {
		claims[i] = &held{hand: h, Grant: g}
	}
	return claims
}

// refused sends a claim request that must be refused.
func (h *hand) refused(seq uint64, why string) {
	h.Helper()
	answer, err := h.broker.Claim(call(h), h.request(seq, 1, 0))
	require.ErrorIs(h, err, worker.ErrRefused, why)
	require.Empty(h, answer.Grants, why)
}

// take claims one job, which must be there.
func (h *hand) take() *held {
	h.Helper()
	return h.takes(1, 1)[0]
}

// takes asks for jobs, of which as many as are given must be there.
func (h *hand) takes(want, given int) []*held {
	h.Helper()
	claims := h.ask(want)
	require.Len(h, claims, given, "jobs that are there to claim, of %d asked for", want)
	return claims
}

// again repeats the newest request, which was granted one job.
func (h *hand) again() *held {
	h.Helper()
	claims := h.askAs(h.seq, 1)
	require.Len(h, claims, 1, "the request was granted one job")
	return claims[0]
}

// none sends a new request for which there must be nothing.
func (h *hand) none(why string) {
	h.Helper()
	require.Empty(h, h.ask(5), why)
}

// withdraw takes a request back.
func (h *hand) withdraw(seq uint64) (jobs int) {
	h.Helper()
	jobs, err := h.broker.Withdraw(call(h), h.incarnation, h.queue, seq)
	require.NoError(h, err, "withdraw")
	return jobs
}

func (h *hand) going() {
	h.Helper()
	require.NoError(h, h.broker.Going(call(h), h.incarnation, h.queue), "going")
}

// held is a claim in a worker's hand.
type held struct {
	*hand
	worker.Grant
}

func (c *held) renew() protocol.Code { return c.renewWith(nil) }

func (c *held) renewWith(cursor []byte) protocol.Code {
	c.Helper()
	codes, err := c.broker.Renew(call(c), []worker.Renewal{{Job: c.Job, Token: c.Token, Cursor: cursor}})
	require.NoError(c, err, "renew")
	require.Len(c, codes, 1, "one code per renewal")
	return codes[0]
}

func (c *held) save(cursor []byte) protocol.Code {
	c.Helper()
	code, err := c.broker.Save(call(c), worker.Renewal{Job: c.Job, Token: c.Token, Cursor: cursor})
	require.NoError(c, err, "save")
	return code
}

func (c *held) settle(s worker.Settlement) protocol.Code {
	c.Helper()
	s.Job, s.Token = c.Job, c.Token
	codes, err := c.broker.Settle(call(c), []worker.Settlement{s})
	require.NoError(c, err, "settle")
	require.Len(c, codes, 1, "one code per settlement")
	return codes[0]
}

func (c *held) ack() protocol.Code { return c.settle(settlement(protocol.Ack)) }

func (c *held) fail() protocol.Code { return c.settle(settlement(protocol.Fail)) }

func (c *held) quarantine() protocol.Code { return c.settle(settlement(protocol.Quarantine)) }

func (c *held) release(reason protocol.Reason, delay time.Duration) protocol.Code {
	return c.settle(worker.Settlement{Verb: protocol.Release, Reason: reason, Delay: delay})
}

func (c *held) refuse(delay time.Duration) protocol.Code {
	return c.settle(worker.Settlement{Verb: protocol.Refuse, Reason: protocol.BecauseRefused, Delay: delay})
}

// ok requires that something was done.
func (c *held) ok(code protocol.Code, why string) {
	c.Helper()
	c.code(protocol.OK, code, why)
}

// code requires an answer.
func (c *held) code(want, got protocol.Code, why string) {
	c.Helper()
	require.Equal(c, want.String(), got.String(), why)
}

// verbs are the ways in which a claim ends.
var verbs = []protocol.Verb{protocol.Ack, protocol.Release, protocol.Fail, protocol.Refuse, protocol.Quarantine}

var errHandler = errors.New("the handler failed")

// settlement returns what a worker sends with a verb.
func settlement(verb protocol.Verb) worker.Settlement {
	s := worker.Settlement{Verb: verb}
	switch verb {
	case protocol.Release:
		s.Reason = protocol.BecauseDrain
	case protocol.Refuse:
		s.Reason = protocol.BecauseRefused
	case protocol.Fail:
		s.Cause = errHandler
	}
	return s
}

// patience is how long a check waits for something that has nothing to wait for. It decides
// how late a broker that hangs is found out, and nothing else.
var patience = 20 * time.Second

// waiting is a claim request in a goroutine of its own.
type waiting struct {
	*hand
	cancel context.CancelFunc
	answer chan waited
}

type waited struct {
	worker.ClaimAnswer
	err error
}

// park sends a new request and returns once it waits; waiters is how many do then.
func (h *hand) park(want int, park time.Duration, waiters int) *waiting {
	h.Helper()
	h.seq++
	return h.parkAs(h.seq, want, park, waiters)
}

func (h *hand) parkAs(seq uint64, want int, park time.Duration, waiters int) *waiting {
	h.Helper()
	ctx, cancel := context.WithCancel(h.Context())
	h.Cleanup(cancel)
	w := &waiting{hand: h, cancel: cancel, answer: make(chan waited, 1)}
	go func() {
		a, err := h.broker.Claim(ctx, h.request(seq, want, park))
		w.answer <- waited{a, err}
	}()
	h.broker.(Parker).AwaitParked(waiters)
	return w
}

// served returns what a request was granted that must be answered by now.
func (w *waiting) served(why string) []*held {
	w.Helper()
	a := w.ended(why)
	require.NoError(w, a.err, why)
	return w.given(a.ClaimAnswer)
}

// ended returns how a request was answered.
func (w *waiting) ended(why string) waited {
	w.Helper()
	select {
	case a := <-w.answer:
		return a
	case <-time.After(patience):
		w.Fatalf("a claim request is not answered: %s", why)
		panic("unreachable")
	}
}

// emptyHanded requires that a request was answered with no jobs, in whatever way.
func (w *waiting) emptyHanded(why string) {
	w.Helper()
	w.cancel()
	require.Empty(w, w.ended(why).Grants, why)
}
