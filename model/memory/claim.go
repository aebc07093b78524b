package memory

import (
	"context"
	"slices"
	"time"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// request is the id of a claim request in its queue.
type request struct {
	incarnation, seq uint64
}

// poll is a claim request that is not answered yet, and the calls that wait for its answer.
// Those may have gone: the request waits on, and a repeat is given the answer.
type poll struct {
	request
	until protocol.Instant
	kinds []worker.KindVersions
	calls []chan claimed
}

// claimed is the answer to a claim request.
type claimed struct {
	worker.ClaimAnswer
	err error
}

func (p *poll) answer(c claimed) {
	for _, call := range p.calls {
		call <- c
	}
	p.calls = nil
}

// Claim is worker.Broker's. The request stays with the broker when ctx is done, as one does
// whose connection is cut.
func (b *Broker) Claim(ctx context.Context, req worker.ClaimRequest) (worker.ClaimAnswer, error) {
	call, p, err := b.ask(ctx, req)
	if err != nil {
		return worker.ClaimAnswer{}, err
	}
	select {
	case c := <-call:
		return c.ClaimAnswer, c.err
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case c := <-call: // the answer came first
		return c.ClaimAnswer, c.err
	default:
		p.calls = slices.DeleteFunc(p.calls, func(c chan claimed) bool { return c == call })
		return worker.ClaimAnswer{}, ctx.Err()
	}
}

// ask gives a request to the model. Its answer will come to the call, and may be there
// already.
func (b *Broker) ask(ctx context.Context, req worker.ClaimRequest) (chan claimed, *poll, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.refusal(ctx); err != nil {
		return nil, nil, err
	}
	q, id, now := b.queue(req.Queue), request{req.Incarnation, req.Seq}, b.now()
	p := q.poll(id)
	fresh := p == nil
	if fresh {
		p = &poll{request: id, until: now.Add(protocol.Duration(max(req.Park, 0))), kinds: req.Kinds}
		q.polls = append(q.polls, p)
	}
	call := make(chan claimed, 1)
	p.calls = append(p.calls, call)
	from := b.life(req.Incarnation)
	from.Incarnation = req.Incarnation
	q.model.Handle(now, model.Request{From: from, Effect: protocol.Effect{Kind: protocol.Claim, Seq: req.Seq, Want: int32(req.Want)}}, &q.out)
	b.flush(q)
	q.refuse(func(old request) bool { return old.incarnation == id.incarnation && old.seq < id.seq })
	if fresh && req.Park <= 0 {
		q.model.EndPoll(now, from, req.Seq, &q.out)
		b.flush(q)
	}
	b.alarm(b.deadline())
	return call, p, nil
}

// poll returns the waiting request with an id, or nil.
func (q *queue) poll(id request) *poll {
	for _, p := range q.polls {
		if p.request == id {
			return p
		}
	}
	return nil
}

// askedBy returns the request that a claim was granted to.
func (b *Broker) askedBy(q *queue, claimed model.Fact) (newest *poll) {
	for _, p := range q.polls {
		m := b.life(p.incarnation)
		if m.Seat == claimed.Seat && m.Nonce == claimed.Nonce && (newest == nil || p.seq > newest.seq) {
			newest = p
		}
	}
	return newest
}

// parks reports whether the request says of a kind that expiry means quarantine.
func (p *poll) parks(kind string) bool {
	return p != nil && slices.ContainsFunc(p.kinds, func(k worker.KindVersions) bool {
		return k.Kind == kind && k.OnExpiry == worker.QuarantineOnExpiry
	})
}

// refuse answers those waiting requests that the model has given up without a word.
func (q *queue) refuse(given func(request) bool) {
	q.polls = slices.DeleteFunc(q.polls, func(p *poll) bool {
		if !given(p.request) {
			return false
		}
		p.answer(claimed{err: worker.ErrRefused})
		return true
	})
}

// flush takes in what the model said: facts into the jobs' records, claim answers to who
// waits for them. The other events it returns.
func (b *Broker) flush(q *queue) []protocol.Event {
	for _, f := range q.out.Facts {
		b.note(q, f)
	}
	var direct, grants []protocol.Event
	for _, a := range q.out.Answers {
		switch a.Event.Kind {
		case protocol.Granted:
			grants = append(grants, a.Event)
		case protocol.ClaimAnswered:
			b.deliver(q, request{a.To.Incarnation, a.Event.Seq}, a.Event, grants)
			grants = nil
		default:
			direct = append(direct, a.Event)
		}
	}
	q.out.Reset()
	for len(q.ended) > 0 && q.model.Job(q.ended[0]) == nil {
		delete(b.jobs, q.ended[0])
		q.ended = q.ended[1:]
	}
	return direct
}

// deliver answers a request.
func (b *Broker) deliver(q *queue, id request, closed protocol.Event, grants []protocol.Event) {
	p := q.poll(id)
	if p == nil {
		return
	}
	q.polls = slices.DeleteFunc(q.polls, func(other *poll) bool { return other == p })
	if closed.Code == protocol.Refused {
		p.answer(claimed{err: worker.ErrRefused})
		return
	}
	c := claimed{ClaimAnswer: worker.ClaimAnswer{Parked: time.Duration(closed.Span)}}
	for _, g := range grants {
		j := b.jobs[g.Job]
		c.Grants = append(c.Grants, worker.Grant{
			Job: g.Job, Token: g.Token, Kind: j.kind, Version: j.version, Payload: j.payload, Cursor: j.cursor, Prior: j.prior,
		})
	}
	p.answer(c)
}

// note keeps what the next holder of a job is told about the one before. Jobs that went
// back unstarted leave it as it was.
func (b *Broker) note(q *queue, f model.Fact) {
	j := b.jobs[f.Job]
	switch f.Kind {
	case model.Claimed:
		j.prior = j.last
		if b.askedBy(q, f).parks(j.kind) {
			q.model.QuarantineOnExpiry(f.At, f.Job, f.Token)
		}
	case model.LeaseRanOut:
		j.last = worker.Prior{Token: f.Token, Reason: f.Reason}
	case model.ClaimSettled:
		switch f.Reason {
		case protocol.BecauseLate, protocol.BecauseWithdrawn, protocol.BecauseRefused, protocol.BecauseBusy:
		default:
			j.last = worker.Prior{Token: f.Token, Reason: f.Reason}
		}
	case model.Finished, model.JobCancelled:
		q.ended = append(q.ended, f.Job)
	}
}
