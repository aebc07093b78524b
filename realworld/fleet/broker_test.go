package fleet

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// heard is a broker that keeps how long it was told to wait.
type heard struct {
	worker.Poster
	waits []time.Duration
}

func (h *heard) Claim(_ context.Context, req worker.ClaimRequest) (worker.ClaimAnswer, error) {
	h.waits = append(h.waits, req.Park)
	return worker.ClaimAnswer{Parked: req.Park}, nil
}

func (h *heard) PostClaim(ctx context.Context, req worker.ClaimRequest, answered func(worker.ClaimAnswer, error)) {
	answered(h.Claim(ctx, req))
}

func (h *heard) Settle(_ context.Context, s []worker.Settlement) ([]protocol.Code, error) {
	h.waits = append(h.waits, s[0].Delay)
	return nil, nil
}

func (h *heard) Post(ctx context.Context, s []worker.Settlement, answered func([]protocol.Code, error)) {
	answered(h.Settle(ctx, s))
}

// Whatever a worker has the broker wait for is the scenario's, and so is what it says it waited.
func TestTheBrokerWaitsInRealTime(t *testing.T) {
	h := &heard{}
	b := paced{h, 10}
	answer, err := b.Claim(t.Context(), worker.ClaimRequest{Park: 20 * time.Second})
	require.NoError(t, err)
	assert.Equal(t, 20*time.Second, answer.Parked)
	b.PostClaim(t.Context(), worker.ClaimRequest{Park: 30 * time.Second}, func(answer worker.ClaimAnswer, err error) {
		assert.NoError(t, err)
		assert.Equal(t, 30*time.Second, answer.Parked)
	})
	late := []worker.Settlement{{Delay: 5 * time.Second}}
	_, err = b.Settle(t.Context(), late)
	require.NoError(t, err)
	b.Post(t.Context(), late, func(_ []protocol.Code, err error) { assert.NoError(t, err) })
	assert.Equal(t, []time.Duration{2 * time.Second, 3 * time.Second, 500 * time.Millisecond, 500 * time.Millisecond}, h.waits)
	assert.Equal(t, 5*time.Second, late[0].Delay, "the worker's own")
}

// owing is a broker that owes something.
type owing struct{ worker.Poster }

func (owing) Repay(context.Context, uint64, string) error { return assert.AnError }

func TestWhatTheBrokerOwesIsOwedInScaledTime(t *testing.T) {
	assert.ErrorIs(t, paced{owing{}, 10}.Repay(t.Context(), 1, "q"), assert.AnError)
	assert.NoError(t, paced{&heard{}, 10}.Repay(t.Context(), 1, "q"))
}
