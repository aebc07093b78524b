package scenarios

import (
	"fmt"
	"slices"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// queue fills in what follows from the lease as the protocol itself does. With a preset the
// settings are that queue's, apart from those that are written, and the queue as it is today
// is a variant beside it: its workers keep habits, as not to renew, that ours do not have.
func (r *reader) queue(k *queueKeys) (model.Queue, []model.Variant) {
	var q model.Queue
	k.fill(&q, true)
	if !k.Preset.written() {
		r.attempts(k, &q)
		return r.checked(k, q), nil
	}
	preset, err := model.QueuePresetNamed(k.Preset.value)
	if err != nil {
		return q, nil // the name was refused where it stands
	}
	q = preset.Settings(q)
	k.fill(&q, false)
	r.attempts(k, &q)
	today, ours := q, q
	if q.Heartbeat == model.NoHeartbeat {
		ours.Heartbeat = 0
	}
	ours = r.checked(k, ours)
	return ours, []model.Variant{{Preset: preset.Preset, Queue: &today, Foreign: true}}
}

// fill puts in what is written, or with all also the defaults of the table.
func (k *queueKeys) fill(q *model.Queue, all bool) {
	set := func(to *protocol.Duration, d duration) {
		if all || d.written() {
			*to = d.value
		}
	}
	number := func(to *int, c count) {
		if all || c.written() {
			*to = c.value
		}
	}
	set(&q.Lease, k.Lease)
	set(&q.Heartbeat, k.Heartbeat)
	set(&q.Margin, k.Margin)
	set(&q.Park, k.LongPoll)
	if k.LongPoll.written() && q.Park == 0 {
		q.Park = model.NoLongPoll
	}
	set(&q.Poll, k.Poll)
	set(&q.Service, k.Service)
	set(&q.Backoff.Min, k.Backoff.Min)
	set(&q.Backoff.Max, k.Backoff.Max)
	set(&q.SweepPeriod, k.Sweep.Period)
	set(&q.SweepSlack, k.Sweep.Slack)
	set(&q.MaxMessageAge, k.MaxMessageAge)
	number(&q.MaxFailures, k.MaxFailures)
	number(&q.Poison, k.Poison)
	number(&q.Starving, k.Starving)
	number(&q.MaxAttempts, k.MaxAttempts)
	number(&q.MaxClaims, k.MaxClaims)
	if all || k.Drift.written() {
		q.DriftPPM = k.Drift.value
	}
	if all || k.CountAtClaim.written() {
		q.CountAtClaim = k.CountAtClaim.value
	}
	if all || k.OnExpiry.written() {
		q.OnExpiry = onExpiry[k.OnExpiry.value]
	}
}

// shortestHeartbeat holds for one that follows from the lease, too; the table of keys has it.
const shortestHeartbeat = protocol.Millisecond

// firstWritten is the place of an error that several keys make together.
func firstWritten(places ...place) place {
	return places[max(slices.IndexFunc(places, place.written), 0)]
}

// checked refuses values that do not go together.
func (r *reader) checked(k *queueKeys, q model.Queue) model.Queue {
	c := q.Timing().WithDefaults()
	switch {
	case c.Heartbeat < shortestHeartbeat:
		r.fail(k.Lease.place, fmt.Sprintf("%v makes the heartbeat %v, a third of it, too short for a simulation to get anywhere", c.Lease, c.Heartbeat),
			fmt.Sprintf("write at least %v", 3*shortestHeartbeat))
	case c.Heartbeat >= c.Lease && k.Heartbeat.written():
		r.fail(k.Heartbeat.place, fmt.Sprintf("%v must be shorter than lease %v", c.Heartbeat, c.Lease),
			fmt.Sprintf("write %v, a third of the lease, which survives one lost renewal", c.Lease/3))
	case c.Heartbeat >= c.Lease:
		r.fail(k.Lease.place, fmt.Sprintf("%v must be longer than the heartbeat of %s, %v", c.Lease, k.Preset.value, c.Heartbeat),
			"lengthen it, or write heartbeat as well")
	}
	switch {
	case c.Margin >= c.Lease && k.Margin.written():
		r.fail(k.Margin.place, fmt.Sprintf("%v must be shorter than lease %v", c.Margin, c.Lease), "shorten margin or lengthen lease")
	case c.Heartbeat < c.Lease && c.Heartbeat >= c.Trusted():
		at := firstWritten(k.Heartbeat.place, k.Margin.place, k.Drift.place, k.Lease.place)
		r.fail(at, fmt.Sprintf("loses every claim before its first renewal, after %v: margin %v and drift %dppm leave %v of lease %v",
			c.Heartbeat, c.Margin, c.DriftPPM, max(c.Trusted(), 0), c.Lease), "shorten heartbeat or margin, or lengthen lease")
	}
	if q.Backoff.Max < q.Backoff.Min {
		r.fail(firstWritten(k.Backoff.Max.place, k.Backoff.Min.place), fmt.Sprintf("makes max %v less than min %v", q.Backoff.Max, q.Backoff.Min), "raise max or lower min")
	}
	q.Lease, q.Heartbeat, q.Margin = c.Lease, c.Heartbeat, c.Margin
	return q
}

// defaultMaxAttempts is what queues that count at the claim commonly allow.
const defaultMaxAttempts = 5

// attempts sees to it that a limit and the counting it needs go together.
func (r *reader) attempts(k *queueKeys, q *model.Queue) {
	switch {
	case k.MaxAttempts.written() && !q.CountAtClaim:
		r.fail(k.MaxAttempts.place, "has no meaning without count_at_claim", "write count_at_claim: true, or use max_failures")
	case k.CountAtClaim.written() && q.CountAtClaim && q.MaxAttempts == 0:
		q.MaxAttempts = defaultMaxAttempts
	}
}

var onExpiry = map[string]model.OnExpiry{
	"redeliver": model.Redeliver, "quarantine": model.QuarantineExpired, "dead_letter": model.BuryExpired,
}
