package explore

import "github.com/quiesce/quiesce/protocol"

// falsehood is something that comes over a wire although nobody sent it: of another life, of
// a broker that forgot, of anybody. It is about a slot's claim and the request that is out.
type falsehood struct {
	says string
	told func(slot int, s *protocol.Slot, r *protocol.Request, now protocol.Instant) []protocol.Event
}

// about returns what a broker may say of a slot's claim; of a Free slot's, of some claim.
func about(kind protocol.EventKind, code protocol.Code) func(int, *protocol.Slot, *protocol.Request, protocol.Instant) []protocol.Event {
	return func(slot int, s *protocol.Slot, _ *protocol.Request, now protocol.Instant) []protocol.Event {
		return []protocol.Event{{Kind: kind, Code: code, Slot: int32(slot), Job: s.Job(), Token: s.Token(), Sent: now}}
	}
}

// of returns what a broker may say of the request that is out.
func of(tell func(seq uint64) []protocol.Event) func(int, *protocol.Slot, *protocol.Request, protocol.Instant) []protocol.Event {
	return func(_ int, _ *protocol.Slot, r *protocol.Request, _ protocol.Instant) []protocol.Event {
		return tell(r.Seq())
	}
}

// grantOf is a grant of job 1 under a token that nobody gave out.
func grantOf(seq uint64, version uint16, now protocol.Instant) protocol.Event {
	token := protocol.Token(now/protocol.Instant(protocol.Microsecond)) + 1
	return protocol.GrantedJob(0, seq, 1, token, 0, version, 0)
}

func granting(versions ...uint16) func(int, *protocol.Slot, *protocol.Request, protocol.Instant) []protocol.Event {
	return func(_ int, _ *protocol.Slot, r *protocol.Request, now protocol.Instant) (evs []protocol.Event) {
		for _, v := range versions {
			evs = append(evs, grantOf(r.Seq(), v, now))
		}
		return append(evs, protocol.ClaimClosed(0, r.Seq(), protocol.OK, 0))
	}
}

var falsehoods = [...]falsehood{
	{"the lease is extended", about(protocol.RenewAnswered, protocol.OK)},
	{"the lease is extended, and an operator cancels", about(protocol.RenewAnswered, protocol.CancelOrder)},
	{"the lease has ended", about(protocol.RenewAnswered, protocol.Expired)},
	{"the job is somebody else's", about(protocol.RenewAnswered, protocol.Stale)},
	{"a renewal failed", about(protocol.RenewAnswered, protocol.Unknown)},
	{"its progress is saved", about(protocol.SaveAnswered, protocol.OK)},
	{"its progress is not saved, the lease has ended", about(protocol.SaveAnswered, protocol.Expired)},
	{"its progress is not saved, the job is somebody else's", about(protocol.SaveAnswered, protocol.Stale)},
	{"saving failed", about(protocol.SaveAnswered, protocol.Unknown)},
	{"it is settled", about(protocol.SettleAnswered, protocol.OK)},
	{"it is not settled, the job is somebody else's", about(protocol.SettleAnswered, protocol.Stale)},
	{"settling failed", about(protocol.SettleAnswered, protocol.Unknown)},
	{"an older claim of its job is settled", func(slot int, s *protocol.Slot, _ *protocol.Request, _ protocol.Instant) []protocol.Event {
		return []protocol.Event{protocol.Settled(slot, s.Job(), s.Token()+1, protocol.OK)}
	}},
	{"a claim of another job is settled", func(slot int, s *protocol.Slot, _ *protocol.Request, _ protocol.Instant) []protocol.Event {
		return []protocol.Event{protocol.Settled(slot, s.Job()+1, s.Token(), protocol.OK)}
	}},
	{"its job is cancelled by an operator", about(protocol.CancelAsked, protocol.NoCode)},
	{"job 1 is granted twice over", granting(0, 0)},
	{"job 1 is granted, in a version that is not understood", granting(1)},
	{"the request is withdrawn", of(func(seq uint64) []protocol.Event {
		return []protocol.Event{protocol.WithdrawClosed(0, seq, protocol.OK, 0)}
	})},
	{"withdrawing failed", of(func(seq uint64) []protocol.Event {
		return []protocol.Event{protocol.WithdrawClosed(0, seq, protocol.Unknown, 0)}
	})},
	{"claiming is refused", of(func(seq uint64) []protocol.Event {
		return []protocol.Event{protocol.ClaimClosed(0, seq, protocol.Refused, 0)}
	})},
	{"claiming failed", of(func(seq uint64) []protocol.Event {
		return []protocol.Event{protocol.ClaimClosed(0, seq, protocol.Unknown, 0)}
	})},
	{"it is registered", of(func(uint64) []protocol.Event { return []protocol.Event{protocol.RegisteredAs(1, protocol.OK)} })},
	{"registration is refused", of(func(uint64) []protocol.Event { return []protocol.Event{protocol.RegisteredAs(0, protocol.Refused)} })},
	{"registration failed", of(func(uint64) []protocol.Event { return []protocol.Event{protocol.RegisteredAs(0, protocol.Unknown)} })},
}

// lie has a worker hear something that nobody said.
func (e *engine) lie(st *state, i, k, n int) {
	w := &st.workers[i]
	for _, ev := range falsehoods[n].told(k, &w.slots[k], &w.request[0], st.now) {
		e.step(st, i, ev)
	}
}
