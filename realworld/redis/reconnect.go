package redis

import (
	"context"
	"crypto/tls"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/quiesce/quiesce/protocol/worker"
)

var _ worker.Reconnector = (*Broker)(nil)

// OnReconnect is worker.Reconnector's. A connection that had worked has ended, and since then Redis
// has answered what only a primary does: in a cluster that of each partition, or those of some.
func (b *Broker) OnReconnect(heard func()) (forget func()) {
	w := &b.way
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hearers++
	n := w.hearers
	if w.heard == nil {
		w.heard = map[int]func(){}
	}
	w.heard[n] = heard
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.heard, n)
	}
}

// way looks for Redis when it is gone.
type way struct {
	over  context.Context // done when the broker is closed
	close context.CancelFunc

	mu      sync.Mutex
	heard   map[int]func()
	hearers int // so far
	losses  int
	missed  []*partition // not looked for yet
	looking bool
}

// How long it is between two looks, less up to half by chance: a fleet that lost its server does
// not look for it in step.
const (
	firstLook = 50 * time.Millisecond
	lateLook  = 500 * time.Millisecond
)

// keepAlive is how often the client asks whether an idle connection still lives: that finds out
// within two of them that it does not.
const keepAlive = 500 * time.Millisecond

// lost takes in that a connection that had worked has ended.
func (b *Broker) lost() {
	w := &b.way
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.heard) > 0 {
		w.losses++
		b.startLooking()
	}
}

// lookFor takes in that a partition does not answer.
func (b *Broker) lookFor(p *partition) {
	w := &b.way
	w.mu.Lock()
	defer w.mu.Unlock()
	w.missed = append(w.missed, p)
	b.startLooking()
}

// startLooking is called with way.mu held.
func (b *Broker) startLooking() {
	if w := &b.way; !w.looking && w.over.Err() == nil {
		w.looking = true
		go b.look()
	}
}

// look returns when Redis has answered for everything, or the broker is closed.
func (b *Broker) look() {
	w := &b.way
	left := map[*partition]bool{} // whether its claims are to be verified
	seen := 0
	for wait := firstLook; ; wait = min(2*wait, lateLook) {
		w.mu.Lock()
		if seen != w.losses {
			seen = w.losses
			for _, p := range b.primaries() {
				left[p] = true
			}
		}
		for _, p := range w.missed {
			if !left[p] {
				left[p] = false
			}
		}
		w.missed = nil
		w.mu.Unlock()

		var tell []func()
		for _, p := range b.reached(left) {
			if left[p] && tell == nil {
				w.mu.Lock()
				tell = slices.Collect(maps.Values(w.heard))
				w.mu.Unlock()
			}
			delete(left, p)
		}
		for _, heard := range tell {
			heard()
		}
		w.mu.Lock()
		w.looking = w.over.Err() == nil && (len(left) > 0 || len(w.missed) > 0 || seen != w.losses)
		done := !w.looking
		w.mu.Unlock()
		if done {
			return
		}
		select {
		case <-time.After(wait - rand.N(wait/2)):
		case <-w.over.Done():
		}
	}
}

// primaries returns partitions that between them have every primary: all of them in a cluster,
// otherwise any.
func (b *Broker) primaries() (all []*partition) {
	for _, q := range b.queues {
		all = append(all, q.partitions...)
	}
	if b.client.Mode() != rueidis.ClientModeCluster && len(all) > 0 {
		all = all[:1]
	}
	return all
}

// reached returns those partitions that answer. They are asked for something that writes, which a
// replica refuses, and a server that is still loading.
func (b *Broker) reached(all map[*partition]bool) (there []*partition) {
	ctx, cancel := context.WithTimeout(b.way.over, b.opt.Timeout)
	defer cancel()
	answers := make(chan *partition, len(all))
	var asked sync.WaitGroup
	for p := range all {
		asked.Go(func() {
			if p.run(ctx, &b.scripts.expire).Error() == nil {
				p.returns(ctx)
				answers <- p
			}
		})
	}
	asked.Wait()
	close(answers)
	for p := range answers {
		there = append(there, p)
	}
	return there
}

// popping marks the context of a blocking pop, whose connection is closed whenever it is
// cancelled.
type popping struct{}

// watch has the end of connections made known to the broker, those of blocking pops left out.
func (b *Broker) watch(o *rueidis.ClientOption) {
	dial, plain := o.DialCtxFn, o.DialFn
	o.DialCtxFn = func(ctx context.Context, dst string, d *net.Dialer, config *tls.Config) (conn net.Conn, err error) {
		switch {
		case dial != nil:
			conn, err = dial(ctx, dst, d, config)
		case plain != nil:
			conn, err = plain(dst, d, config)
		case config != nil:
			conn, err = (&tls.Dialer{NetDialer: d, Config: config}).DialContext(ctx, "tcp", dst)
		default:
			conn, err = d.DialContext(ctx, "tcp", dst)
		}
		if err != nil || ctx.Value(popping{}) != nil {
			return conn, err
		}
		return &connection{Conn: conn, lost: b.lost}, nil
	}
}

// connection makes known that it has ended, if it ever worked.
type connection struct {
	net.Conn
	lost func()

	mu     sync.Mutex
	worked bool
}

func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && err == nil {
		c.works(true)
	}
	return n, err
}

func (c *connection) Close() error {
	if c.works(false) {
		c.lost()
	}
	return c.Conn.Close()
}

// works sets whether the connection works, and returns whether it did.
func (c *connection) works(now bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.worked
	c.worked = now
	return was
}
