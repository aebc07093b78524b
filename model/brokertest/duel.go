package brokertest

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/memory"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// duel is the broker under test and the reference broker under one history. Each has names
// of its own for jobs, tokens and incarnations; a duel knows which are the same.
type duel struct {
	TB
	subject Subject
	ref     *memory.Fake
	jobs    []pair[protocol.JobKey]
	lives   []*life
	claims  []*claim
	clock   time.Time
	story   strings.Builder
}

// pair is what the subject and the reference call one thing.
type pair[T any] struct{ subject, ref T }

type life struct {
	worker.Life
	incarnation pair[uint64]
	seq         uint64
	superseded  bool // a newer life of its seat has registered
	second      bool // of its seat
}

// claim is one claim of a job, by its number in duel.jobs.
type claim struct {
	job   int
	token pair[protocol.Token]
}

func newDuel(t TB, open Open, cfg Config) *duel {
	d := &duel{TB: t, subject: open(t, cfg), ref: reference(cfg), clock: cfg.Start}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the history:\n%s", d.story.String())
		}
	})
	return d
}

// reference returns the reference broker, set up as cfg says.
func reference(cfg Config) *memory.Fake { return memory.NewFake(cfg.Start, settingsOf(cfg)) }

func settingsOf(cfg Config) memory.Config {
	return memory.Config{
		Lease: cfg.Lease, OnExpiry: cfg.OnExpiry, MaxFailures: cfg.MaxFailures, Poison: cfg.Poison, Starving: cfg.Starving,
		BackoffMin: cfg.BackoffMin, BackoffMax: cfg.BackoffMax, Keep: cfg.Keep,
	}
}

// say tells the story, which is printed when it fails.
func (d *duel) say(format string, args ...any) { fmt.Fprintf(&d.story, format+"\n", args...) }

func (d *duel) register(seat string, generation uint32) *life {
	l := &life{Life: worker.Life{Seat: seat, Nonce: uuid.UUID{15: byte(len(d.lives) + 1)}, Generation: generation}}
	d.say("%s registers its life %d, generation %d", seat, l.Nonce[15], generation)
	l.incarnation = d.incarnation(l)
	for _, other := range d.lives {
		require.NotEqual(d, other.incarnation.subject, l.incarnation.subject, "incarnation of a new life")
		if other.Seat == seat {
			require.Greater(d, l.incarnation.subject, other.incarnation.subject, "incarnation of the seat's next life")
		}
	}
	d.lives = append(d.lives, l)
	return l
}

func (d *duel) registerAgain(l *life) {
	d.say("%v registers again", l)
	require.Equal(d, l.incarnation, d.incarnation(l), "incarnation of the same life")
	d.compareJobs()
}

func (d *duel) incarnation(l *life) (n pair[uint64]) {
	var err error
	n.subject, err = d.subject.Register(call(d), l.Life)
	require.NoError(d, err)
	n.ref, err = d.ref.Register(call(d), l.Life)
	require.NoError(d, err)
	return n
}

func (l *life) String() string { return fmt.Sprintf("%s (life %d)", l.Seat, l.Nonce[15]) }

func (d *duel) going(l *life) {
	d.say("%v is going", l)
	require.NoError(d, d.subject.Going(call(d), l.incarnation.subject, Queue))
	require.NoError(d, d.ref.Going(call(d), l.incarnation.ref, Queue))
	d.compareJobs()
}

func (d *duel) enqueue() {
	job := NewJob{Kind: kind, Version: version, Payload: []byte(fmt.Sprint("payload ", len(d.jobs)))}
	d.say("job %d is enqueued", len(d.jobs))
	d.jobs = append(d.jobs, pair[protocol.JobKey]{
		d.subject.Enqueue(Queue, job), d.ref.Enqueue(Queue, job.Kind, job.Version, job.Payload),
	})
	d.compareJobs()
}

func (d *duel) claim(l *life, seq uint64, want int, expiry worker.Expiry) {
	d.say("%v asks for %d as request %d%s", l, want, seq, []string{"", ", whose expiry means quarantine"}[expiry])
	req := worker.ClaimRequest{Queue: Queue, Seq: seq, Want: want, Kinds: []worker.KindVersions{{Kind: kind, Min: 1, Max: 9, OnExpiry: expiry}}}
	req.Incarnation = l.incarnation.subject
	got, gotErr := d.subject.Claim(call(d), req)
	req.Incarnation = l.incarnation.ref
	want2, wantErr := d.ref.Claim(call(d), req)
	d.compareErrors(wantErr, gotErr)
	require.Equal(d, want2.Parked, got.Parked, "how long the request waited")
	d.compareGrants(want2.Grants, got.Grants)
	d.compareJobs()
}

// compareErrors knows two outcomes.
func (d *duel) compareErrors(want, got error) {
	if want == nil {
		require.NoError(d, got)
	} else {
		require.ErrorIs(d, got, worker.ErrRefused)
	}
}

// known is a grant with names that both brokers share.
type known struct {
	Job             int
	Claim           int // number among all claims; -1 is one that the reference does not know
	Kind            string
	Version         uint16
	Payload, Cursor string
	PriorClaim      int // -1 is none
	PriorReason     string
}

func (d *duel) compareGrants(want, got []worker.Grant) {
	for i := range min(len(want), len(got)) {
		d.learn(want[i], got[i])
	}
	require.Equal(d, d.knowAll(want, d.refName), d.knowAll(got, d.subjectName), "grants")
}

// learn takes in that both brokers granted a job, which may be a claim that is new.
func (d *duel) learn(want, got worker.Grant) {
	job := d.find(func(p pair[protocol.JobKey]) bool { return p.ref == want.Job })
	if d.find(func(p pair[protocol.JobKey]) bool { return p.subject == got.Job }) != job {
		return
	}
	if d.findClaim(job, func(p pair[protocol.Token]) bool { return p.ref == want.Token }) >= 0 {
		return
	}
	for _, c := range d.claims {
		if c.job == job {
			require.Greater(d, got.Token, c.token.subject, "token of a new claim of job %d", job)
		}
	}
	d.claims = append(d.claims, &claim{job, pair[protocol.Token]{got.Token, want.Token}})
}

func (d *duel) find(is func(pair[protocol.JobKey]) bool) int {
	for i, p := range d.jobs {
		if is(p) {
			return i
		}
	}
	return -1
}

func (d *duel) findClaim(job int, is func(pair[protocol.Token]) bool) int {
	for i, c := range d.claims {
		if c.job == job && is(c.token) {
			return i
		}
	}
	return -1
}

// namer finds the numbers of a job and of a claim of it.
type namer func(job protocol.JobKey, token protocol.Token) (jobNumber, claimNumber int)

func (d *duel) subjectName(job protocol.JobKey, token protocol.Token) (int, int) {
	j := d.find(func(p pair[protocol.JobKey]) bool { return p.subject == job })
	return j, d.findClaim(j, func(p pair[protocol.Token]) bool { return p.subject == token })
}

func (d *duel) refName(job protocol.JobKey, token protocol.Token) (int, int) {
	j := d.find(func(p pair[protocol.JobKey]) bool { return p.ref == job })
	return j, d.findClaim(j, func(p pair[protocol.Token]) bool { return p.ref == token })
}

func (d *duel) knowAll(grants []worker.Grant, name namer) []known {
	all := make([]known, len(grants))
	for i, g := range grants {
		k := known{Kind: g.Kind, Version: g.Version, Payload: string(g.Payload), Cursor: string(g.Cursor), PriorReason: g.Prior.Reason.String()}
		k.Job, k.Claim = name(g.Job, g.Token)
		_, k.PriorClaim = name(g.Job, g.Prior.Token)
		all[i] = k
	}
	return all
}

func (d *duel) withdraw(l *life, seq uint64) {
	d.say("%v withdraws request %d", l, seq)
	got, err := d.subject.Withdraw(call(d), l.incarnation.subject, Queue, seq)
	require.NoError(d, err)
	want, err := d.ref.Withdraw(call(d), l.incarnation.ref, Queue, seq)
	require.NoError(d, err)
	require.Equal(d, want, got, "jobs that went back")
	d.compareJobs()
}

func (d *duel) renewals(batch []renewal) (subject, ref []worker.Renewal, story string) {
	var b strings.Builder
	for _, r := range batch {
		j := d.jobs[r.claim.job]
		subject = append(subject, worker.Renewal{Job: j.subject, Token: r.claim.token.subject, Cursor: r.cursor})
		ref = append(ref, worker.Renewal{Job: j.ref, Token: r.claim.token.ref, Cursor: r.cursor})
		fmt.Fprintf(&b, " %v", d.claimName(r.claim))
		if r.cursor != nil {
			fmt.Fprintf(&b, " with cursor %s", r.cursor)
		}
	}
	return subject, ref, b.String()
}

// claimName names a claim by its job and its number among the job's.
func (d *duel) claimName(c *claim) string {
	n := 0
	for _, other := range d.claims {
		if other.job == c.job {
			n++
		}
		if other == c {
			break
		}
	}
	return fmt.Sprintf("claim %d of job %d", n, c.job)
}

func (d *duel) renew(batch []renewal) {
	subject, ref, story := d.renewals(batch)
	d.say("renew%s", story)
	got, err := d.subject.Renew(call(d), subject)
	require.NoError(d, err)
	want, err := d.ref.Renew(call(d), ref)
	require.NoError(d, err)
	require.Equal(d, names(want...), names(got...), "codes")
	d.compareJobs()
}

func (d *duel) save(r renewal) {
	subject, ref, story := d.renewals([]renewal{r})
	d.say("save%s", story)
	got, err := d.subject.Save(call(d), subject[0])
	require.NoError(d, err)
	want, err := d.ref.Save(call(d), ref[0])
	require.NoError(d, err)
	require.Equal(d, want.String(), got.String(), "code")
	d.compareJobs()
}

func (d *duel) settle(batch []ending) {
	var subject, ref []worker.Settlement
	var story strings.Builder
	for _, e := range batch {
		s := e.Settlement
		s.Job, s.Token = d.jobs[e.claim.job].subject, e.claim.token.subject
		subject = append(subject, s)
		s.Job, s.Token = d.jobs[e.claim.job].ref, e.claim.token.ref
		ref = append(ref, s)
		fmt.Fprintf(&story, " %v %v (%v", s.Verb, d.claimName(e.claim), s.Reason)
		if s.Delay > 0 {
			fmt.Fprintf(&story, ", after %v", s.Delay)
		}
		if s.Cursor != nil {
			fmt.Fprintf(&story, ", cursor %s", s.Cursor)
		}
		story.WriteString(")")
	}
	d.say("settle:%s", story.String())
	got, err := d.subject.Settle(call(d), subject)
	require.NoError(d, err)
	want, err := d.ref.Settle(call(d), ref)
	require.NoError(d, err)
	require.Equal(d, names(want...), names(got...), "codes")
	d.compareJobs()
}

func (d *duel) cancel(job int) {
	d.say("an operator cancels job %d", job)
	d.subject.CancelJob(d.jobs[job].subject)
	d.ref.CancelJob(d.jobs[job].ref)
	d.compareJobs()
}

func (d *duel) advance(by time.Duration) {
	d.say("%v later", by)
	d.clock = d.clock.Add(by)
	d.subject.Advance(by)
	d.ref.Advance(by)
	d.compareJobs()
}

// open returns the claims that stand, at the reference.
func (d *duel) open() (open []*claim) {
	for _, c := range d.claims {
		row, _ := d.ref.Job(d.jobs[c.job].ref)
		if row.State == model.JobClaimed && row.Token == c.token.ref {
			open = append(open, c)
		}
	}
	return open
}

// next returns how long it is until a lease or delay ends at the reference; 0 is never.
func (d *duel) next() time.Duration {
	var next time.Duration
	for _, j := range d.jobs {
		row, _ := d.ref.Job(j.ref)
		var at protocol.Instant
		switch row.State {
		case model.JobClaimed:
			at = row.Lease
		case model.JobDelayed:
			at = row.Due
		default:
			continue
		}
		if in := time.Duration(at) - time.Duration(d.clock.UnixNano()); next == 0 || in < next {
			next = in
		}
	}
	return next
}

// compareJobs compares where every job stands.
func (d *duel) compareJobs() {
	for i, j := range d.jobs {
		row, ok := d.ref.Job(j.ref)
		require.True(d, ok, "the reference keeps every job for longer than a history lasts")
		got, ok := d.subject.Job(j.subject)
		require.True(d, ok, "job %d is lost", i)
		want := visible(infoOf(row))
		if got = visible(got); want != got {
			require.Failf(d, "a job stands elsewhere", "job %d\nwant %v\ngot  %v", i, want, got)
		}
	}
}

// infoOf is what can be seen of a row of the reference broker.
func infoOf(row model.JobRow) Job {
	return Job{
		State: row.State, Deliveries: int(row.Deliveries), Failures: int(row.Failures),
		Poison: int(row.Poison), Fruitless: int(row.Fruitless),
	}
}

// String names a job's state and counts.
func (j Job) String() string {
	return fmt.Sprintf("%s, deliveries %d, failures %d, poison %d, fruitless %d", stateName(j.State), j.Deliveries, j.Failures, j.Poison, j.Fruitless)
}
