package fleet

import (
	"context"
	"time"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// paced is a broker as seen by workers that live in the scenario's time: what they ask it to
// wait for is shortened, what it says it has waited is stretched. It is a plain broker, as
// that of the laboratory: settlements and claims do not travel together.
type paced struct {
	worker.Broker
	speed float64
}

func (b paced) Claim(ctx context.Context, req worker.ClaimRequest) (worker.ClaimAnswer, error) {
	req.Park = shortened(req.Park, b.speed)
	answer, err := b.Broker.Claim(ctx, req)
	answer.Parked = time.Duration(float64(answer.Parked) * b.speed)
	return answer, err
}

// Capabilities leave out the lease: the fleet gives it to both sides, in the time of each.
func (b paced) Capabilities() worker.Capabilities {
	c := b.Broker.Capabilities()
	c.Lease = 0
	return c
}

// OnReconnect is worker.Reconnector's, as the laboratory tells its workers of a failover, too.
func (b paced) OnReconnect(heard func()) (forget func()) {
	if r, ok := b.Broker.(worker.Reconnector); ok {
		return r.OnReconnect(heard)
	}
	return func() {}
}

func (b paced) Settle(ctx context.Context, settlements []worker.Settlement) ([]protocol.Code, error) {
	short := make([]worker.Settlement, len(settlements))
	for i, s := range settlements {
		s.Delay = shortened(s.Delay, b.speed)
		short[i] = s
	}
	return b.Broker.Settle(ctx, short)
}
