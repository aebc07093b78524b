package worker_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	. "github.com/quiesce/quiesce/protocol/worker"
)

// posting is a broker a round trip away, which settles what was posted before it claims.
type posting struct {
	Broker
	mu    sync.Mutex
	last  chan struct{} // closed when the newest post is answered
	posts []int         // how much each carried
	errs  []error       // of the next posts
}

const trip = 5 * time.Millisecond

func (p *posting) Post(ctx context.Context, settlements []Settlement, answered func([]protocol.Code, error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.posts = append(p.posts, len(settlements))
	var err error
	if len(p.errs) > 0 {
		err, p.errs = p.errs[0], p.errs[1:]
	}
	before, over := p.last, make(chan struct{})
	p.last = over
	go func() {
		defer close(over)
		if before != nil {
			<-before
		}
		time.Sleep(trip)
		if err != nil {
			answered(nil, err)
			return
		}
		answered(p.Broker.Settle(ctx, settlements))
	}()
}

func (p *posting) Settle(context.Context, []Settlement) ([]protocol.Code, error) {
	panic("what can be posted is posted")
}

func (p *posting) Claim(context.Context, ClaimRequest) (ClaimAnswer, error) {
	panic("what can be posted is posted")
}

func (p *posting) PostClaim(ctx context.Context, req ClaimRequest, answered func(ClaimAnswer, error)) {
	p.mu.Lock()
	before := p.last
	p.mu.Unlock()
	go func() {
		if before != nil {
			<-before
		}
		answered(p.Broker.Claim(ctx, req))
	}()
}

// post puts the broker a round trip away.
func (b *bench) post() *posting {
	p := &posting{}
	b.between = func(real Broker) Broker { p.Broker = real; return p }
	return p
}

func TestASlotThatSettlesIsAskedForInTheSameTrip(t *testing.T) {
	inBubble(t, func(b *bench) {
		p := b.post()
		const jobs, slots = 120, 4
		for j := 1; j <= jobs; j++ {
			b.broker.enqueue(protocol.JobKey(j), "x")
		}
		began := b.clock.Now()
		w := b.start("a", works(10*time.Millisecond), func(o *Options) { o.Slots = slots })
		for b.broker.job(jobs).State != model.JobDone {
			time.Sleep(time.Millisecond)
		}
		took := b.clock.Now().Sub(began)
		w.term()
		<-w.left
		require.NoError(t, w.err)
		for j := 1; j <= jobs; j++ {
			row := b.broker.job(protocol.JobKey(j))
			assert.Equal(t, model.JobDone, row.State, "job %d", j)
			assert.Equal(t, uint16(1), row.Deliveries, "job %d came while no slot was free", j)
		}
		// A job is ten milliseconds of work and one round trip. With a round trip for the ack and
		// another for the claim it would be half as long again.
		assert.Less(t, took, protocol.Duration(jobs/slots)*(10+5+2)*protocol.Millisecond)
		total := 0
		for _, n := range p.posts {
			total += n
		}
		assert.Equal(t, jobs, total, "each is settled once")
		assert.Less(t, len(p.posts), jobs, "what ends together is settled together")
	})
}

func TestWhatWasPostedInVainIsSettledInTheEnd(t *testing.T) {
	inBubble(t, func(b *bench) {
		p := b.post()
		p.errs = []error{errDown, errDown, errDown}
		for j := 1; j <= 6; j++ {
			b.broker.enqueue(protocol.JobKey(j), "x")
		}
		w := b.start("a", works(50*time.Millisecond), nil)
		b.sleep(time.Minute)
		w.term()
		<-w.left
		require.NoError(t, w.err)
		for j := 1; j <= 6; j++ {
			assert.Equal(t, model.JobDone, b.broker.job(protocol.JobKey(j)).State, "job %d", j)
		}
	})
}

// A claim that was answered although the settlements before it were not may bring a job for
// which there is no slot. Its release is not repeated; when it is lost, too, nobody may say
// that nothing is held.
func TestALostReleaseOfASurplusIsNotNothing(t *testing.T) {
	inBubble(t, func(b *bench) {
		p := b.post()
		for j := 1; j <= 4; j++ {
			b.broker.enqueue(protocol.JobKey(j), "x")
		}
		p.errs = []error{errDown, errDown, errDown}
		w := b.start("a", works(50*time.Millisecond), func(o *Options) { o.Slots = 1 })
		b.sleep(time.Second)
		w.term()
		<-w.left
		held := 0
		for j := 1; j <= 4; j++ {
			if b.broker.job(protocol.JobKey(j)).State == model.JobClaimed {
				held++
			}
		}
		require.Positive(t, held, "or this is about nothing")
		assert.Equal(t, protocol.ExitUnsettled, status(w.err))
	})
}

func TestADrainPostsWhatItReleases(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.post()
		b.broker.enqueue(1, "x")
		w := b.start("a", works(time.Hour), nil)
		b.sleep(time.Second)
		w.term()
		<-w.left
		require.NoError(t, w.err, "released, and nothing held")
		row := b.broker.job(1)
		assert.Equal(t, model.JobReady, row.State)
		assert.Zero(t, row.Poison)
	})
}
