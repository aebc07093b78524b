package sim

import (
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// Each message draws its fate under its own address: latency, loss, and whether and when a
// second copy arrives.
const drawsPerMessage = 4

// send puts an effect on the wire to the broker, claims in step on the next tick.
func (w *World) send(p *process, e *protocol.Effect) {
	if w.sc.Queue.InStep && e.Kind == protocol.Claim {
		poll, upAt := protocol.Instant(w.sc.Queue.Poll), w.fleet.upAt[p.seat]
		at := upAt + (w.now-upAt+poll-1)/poll*poll
		w.at(at, event{kind: evBeat, whom: p.whom(), what: w.requests.put(model.Request{Effect: *e})})
		p.expect(w.now, at)
		return
	}
	w.transmit(p, e)
}

func (w *World) transmit(p *process, e *protocol.Effect) {
	n := uint64(p.sent) * drawsPerMessage
	p.sent++
	net := &w.sc.Faults.Network
	name := p.name()
	if p.partitionedUntil > w.now || w.rnd.Happens(StreamMessage, name, n, net.Loss) {
		return
	}
	w.dispatchRequest(p, e, w.now.Add(w.latency(StreamMessage, name, n+1)))
	if w.rnd.Happens(StreamMessage, name, n+2, net.Duplicate) {
		w.dispatchRequest(p, e, w.now.Add(w.latency(StreamMessage, name, n+3)))
	}
}

// dispatchRequest has an effect arrive at the broker.
func (w *World) dispatchRequest(p *process, e *protocol.Effect, at protocol.Instant) {
	place, req := w.requests.room()
	req.From, req.Effect = p.member(), *e
	w.at(at, event{kind: evRequest, whom: whom{seat: p.seat}, what: place})
	p.expect(w.now, at)
}

// hangUp is the end of a dead process's connection, by which the broker learns that nobody
// waits for an answer any more. Behind a partition it learns nothing.
func (w *World) hangUp(p *process) {
	if p.partitionedUntil > w.now || p.machine.Incarnation() == 0 {
		return
	}
	n := uint64(p.sent) * drawsPerMessage
	p.sent++
	req := model.Request{From: p.member()}
	w.at(w.now.Add(w.latency(StreamMessage, p.name(), n+1)), event{kind: evHangup, whom: whom{seat: p.seat}, what: w.requests.put(req)})
}

func (w *World) onHangup(e event) {
	who := w.requests.take(e.what).From
	if w.check != nil {
		w.check.HungUp(w.now, who)
	}
	w.broker.Hangup(w.now, who, &w.out)
	w.flush()
}

func (w *World) latency(s Stream, entity, index uint64) protocol.Duration {
	if w.sc.Faults.Network.Latency == nil {
		return 0
	}
	return protocol.Duration(w.sc.Faults.Network.Latency.Sample(w.rnd.Draw(s, entity, index)))
}

// onRequest is the arrival of a request at the broker. One that is busy serves it when those
// before it are done with, or turns it away where that would make it older than messages get.
func (w *World) onRequest(e event) {
	if w.sc.Queue.Service == 0 {
		w.serve(e)
		return
	}
	p, from := w.fleet.at(e.seat), w.requests.at(e.what).From
	w.brokerFree = max(w.brokerFree, w.now)
	if w.brokerFree > w.now.Add(w.sc.Queue.MaxMessageAge) {
		w.requests.drop(e.what)
	} else {
		w.brokerFree = w.brokerFree.Add(w.sc.Queue.Service)
		w.at(w.brokerFree, event{kind: evServe, whom: whom{seat: e.seat}, what: e.what})
		if p.is(from) {
			p.expect(w.now, w.brokerFree)
		}
	}
	if p.is(from) {
		w.attend(p)
	}
}

func (w *World) serve(e event) {
	req := w.requests.take(e.what)
	w.stir(uint64(req.Effect.Kind)<<8|uint64(req.Effect.Verb), uint64(req.Effect.Job), uint64(req.Effect.Token)^req.Effect.Seq)
	if w.check != nil {
		w.check.Asked(w.now, &req)
	}
	w.broker.Handle(w.now, req, &w.out)
	w.flush()
	if p := w.fleet.at(e.seat); p.is(req.From) {
		if req.Effect.Kind == protocol.Claim && w.broker.Parks(req.From) {
			p.visitAt = w.now.Add(w.configs[0].Park) // by an answer
		}
		w.attend(p)
	}
}

func (w *World) onBrokerTick() {
	if w.brokerTick != w.now {
		return
	}
	w.brokerTick = protocol.Never
	w.broker.Tick(w.now, &w.out)
	w.flush()
	if w.large {
		w.foreseeWaiting()
	}
}

// flush takes in what the broker did: facts become records, answers go on the wire, and its
// one tick is moved when it is wanted earlier.
func (w *World) flush() {
	if w.check != nil {
		w.check.Did(w.now, &w.out)
	}
	for i := range w.out.Facts {
		w.recordFact(&w.out.Facts[i])
	}
	for i := 0; i < len(w.out.Answers); {
		k := i
		for w.out.Answers[k].More {
			k++
		}
		w.sendAnswer(w.out.Answers[i : k+1])
		i = k + 1
	}
	w.out.Reset()
	if at := w.broker.Deadline(); at < w.brokerTick {
		w.brokerTick = max(at, w.now)
		w.at(at, event{kind: evBroker})
	}
}

// sendAnswer puts one message to a worker on the wire.
func (w *World) sendAnswer(parts []model.Answer) {
	p := w.fleet.at(parts[0].To.Seat)
	listens := p.is(parts[0].To)
	if listens {
		p.visitAt = 0 // what it waited for was this answer
	}
	w.sendTo(p, parts)
	if listens {
		w.attend(p)
	}
}

func (w *World) sendTo(p *process, parts []model.Answer) {
	n := uint64(p.answered) * drawsPerMessage
	p.answered++
	net := &w.sc.Faults.Network
	name := p.name()
	if p.partitionedUntil > w.now || w.rnd.Happens(StreamAnswer, name, n, net.Loss) {
		return
	}
	late := protocol.Duration(0)
	if w.slowUntil > w.now {
		late = w.sc.Faults.SlowBy
	}
	w.dispatchAnswer(p, parts, w.now.Add(late+w.latency(StreamAnswer, name, n+1)))
	if w.rnd.Happens(StreamAnswer, name, n+2, net.Duplicate) {
		w.dispatchAnswer(p, parts, w.now.Add(late+w.latency(StreamAnswer, name, n+3)))
	}
}

// dispatchAnswer has a message arrive at a worker.
func (w *World) dispatchAnswer(p *process, parts []model.Answer, at protocol.Instant) {
	to := &parts[0].To
	w.at(at, event{kind: evAnswer, whom: whom{to.Seat, uint32(to.Nonce)}, what: w.chain(parts)})
	if p.is(*to) {
		p.expect(w.now, at)
		if w.large && w.queue.Soon(at) {
			w.fleet.foresee(p.body)
			w.fleet.foreseeSlot(p.body, 0)
		}
	}
}

// chain puts the parts of a message away and returns the place of the first plus one.
func (w *World) chain(parts []model.Answer) uint32 {
	next := uint32(0)
	for i := len(parts) - 1; i >= 0; i-- {
		place, node := w.answers.room()
		node.event, node.next = parts[i].Event, next
		next = place + 1
	}
	return next
}

// onAnswer delivers the parts of one message with nothing in between.
func (w *World) onAnswer(p *process, e event) {
	for place := e.what; place != 0; {
		node := w.answers.take(place - 1)
		place = node.next
		if p.life == e.life && p.state == seatUp && !w.countsFirst(p, e, &node.event) {
			w.step(p, node.event)
		}
	}
}
