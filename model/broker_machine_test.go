package model

import (
	"slices"
	"testing"

	"github.com/quiesce/quiesce/protocol"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// duel is the broker against its specification, under the same random history.
type duel struct {
	*history
	broker *Broker
	spec   *spec
	got    Outbox
	want   Outbox
	tokens map[protocol.JobKey]protocol.Token
	ended  map[protocol.JobKey]bool
	seen   map[string]int
}

func newDuel(t *rapid.T, seen map[string]int) *duel {
	cfg := brokerConfig(t)
	return &duel{
		history: newHistory(),
		broker:  NewBroker(cfg, testSeats, testSlots), spec: newSpec(cfg, testSeats, testSlots),
		tokens: map[protocol.JobKey]protocol.Token{}, ended: map[protocol.JobKey]bool{}, seen: seen,
	}
}

// play applies one call to both and compares everything that can be seen.
func (d *duel) play(t *rapid.T, call op) {
	d.got.Reset()
	d.want.Reset()
	call(d.broker, &d.got)
	call(d.spec, &d.want)
	d.learn(&d.want)
	if !slices.Equal(d.want.Answers, d.got.Answers) {
		require.Equal(t, d.want.Answers, d.got.Answers)
	}
	if !slices.Equal(d.want.Facts, d.got.Facts) {
		require.Equal(t, d.want.Facts, d.got.Facts)
	}
	d.compareJobs(t)
	d.compareDeadlines(t)
	d.mustHold(t)
	d.count()
}

func (d *duel) compareJobs(t *rapid.T) {
	for _, want := range d.spec.jobs {
		got := d.broker.Job(want.id)
		if want.dropped {
			require.Nil(t, got, "job %d is remembered for longer than a message lives", want.id)
			continue
		}
		require.NotNil(t, got, "job %d is lost", want.id)
		if row := visible(got); row != want.JobRow {
			require.Equal(t, want.JobRow, row, "job %d", want.id)
		}
	}
}

// visible is a row without the broker's own bookkeeping.
func visible(row *JobRow) JobRow {
	r := *row
	r.lease, r.renewed = 0, false
	return r
}

// compareDeadlines allows the broker one needless tick: for a delayed job that an operator
// cancelled.
func (d *duel) compareDeadlines(t *rapid.T) {
	want, got := d.spec.Deadline(), d.broker.Deadline()
	if h := d.broker.delayed; len(h) > 0 {
		if row := d.broker.Job(h[0].job); row == nil || row.State != JobDelayed || row.Due != h[0].at {
			require.LessOrEqual(t, got, want)
			return
		}
	}
	require.Equal(t, want, got, "deadline")
}

// actions are what may happen, several at a time so that histories grow long.
func (d *duel) actions() map[string]func(*rapid.T) {
	act := func(draw func(*rapid.T) op) func(*rapid.T) {
		return func(t *rapid.T) { d.play(t, draw(t)) }
	}
	work := []func(*rapid.T) op{
		d.claim, d.claim, d.claim, d.settle, d.settle, d.renew, d.save, d.tickNext, d.tickNext, d.enqueue, d.withdraw, d.register, d.park,
	}
	return map[string]func(*rapid.T){
		"enqueue": act(d.enqueue), "register": act(d.register), "claim": act(d.claim), "withdraw": act(d.withdraw),
		"renew": act(d.renew), "save": act(d.save), "settle": act(d.settle), "going": act(d.going), "cancel": act(d.cancel),
		"tick": act(d.tickNext), "hangup": act(d.hangup), "end poll": act(d.endPoll), "park": act(d.park),
		"busy": func(t *rapid.T) {
			for range rapid.IntRange(1, 12).Draw(t, "calls") {
				d.play(t, rapid.SampledFrom(work).Draw(t, "call")(t))
			}
		},
	}
}

func (d *duel) tickNext(t *rapid.T) op { return d.tick(t, d.broker.Deadline()) }

func againstSpec(seen map[string]int) func(*rapid.T) {
	return func(t *rapid.T) {
		d := newDuel(t, seen)
		for range testSeats {
			d.play(t, d.register(t))
		}
		t.Repeat(d.actions())
	}
}

func TestTheBrokerAgreesWithItsSpecificationUnderEveryHistory(t *testing.T) {
	seen := map[string]int{}
	for range 15 { // a hundred histories each; short ones are many times cheaper than long ones
		rapid.Check(t, againstSpec(seen))
	}
	if testing.Verbose() {
		t.Log(seen)
	}
	for _, outcome := range []string{
		"answer ok", "answer repeat", "answer expired", "answer closed", "answer stale", "answer refused", "answer cancel",
		"fact claimed", "fact expired", "fact settled", "fact finished", "fact dead", "fact quarantined", "fact cancelled",
	} {
		require.NotZero(t, seen[outcome], "no history showed %q", outcome)
	}
}

var factNames = map[FactKind]string{Claimed: "claimed", LeaseRanOut: "expired", ClaimSettled: "settled", Finished: "finished",
	DeadLettered: "dead", Quarantined: "quarantined", JobCancelled: "cancelled", GrewStarving: "starving", Forgotten: "forgotten"}

func (d *duel) count() {
	for _, a := range d.got.Answers {
		d.seen["answer "+a.Event.Code.String()]++
	}
	for _, f := range d.got.Facts {
		d.seen["fact "+factNames[f.Kind]]++
	}
}

func FuzzTheBrokerAgreesWithItsSpecification(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(againstSpec(map[string]int{})))
}
