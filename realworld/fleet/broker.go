package fleet

import (
	"context"
	"time"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// paced is a broker as seen by workers that live in the scenario's time: what they ask it to
// wait for is shortened, what it says it has waited is stretched.
type paced struct {
	worker.Poster
	speed float64
}

func (b paced) Claim(ctx context.Context, req worker.ClaimRequest) (worker.ClaimAnswer, error) {
	req.Park = shortened(req.Park, b.speed)
	answer, err := b.Poster.Claim(ctx, req)
	return b.stretched(answer), err
}

func (b paced) PostClaim(ctx context.Context, req worker.ClaimRequest, answered func(worker.ClaimAnswer, error)) {
	req.Park = shortened(req.Park, b.speed)
	b.Poster.PostClaim(ctx, req, func(answer worker.ClaimAnswer, err error) { answered(b.stretched(answer), err) })
}

func (b paced) stretched(answer worker.ClaimAnswer) worker.ClaimAnswer {
	answer.Parked = time.Duration(float64(answer.Parked) * b.speed)
	return answer
}

// Capabilities leave out the lease: the fleet gives it to both sides, in the time of each.
func (b paced) Capabilities() worker.Capabilities {
	c := b.Poster.Capabilities()
	c.Lease = 0
	return c
}

// OnReconnect is worker.Reconnector's, as the laboratory tells its workers of a failover, too.
func (b paced) OnReconnect(heard func()) (forget func()) {
	if r, ok := b.Poster.(worker.Reconnector); ok {
		return r.OnReconnect(heard)
	}
	return func() {}
}

// Repay is worker.Debtor's.
func (b paced) Repay(ctx context.Context, incarnation uint64, queue string) error {
	if d, ok := b.Poster.(worker.Debtor); ok {
		return d.Repay(ctx, incarnation, queue)
	}
	return nil
}

func (b paced) Settle(ctx context.Context, settlements []worker.Settlement) ([]protocol.Code, error) {
	return b.Poster.Settle(ctx, b.shortened(settlements))
}

func (b paced) Post(ctx context.Context, settlements []worker.Settlement, answered func([]protocol.Code, error)) {
	b.Poster.Post(ctx, b.shortened(settlements), answered)
}

func (b paced) shortened(settlements []worker.Settlement) []worker.Settlement {
	short := make([]worker.Settlement, len(settlements))
	for i, s := range settlements {
		s.Delay = shortened(s.Delay, b.speed)
		short[i] = s
	}
	return short
}
