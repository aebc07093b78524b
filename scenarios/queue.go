package scenarios

import (
	"fmt"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// queue fills in what follows from the lease as the protocol itself does.
func (r *reader) queue(q *queueKeys) model.Queue {
	c := protocol.Config{Lease: q.Lease.value, Heartbeat: q.Heartbeat.value, Margin: q.Margin.value}.WithDefaults()
	switch {
	case c.Heartbeat <= 0 || c.Margin <= 0:
		r.fail(q.Lease.place, c.Lease.String()+" is too short to be divided into heartbeats", "write at least 1ms")
	case c.Heartbeat >= c.Lease && q.Heartbeat.written():
		r.fail(q.Heartbeat.place, fmt.Sprintf("%v must be shorter than lease %v", c.Heartbeat, c.Lease),
			fmt.Sprintf("write %v, a third of the lease, which survives one lost renewal", c.Lease/3))
	}
	if c.Margin >= c.Lease && q.Margin.written() {
		r.fail(q.Margin.place, fmt.Sprintf("%v must be shorter than lease %v", c.Margin, c.Lease), "shorten margin or lengthen lease")
	}
	if q.Backoff.Max.value < q.Backoff.Min.value {
		at := q.Backoff.Max.place
		if !at.written() {
			at = q.Backoff.Min.place
		}
		r.fail(at, fmt.Sprintf("makes max %v less than min %v", q.Backoff.Max.value, q.Backoff.Min.value), "raise max or lower min")
	}
	return model.Queue{
		Lease: c.Lease, Heartbeat: c.Heartbeat, Margin: c.Margin,
		DriftPPM: q.Drift.value, Park: q.LongPoll.value,
		MaxFailures: q.MaxFailures.value, Poison: q.Poison.value, Starving: q.Starving.value,
		Backoff:      protocol.Backoff{Min: q.Backoff.Min.value, Max: q.Backoff.Max.value},
		CountAtClaim: q.CountAtClaim.value, MaxAttempts: r.maxAttempts(q),
		SweepPeriod: q.Sweep.Period.value, SweepSlack: q.Sweep.Slack.value,
		OnExpiry: onExpiry[q.OnExpiry.value], MaxMessageAge: q.MaxMessageAge.value,
	}
}

// defaultMaxAttempts is what queues that count at the claim commonly allow.
const defaultMaxAttempts = 5

func (r *reader) maxAttempts(q *queueKeys) int {
	switch {
	case q.MaxAttempts.written() && !q.CountAtClaim.value:
		r.fail(q.MaxAttempts.place, "has no meaning without count_at_claim", "write count_at_claim: true, or use max_failures")
		return 0
	case q.CountAtClaim.value && !q.MaxAttempts.written():
		return defaultMaxAttempts
	}
	return q.MaxAttempts.value
}

var onExpiry = map[string]model.OnExpiry{"redeliver": model.Redeliver, "quarantine": model.QuarantineExpired}
