package explore

import (
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// step gives an event to a worker's machine and carries out what it asks for.
func (s *search) step(st *state, i int, ev protocol.Event) {
	w := &st.workers[i]
	if w.dead {
		return
	}
	s.fx.Reset()
	w.machine.Step(st.now, ev, s.fx)
	w.member.Incarnation = w.machine.Incarnation()
	for _, e := range s.fx.All() {
		s.carryOut(st, i, e)
	}
}

func (s *search) carryOut(st *state, i int, e protocol.Effect) {
	w := &st.workers[i]
	switch e.Kind {
	case protocol.Claim:
		if w.stopped {
			st.breaks("a claim request was sent after the stop (rule 1)")
		}
		s.send(st, i, e)
	case protocol.Register, protocol.Going, protocol.Withdraw, protocol.Renew, protocol.Save, protocol.Settle:
		s.send(st, i, e)
	case protocol.Start:
		if w.stopped && s.world.Policy.LateClaim == protocol.ReturnLateClaim {
			st.breaks("a handler was started after the stop (rule 2)")
		}
		w.handler, w.job, w.token = working, e.Job, e.Token
	case protocol.Cancel:
		if w.handler == working { // it may have come back at this very instant
			w.handler = told
		}
	case protocol.Undo:
		w.handler = undoing
	case protocol.Exit:
		w.clean = e.Status == protocol.ExitClean
		s.die(st, i)
	}
}

func (s *search) send(st *state, i int, e protocol.Effect) {
	st.messages = append(st.messages, message{
		toBroker: true, worker: int8(i), due: st.now.Add(s.world.MessageLife),
		request: model.Request{From: st.workers[i].member, Effect: e},
	})
}

// die ends a process: what was on its way to it arrives nowhere, and the broker learns that
// its connection is gone.
func (s *search) die(st *state, i int) {
	w := &st.workers[i]
	w.dead, w.handler, w.killAt = true, idle, protocol.Never
	kept := st.messages[:0]
	for _, m := range st.messages {
		if m.toBroker || int(m.worker) != i {
			kept = append(kept, m)
		}
	}
	st.messages = append(kept, message{
		toBroker: true, hangup: true, worker: int8(i), due: st.now.Add(s.world.MessageLife),
		request: model.Request{From: w.member},
	})
}

// deliver takes message k off the wire.
func (s *search) deliver(st *state, k int) {
	m := st.messages[k]
	st.messages = append(st.messages[:k], st.messages[k+1:]...)
	s.arrive(st, m)
}

func (s *search) arrive(st *state, m message) {
	switch {
	case m.hangup:
		st.broker.Hangup(st.now, m.request.From, &s.out)
		s.answerAll(st)
	case m.toBroker:
		st.broker.Handle(st.now, m.request, &s.out)
		s.answerAll(st)
	default:
		for _, ev := range m.parts[:m.n] {
			s.step(st, int(m.worker), ev)
		}
	}
}

// answerAll puts the broker's answers on the wire.
func (s *search) answerAll(st *state) {
	var m message
	for _, a := range s.out.Answers {
		m.parts[m.n] = a.Event
		m.n++
		if a.More {
			continue
		}
		m.worker, m.due = int8(a.To.Seat), st.now.Add(s.world.MessageLife)
		if !st.workers[m.worker].dead {
			st.messages = append(st.messages, m)
		}
		m = message{}
	}
	s.out.Reset()
}

func (st *state) breaks(what string) {
	if st.broken == "" {
		st.broken = what
	}
}
