package redis

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// What a worker builds on: it claims for slots that settle only because of this order.
func TestAClaimIsNotAnsweredBeforeWhatWasPosted(t *testing.T) {
	for _, partitions := range []int{1, 3} {
		t.Run(fmt.Sprintf("partitions=%d", partitions), func(t *testing.T) {
			f := newFixture(t, func(o *Options) { o.Queues[0].Partitions = partitions })
			inc := f.life("a", 0)
			f.enqueue(300)
			held := f.claim(inc, 20, 0)
			require.NotEmpty(t, held)
			for len(held) > 0 {
				acks := make([]worker.Settlement, len(held))
				for i, g := range held {
					acks[i] = worker.Settlement{Job: g.Job, Token: g.Token, Verb: protocol.Ack}
				}
				var answered atomic.Bool
				f.Post(t.Context(), acks, func(codes []protocol.Code, err error) {
					assert.NoError(t, err)
					assert.Len(t, codes, len(acks))
					for _, code := range codes {
						assert.Equal(t, protocol.OK, code)
					}
					time.Sleep(time.Millisecond) // a worker takes its time to take it in
					answered.Store(true)
				})
				held = f.claim(inc, 20, 0)
				require.True(t, answered.Load(), "the claim came first")
			}
			stats, err := f.q.Stats(t.Context())
			require.NoError(t, err)
			assert.Zero(t, stats.Claimed)
			assert.Zero(t, stats.Ready)
		})
	}
}

func TestWhatIsPostedIsAnsweredOnce(t *testing.T) {
	f := newFixture(t)
	inc := f.life("a", 0)
	f.enqueue(1)
	g := f.claim(inc, 1, 0)[0]
	over, cancel := context.WithCancel(t.Context())
	cancel()
	answers := make(chan error, 2)
	f.Post(over, []worker.Settlement{{Job: g.Job, Token: g.Token, Verb: protocol.Ack}}, func(_ []protocol.Code, err error) { answers <- err })
	if err := <-answers; err != nil {
		require.ErrorIs(t, err, context.Canceled)
	}
	assert.Contains(t, []protocol.Code{protocol.OK, protocol.Repeat}, f.settle(g, protocol.Ack, 0), "it may have been done")
	assert.Empty(t, answers)
}
