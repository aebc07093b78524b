package explore

import (
	"fmt"

	"github.com/quiesce/quiesce/protocol"
)

// actionKind is one of the things that can happen next in a state.
type actionKind uint8

const (
	deliverMessage actionKind = iota
	loseMessage
	doubleMessage // deliver it and leave a copy on the wire
	finish        // the handler returns nil
	fail          // a cancelled handler returns an error
	undone        // the undo hooks return
	stopWorker
	killWorker // SIGKILL at the end of the grace
	crashWorker
	fireTimer
	tickBroker
	passTime
)

// action is one choice.
type action struct {
	kind  actionKind
	index int8 // of the message or worker
}

// actions lists what can happen next, the prompt and harmless first.
func (s *search) actions(st *state, list []action) []action {
	add := func(kind actionKind, i int) { list = append(list, action{kind, int8(i)}) }
	rest := true // nothing has to happen before time may pass
	for i := range st.workers {
		w := &st.workers[i]
		if w.dead {
			continue
		}
		if w.machine.Deadline() <= st.now {
			add(fireTimer, i)
			rest = false
		}
		if w.killAt <= st.now {
			add(killWorker, i)
			rest = false
		}
	}
	if st.broker.Deadline() <= st.now {
		add(tickBroker, 0)
		rest = false
	}
	for k := range st.messages {
		add(deliverMessage, k)
		if st.messages[k].due <= st.now {
			rest = false
		}
	}
	for i := range st.workers {
		switch st.workers[i].handler {
		case working:
			add(finish, i)
		case told:
			add(finish, i)
			add(fail, i)
		case undoing:
			add(undone, i)
		}
	}
	if rest && st.nextInstant() != protocol.Never {
		add(passTime, 0)
	}
	s.faults(st, add)
	return list
}

// faults lists what the world may do to its workers and messages.
func (s *search) faults(st *state, add func(actionKind, int)) {
	for i := range st.workers {
		if w := &st.workers[i]; i < s.world.Stops && int(st.stops) < s.world.Stops && !w.stopped && !w.dead {
			add(stopWorker, i)
		}
		if w := &st.workers[i]; i < s.world.Crashes && int(st.crashes) < s.world.Crashes && !w.dead {
			add(crashWorker, i)
		}
	}
	if int(st.losses) < s.world.Losses {
		for k := range st.messages {
			add(loseMessage, k)
		}
	}
	if int(st.doubles) < s.world.Duplicates {
		for k := range st.messages {
			add(doubleMessage, k)
		}
	}
}

// nextInstant is when the passing of time next changes something.
func (st *state) nextInstant() protocol.Instant {
	at := st.broker.Deadline()
	for i := range st.workers {
		if w := &st.workers[i]; !w.dead {
			at = min(at, w.machine.Deadline(), w.killAt)
		}
	}
	for k := range st.messages {
		at = min(at, st.messages[k].due)
	}
	// Leases that nobody waits for end silently, but whether they have ended decides what
	// may be renewed.
	return min(at, st.nextLeaseEnd())
}

// apply makes a choice.
func (s *search) apply(st *state, a action) {
	i := int(a.index)
	switch a.kind {
	case deliverMessage:
		s.deliver(st, i)
	case loseMessage:
		st.losses++
		st.hurt = true
		st.messages = append(st.messages[:i], st.messages[i+1:]...)
	case doubleMessage:
		st.doubles++
		m := st.messages[i]
		s.arrive(st, m)
	case finish:
		w := &st.workers[i]
		w.handler = idle
		st.returned |= 1 << w.job
		s.step(st, i, protocol.Returned(0, protocol.ReturnedNil, true))
	case fail:
		st.workers[i].handler = idle
		s.step(st, i, protocol.Returned(0, protocol.ReturnedError, !s.world.Undo))
	case undone:
		st.workers[i].handler = idle
		s.step(st, i, protocol.Undid(0, protocol.UndoDone))
	case stopWorker:
		w := &st.workers[i]
		st.stops++
		if w.machine.Deadline() <= st.now { // Step fires it before it hears of the stop
			s.step(st, i, protocol.Event{Kind: protocol.Tick})
		}
		w.stopped = true
		w.killAt = st.now.Add(s.world.Grace)
		s.step(st, i, protocol.StopBySignal(protocol.SIGTERM, w.killAt))
	case killWorker:
		st.breaks(fmt.Sprintf("worker %d was still there at SIGKILL (rule 5)", i))
		s.die(st, i)
	case crashWorker:
		st.crashes++
		st.hurt = true
		s.die(st, i)
	case fireTimer:
		s.step(st, i, protocol.Event{Kind: protocol.Tick})
	case tickBroker:
		st.broker.Tick(st.now, &s.out)
		s.answerAll(st)
	case passTime:
		st.now = st.nextInstant()
	}
}

// describe tells an action as a line of a story. st is the state it is made in.
func (s *search) describe(st *state, a action) string {
	i := int(a.index)
	switch a.kind {
	case deliverMessage:
		return "delivered: " + describeMessage(&st.messages[i])
	case loseMessage:
		return "lost: " + describeMessage(&st.messages[i])
	case doubleMessage:
		return "delivered, with a copy still to come: " + describeMessage(&st.messages[i])
	case finish:
		return fmt.Sprintf("worker %d: the handler of job %d finishes", i, st.workers[i].job)
	case fail:
		return fmt.Sprintf("worker %d: the cancelled handler of job %d returns", i, st.workers[i].job)
	case undone:
		return fmt.Sprintf("worker %d: the partial work of job %d is undone", i, st.workers[i].job)
	case stopWorker:
		return fmt.Sprintf("worker %d: SIGTERM", i)
	case killWorker:
		return fmt.Sprintf("worker %d: SIGKILL", i)
	case crashWorker:
		return fmt.Sprintf("worker %d: crashes", i)
	case fireTimer:
		return fmt.Sprintf("worker %d: a timer fires", i)
	case tickBroker:
		return "broker: a timer fires"
	default:
		return fmt.Sprintf("time passes to %v", st.nextInstant())
	}
}

func describeMessage(m *message) string {
	if m.hangup {
		return fmt.Sprintf("end of worker %d's connection", m.worker)
	}
	if m.toBroker {
		e := &m.request.Effect
		switch e.Kind {
		case protocol.Claim, protocol.Withdraw:
			return fmt.Sprintf("worker %d → broker: %v request %d", m.worker, e.Kind, e.Seq)
		case protocol.Settle:
			return fmt.Sprintf("worker %d → broker: %v job %d", m.worker, e.Verb, e.Job)
		case protocol.Renew, protocol.Save:
			return fmt.Sprintf("worker %d → broker: %v job %d", m.worker, e.Kind, e.Job)
		}
		return fmt.Sprintf("worker %d → broker: %v", m.worker, e.Kind)
	}
	ev := &m.parts[0]
	if ev.Kind == protocol.Granted {
		return fmt.Sprintf("broker → worker %d: job %d granted to request %d", m.worker, ev.Job, ev.Seq)
	}
	return fmt.Sprintf("broker → worker %d: %v %v", m.worker, ev.Kind, ev.Code)
}
