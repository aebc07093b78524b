package redis

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/quiesce/quiesce/protocol/worker"
)

// parking is a claim request that sleeps until it is woken.
type parking struct {
	req  worker.ClaimRequest
	poke chan struct{} // something changed that no wake list tells
}

// rememberedEvery is how often a request that waits looks whether it is still known: nobody wakes one
// of which an emptied server knows nothing.
const rememberedEvery = 5 * time.Second

// longestYield is how long a request that was called in vain keeps away from the wake list.
const longestYield = 50 * time.Millisecond

// sleep waits until one of the partitions may have something, and returns how many others
// are to be woken if it has not.
func (c *claiming) sleep(ctx context.Context) (hops string, err error) {
	b := c.queue.broker
	pk := &parking{req: c.req, poke: make(chan struct{})}
	b.mu.Lock()
	again := c.queue.comebacks != c.comebacks // a partition that was left out is there again
	if !again {
		b.parked = append(b.parked, pk)
	}
	b.mu.Unlock()
	if again {
		return "0", nil
	}
	defer func() {
		b.mu.Lock()
		b.parked = slices.DeleteFunc(b.parked, func(other *parking) bool { return other == pk })
		b.mu.Unlock()
	}()

	// Whoever was called in vain lets others come to the wake list first: the one that the call
	// is for may be on its way.
	if c.misses > 0 {
		select {
		case <-time.After(min(time.Millisecond<<min(c.misses-1, 6), longestYield)):
		case <-pk.poke:
			return "0", nil
		case <-ctx.Done():
			return "", fmt.Errorf("redis: waiting for jobs: %w", ctx.Err())
		}
	}

	// With a deadline in its context the client would read the answer to a pop without minding
	// that the context is done, and the connection would be open until the pop times out.
	blocked, cancel := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), popping{}, true))
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	woken := make(chan popped, len(c.waits))
	var pops sync.WaitGroup
	for _, w := range c.waits {
		pops.Go(func() {
			p := w.pop(blocked)
			p.at = w.partition
			woken <- p
		})
	}
	// The other connections are closed before this request looks again, so that they get no
	// wake that somebody else could use.
	defer pops.Wait()
	defer cancel()
	look := time.NewTicker(b.opt.remembered)
	defer look.Stop()
	for {
		select {
		case p := <-woken:
			if p.err != nil && ctx.Err() == nil {
				b.lost()
				if len(c.queue.partitions) > 1 {
					p.at.misses(p.err)
					return "0", nil
				}
				return "", fmt.Errorf("redis: waiting for jobs: %w", p.err)
			}
			return p.hops, ctx.Err()
		case <-pk.poke:
			return "0", nil
		case <-look.C:
			if c.forgotten(ctx) {
				b.lost() // claims are, too
				return "0", nil
			}
		case <-ctx.Done():
			return "", fmt.Errorf("redis: waiting for jobs: %w", ctx.Err())
		}
	}
}

// forgotten reports whether a partition says that it does not know who waits there.
func (c *claiming) forgotten(ctx context.Context) bool {
	b := c.queue.broker
	ctx, cancel := context.WithTimeout(ctx, b.opt.Timeout)
	defer cancel()
	calls := make([]rueidis.Completed, len(c.waits))
	for i, w := range c.waits {
		calls[i] = b.client.B().Hexists().Key(w.keys[membersKey]).Field(strconv.FormatUint(c.req.Incarnation, 10)).Build()
	}
	return slices.ContainsFunc(b.client.DoMulti(ctx, calls...), func(r rueidis.RedisResult) bool {
		known, err := r.AsBool()
		return err == nil && !known
	})
}

type popped struct {
	at   *partition
	hops string
	err  error
}

// pop blocks on a partition's wake list, on a connection of its own, which is closed when
// ctx is done.
func (w waiting) pop(ctx context.Context) popped {
	if w.sleep <= 0 {
		return popped{hops: "0"}
	}
	keys := w.keys[wakeKey : wakeKey+1]
	if w.newer {
		keys = []string{w.keys[wakeNewerKey], w.keys[wakeKey]}
	}
	client := w.queue.broker.client
	// Redis rounds to milliseconds, and 0 would be for ever.
	seconds := strconv.FormatFloat(max(w.sleep, time.Millisecond).Seconds(), 'f', 3, 64)
	got, err := client.Do(ctx, client.B().Arbitrary("BLPOP").Keys(keys...).Args(seconds).Blocking()).AsStrSlice()
	switch {
	case rueidis.IsRedisNil(err):
		return popped{hops: "0"}
	case err != nil:
		return popped{err: err}
	case len(got) != 2:
		return popped{hops: "0"}
	default:
		return popped{hops: got[1]}
	}
}

// poke lets requests look again that wait here, up to a number.
func (b *Broker) poke(incarnation uint64, queue string, upTo uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.parked = slices.DeleteFunc(b.parked, func(pk *parking) bool {
		if pk.req.Incarnation != incarnation || pk.req.Queue != queue || pk.req.Seq > upTo {
			return false
		}
		close(pk.poke)
		return true
	})
}

// pokeAll lets all requests look again that wait at a queue, and those that are about to.
func (b *Broker) pokeAll(q *Queue) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q.comebacks++
	b.parked = slices.DeleteFunc(b.parked, func(pk *parking) bool {
		if pk.req.Queue != q.config.Name {
			return false
		}
		close(pk.poke)
		return true
	})
}
