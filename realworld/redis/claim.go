package redis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// Claim asks every partition of the queue in turn, beginning with another one each time. A
// request that waits is woken when there is something to have.
func (b *Broker) Claim(ctx context.Context, req worker.ClaimRequest) (worker.ClaimAnswer, error) {
	c, err := b.newClaiming(req)
	if err != nil {
		return worker.ClaimAnswer{}, err
	}
	return c.afterEarlier(ctx)
}

// newClaiming begins a claim request.
func (b *Broker) newClaiming(req worker.ClaimRequest) (*claiming, error) {
	q, err := b.Queue(req.Queue)
	if err != nil {
		return nil, err
	}
	c := &claiming{
		queue: q, req: req, kinds: kindList(req.Kinds), want: min(req.Want, batchLimit), left: q.rotated(int(b.rotator.Add(1))),
	}
	c.inquiry = b.listen(c)
	return c, nil
}

// PostClaim is worker.Poster's. What the first partition has is answered by the goroutine that
// reads its answer; one of its own is only for what is to be done beyond that.
func (b *Broker) PostClaim(ctx context.Context, req worker.ClaimRequest, answered func(worker.ClaimAnswer, error)) {
	c, err := b.newClaiming(req)
	switch {
	case err != nil:
		b.crew.Go(func() { answered(worker.ClaimAnswer{}, err) })
		return
	case !c.begins():
		b.crew.Go(func() { answered(c.afterEarlier(ctx)) })
		return
	}
	b.count(1)
	p := c.left[0]
	c.left = c.left[1:]
	c.asks(p)
	call := c.call("0")
	call.answered = func(err error) {
		c.hears(p, err)
		if err == nil && ctx.Err() == nil && call.answer.status == "ok" && c.isAll(len(call.answer.ids)) {
			if err = c.take(p, &call.answer); err == nil {
				b.poke(req.Incarnation, req.Queue, req.Seq-1) // as goOn does
				c.over(false)
				b.count(-1)
				answered(c.answer, nil)
				return
			}
		}
		b.crew.Go(func() {
			defer b.count(-1)
			answer, err := c.runFrom(ctx, p, call, err)
			c.over(err != nil)
			answered(answer, err)
		})
	}
	p.lane.claim(call)
}

// runFrom is run after the first partition has answered.
func (c *claiming) runFrom(ctx context.Context, p *partition, call *claimCall, err error) (worker.ClaimAnswer, error) {
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = c.heed(ctx, p, call)
	}
	if err = c.without(ctx, p, err); err != nil {
		return worker.ClaimAnswer{}, err
	}
	return c.goOn(ctx, "0")
}

// begins reports whether the first partition can be asked at once, and notes what a run of the
// request would.
func (c *claiming) begins() bool {
	b, p := c.queue.broker, c.left[0]
	if p.gone() || len(p.owes(c.req.Incarnation)) > 0 || len(b.earlier()) > 0 {
		return false
	}
	c.comebacks = c.queue.seen()
	return true
}

// isAll reports whether nobody else is to be asked after so many grants.
func (c *claiming) isAll(grants int) bool { return len(c.left) == 0 || grants >= max(c.want, 1) }

func (b *Broker) count(n int) {
	b.mu.Lock()
	b.claiming += n
	b.mu.Unlock()
}

// claiming is one claim request under way.
type claiming struct {
	queue   *Queue
	req     worker.ClaimRequest
	kinds   string
	want    int
	left    []*partition // to be asked
	waits   []waiting    // where it waits
	answer  worker.ClaimAnswer
	refused int
	slept   bool                 // so it waited at those of left, too
	misses  int                  // calls in a row that were for somebody else, as far as is known
	away    map[*partition]error // why they were left out in this round
	inquiry *inquiry

	comebacks int // of partitions, before this round
}

// waiting is a partition at which a request waits.
type waiting struct {
	*partition
	sleep time.Duration
	newer bool
}

// afterEarlier is run that is not over before the posts in several parts that came first.
func (c *claiming) afterEarlier(ctx context.Context) (worker.ClaimAnswer, error) {
	b := c.queue.broker
	b.count(1)
	defer b.count(-1)
	earlier := b.earlier()
	answer, err := c.run(ctx)
	for _, p := range earlier {
		<-p.over // at the end of its time at the latest
	}
	return answer, err
}

func (c *claiming) run(ctx context.Context) (worker.ClaimAnswer, error) {
	c.comebacks = c.queue.seen()
	answer, err := c.goOn(ctx, "0")
	c.over(err != nil)
	return answer, err
}

// goOn asks those that are left, and all again when it was woken.
func (c *claiming) goOn(ctx context.Context, hops string) (worker.ClaimAnswer, error) {
	for {
		for len(c.left) > 0 && len(c.answer.Grants) < max(c.want, 1) {
			p := c.left[0]
			c.left = c.left[1:]
			if err := c.askIfThere(ctx, p, hops); err != nil {
				return worker.ClaimAnswer{}, err
			}
		}
		if len(c.away) == len(c.queue.partitions) {
			return worker.ClaimAnswer{}, c.queue.missing(c.away)
		}
		for _, p := range c.left {
			if c.slept {
				c.waits = append(c.waits, waiting{partition: p})
			}
		}
		// What waits under an earlier number finds out that it is closed.
		c.queue.broker.poke(c.req.Incarnation, c.req.Queue, c.req.Seq-1)
		switch {
		case len(c.waits) == 0 && c.refused > 0 && len(c.answer.Grants) == 0:
			return worker.ClaimAnswer{}, worker.ErrRefused
		case len(c.waits) == 0:
			return c.answer, nil
		case len(c.answer.Grants) > 0:
			c.unwait(ctx)
			return c.answer, nil
		}
		var err error
		if hops, err = c.sleep(ctx); err != nil {
			return worker.ClaimAnswer{}, err
		}
		if hops == "0" {
			c.misses = 0
		} else {
			c.misses++
		}
		c.slept = true
		for _, w := range c.waits {
			c.left = append(c.left, w.partition)
		}
		for p := range c.away {
			c.left = append(c.left, p)
		}
		clear(c.away)
		c.waits, c.refused = c.waits[:0], 0
		c.comebacks = c.queue.seen()
	}
}

func (q *Queue) seen() int {
	q.broker.mu.Lock()
	defer q.broker.mu.Unlock()
	return q.comebacks
}

// errAway is why a partition is not asked.
var errAway = errors.New("it did not answer before")

// askIfThere asks a partition, and leaves it out if it does not answer and is not the only one.
func (c *claiming) askIfThere(ctx context.Context, p *partition, hops string) error {
	if p.isAway() {
		c.leaveOut(p, errAway)
		return nil
	}
	err := p.repay(ctx, c.req.Incarnation, c.req.Seq)
	if err == nil {
		err = c.ask(ctx, p, hops)
	}
	return c.without(ctx, p, err)
}

// without goes on without a partition if asking it failed and it is not the only one.
func (c *claiming) without(ctx context.Context, p *partition, err error) error {
	if err == nil || ctx.Err() != nil || len(c.queue.partitions) == 1 || errors.Is(err, worker.ErrRefused) {
		return err
	}
	p.misses(err)
	c.leaveOut(p, err)
	return nil
}

func (c *claiming) leaveOut(p *partition, err error) {
	if c.away == nil {
		c.away = map[*partition]error{}
	}
	c.away[p] = err
}

// call makes the request to one partition.
func (c *claiming) call(hops string) *claimCall {
	park := c.req.Park
	if len(c.answer.Grants) > 0 {
		park = 0
	}
	return &claimCall{kinds: c.kinds, args: [5]string{
		strconv.FormatUint(c.req.Incarnation, 10), strconv.FormatUint(c.req.Seq, 10),
		strconv.Itoa(max(c.want-len(c.answer.Grants), 0)), micros(park), hops,
	}}
}

// ask makes one request to one partition.
func (c *claiming) ask(ctx context.Context, p *partition, hops string) error {
	call := c.call(hops)
	if err := c.send(ctx, p, call); err != nil {
		return err
	}
	return c.heed(ctx, p, call)
}

// send makes a call and waits for its answer.
func (c *claiming) send(ctx context.Context, p *partition, call *claimCall) error {
	c.asks(p) // before ctx is looked at: who replaces this attempt is to know of it
	if err := ctx.Err(); err != nil {
		return err
	}
	err := p.lane.ask(ctx, call)
	c.hears(p, err)
	return err
}

// heed does what a partition's answer says.
func (c *claiming) heed(ctx context.Context, p *partition, call *claimCall) error {
	if call.answer.status == "unknown" {
		// The partition has forgotten this life, or never knew it.
		if known, err := p.introduce(ctx, c.req.Incarnation); err != nil || !known {
			c.refused++
			return err
		}
		if err := c.send(ctx, p, call); err != nil {
			return err
		}
	}
	switch a := &call.answer; a.status {
	case "ok":
		return c.take(p, a)
	case "wait":
		c.waits = append(c.waits, waiting{p, a.sleep, a.newer})
	default:
		c.refused++
	}
	return nil
}

// unwait ends the waiting at partitions when another one had a job.
func (c *claiming) unwait(ctx context.Context) {
	for _, w := range c.waits {
		call := claimCall{args: [5]string{strconv.FormatUint(c.req.Incarnation, 10), strconv.FormatUint(c.req.Seq, 10), "0", "0", "0"}}
		if err := w.lane.ask(ctx, &call); err != nil {
			w.queue.broker.opt.Logger.Debug("a claim request is left waiting at a partition", "queue", c.req.Queue, "partition", w.number, "error", err)
		}
	}
}

// take reads grants: what all have in common, then what those have that were claimed before.
func (c *claiming) take(p *partition, a *turnAnswer) error {
	c.answer.Parked = max(c.answer.Parked, a.parked)
	from := len(c.answer.Grants)
	c.answer.Grants = slices.Grow(c.answer.Grants, len(a.ids))
	for i := range a.ids {
		id, err := a.ids[i].AsUint64()
		if err != nil {
			return fmt.Errorf("redis: claim: %w", err)
		}
		record, err := a.records[i].AsBytes()
		if err != nil {
			return fmt.Errorf("redis: claim: %w", err)
		}
		g := worker.Grant{Job: jobKey(p.queue.number, p.number, id), Token: a.token}
		if g.Kind, g.Version, g.Payload, err = p.queue.broker.readRecord(record); err != nil {
			return err
		}
		c.answer.Grants = append(c.answer.Grants, g)
	}
	for i := range a.extras {
		if err := addExtra(c.answer.Grants[from:], &a.extras[i]); err != nil {
			return fmt.Errorf("redis: claim: %w", err)
		}
	}
	return nil
}

func addExtra(grants []worker.Grant, m *rueidis.RedisMessage) error {
	parts, err := m.ToArray()
	if err != nil {
		return err
	}
	if len(parts) != 6 {
		return fmt.Errorf("an extra of %d parts", len(parts))
	}
	i, err := parts[0].AsInt64()
	if err != nil {
		return err
	}
	g := &grants[i]
	token, err := parts[1].AsUint64()
	if err != nil {
		return err
	}
	g.Token = protocol.Token(token)
	if prior, _ := parts[2].ToString(); prior != "" {
		n, err := strconv.ParseUint(prior, 10, 64)
		if err != nil {
			return err
		}
		why, err := parts[3].AsInt64()
		if err != nil {
			return err
		}
		g.Prior = worker.Prior{Token: protocol.Token(n), Reason: protocol.Reason(why)}
	}
	if has, err := parts[4].AsInt64(); err != nil || has == 0 {
		return err
	}
	cursor, err := parts[5].AsBytes()
	g.Cursor = append([]byte{}, cursor...)
	return err
}

// A job's record is its kind and version, a tab between them and a line end after, and its
// payload.
func writeRecord(kind string, version uint16, payload []byte) string {
	var b strings.Builder
	b.Grow(len(kind) + len(payload) + 7)
	b.WriteString(kind)
	b.WriteByte('\t')
	b.WriteString(strconv.Itoa(int(version)))
	b.WriteByte('\n')
	b.Write(payload)
	return b.String()
}

func (b *Broker) readRecord(r []byte) (kind string, version uint16, payload []byte, err error) {
	end := bytes.IndexByte(r, '\n')
	tab := bytes.IndexByte(r[:max(end, 0)], '\t')
	if tab < 0 {
		return "", 0, nil, errors.New("redis: a job's record is not one of this schema")
	}
	v, err := strconv.ParseUint(string(r[tab+1:end]), 10, 16)
	if err != nil {
		return "", 0, nil, fmt.Errorf("redis: a job's record: version: %w", err)
	}
	return b.intern(r[:tab]), uint16(v), r[end+1:], nil
}

// intern returns the one string of a kind's name.
func (b *Broker) intern(name []byte) string {
	last, _ := b.lastKind.Load().(string)
	if last == string(name) {
		return last
	}
	last = string(name)
	b.lastKind.Store(last)
	return last
}

// kindList is what scripts read of the kinds that a worker understands.
func kindList(kinds []worker.KindVersions) string {
	var b strings.Builder
	for _, k := range kinds {
		b.WriteString(k.Kind)
		b.WriteByte('\t')
		b.WriteString(strconv.Itoa(int(k.Min)))
		b.WriteByte('\t')
		b.WriteString(strconv.Itoa(int(k.Max)))
		if k.OnExpiry == worker.QuarantineOnExpiry {
			b.WriteByte('q')
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Withdraw takes a claim request back.
func (b *Broker) Withdraw(ctx context.Context, incarnation uint64, queue string, seq uint64) (int, error) {
	q, err := b.Queue(queue)
	if err != nil {
		return 0, err
	}
	b.mu.Lock()
	stops := b.going[going{incarnation, queue}]
	b.mu.Unlock()
	var jobs atomic.Int64
	var skipped atomic.Int64
	failed := q.each(func(p *partition) error {
		if p.isAway() && !stops {
			p.owe(incarnation, seq)
			skipped.Add(1)
			return nil
		}
		err := p.repay(ctx, incarnation, seq)
		if err == nil {
			var n int
			n, err = p.withdraw(ctx, incarnation, seq)
			jobs.Add(int64(n))
		}
		return err
	})
	if err := q.missing(failed); err != nil {
		// Who stops has to know that something may be held. Others go on.
		if stops || len(failed)+int(skipped.Load()) == len(q.partitions) {
			return 0, err
		}
		for p := range failed {
			p.owe(incarnation, seq)
		}
	}
	b.poke(incarnation, queue, seq)
	return int(jobs.Load()), nil
}
