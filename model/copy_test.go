package model

import (
	"fmt"
	"slices"
	"testing"

	"github.com/quiesce/quiesce/protocol"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// dump writes down everything a broker knows, in an order of its own.
func dump(b *Broker) string {
	s := fmt.Sprintf("serial %d, sweep at %v, leases %d, journal %+v\n", b.serial, b.sweepAt, b.leases.running, b.journal[b.safe:])
	b.EachJob(func(job protocol.JobKey, row *JobRow) { s += fmt.Sprintf("job %d %+v\n", job, *row) })
	b.members.each(func(m *member) {
		s += fmt.Sprintf("member %+v", *m)
		b.members.eachGrant(m, func(g grant) { s += fmt.Sprintf(" granted %+v", g) })
		s += "\n"
	})
	queue := func(r *ring[protocol.JobKey]) (jobs []protocol.JobKey) {
		for i := range r.size {
			jobs = append(jobs, *r.at(i))
		}
		return jobs
	}
	b.eachLease(func(job protocol.JobKey, _ *JobRow) { s += fmt.Sprintf("lease of %d\n", job) })
	returned, delayed := slices.Clone(b.returned), slices.Clone(b.delayed)
	slices.Sort(returned)
	slices.SortFunc(delayed, func(d, e dueJob) int {
		if d.before(e) {
			return -1
		}
		return 1
	})
	return s + fmt.Sprintf("waiters %+v, fresh %v, finished %v, returned %v, delayed %v",
		b.members.waiters, queue(&b.fresh), queue(&b.finished), returned, delayed)
}

// someCall draws any call.
func (h *history) someCall(t *rapid.T, b *Broker) op {
	tick := func(t *rapid.T) op { return h.tick(t, b.Deadline()) }
	return rapid.SampledFrom([]func(*rapid.T) op{
		h.enqueue, h.enqueue, h.register, h.claim, h.claim, h.claim, h.settle, h.settle, h.renew, h.save, h.withdraw, h.going, h.cancel, h.park, tick, tick,
	}).Draw(t, "call")(t)
}

// live plays a random history to all of the given brokers; they must answer alike.
func (h *history) live(t *rapid.T, calls int, brokers ...*Broker) {
	outs := make([]Outbox, len(brokers))
	for range rapid.IntRange(0, calls).Draw(t, "calls") {
		call := h.someCall(t, brokers[0])
		for i, b := range brokers {
			outs[i].Reset()
			call(b, &outs[i])
			require.Equal(t, outs[0].Answers, outs[i].Answers)
			require.Equal(t, outs[0].Facts, outs[i].Facts)
		}
		h.learn(&outs[0])
	}
}

func TestACopyBehavesEquallyAndSharesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := brokerConfig(t)
		h := newHistory()
		original := NewBroker(cfg, testSeats, testSlots)
		h.live(t, 60, original)
		then := dump(original)

		// One copy goes into fresh memory, the other into that of a broker with a past and
		// another size.
		fresh := new(Broker)
		used := NewBroker(brokerConfig(t), rapid.IntRange(0, testSeats).Draw(t, "seats"), rapid.IntRange(0, testSlots+1).Draw(t, "slots"))
		newHistory().live(t, 30, used)
		original.CopyTo(fresh)
		original.CopyTo(used)
		require.Equal(t, then, dump(fresh))
		require.Equal(t, then, dump(used))

		// Each lives on by itself and the others do not notice.
		h.fork().live(t, 30, used)
		require.Equal(t, then, dump(original))
		require.Equal(t, then, dump(fresh))
		original.CopyTo(used)
		h.fork().live(t, 30, original)
		require.Equal(t, then, dump(fresh))
		require.Equal(t, then, dump(used))

		// Told the same, they answer the same.
		h.live(t, 40, fresh, used)
		require.Equal(t, dump(fresh), dump(used))
	})
}

func TestACopyOfABrokerThatFailedOverIsEqualToo(t *testing.T) {
	s := tell(t, journal)
	for range 5 {
		s.job()
	}
	a := s.worker(0, 1)
	s.at(5 * second)
	a.ask(3)
	copied := new(Broker)
	s.b.CopyTo(copied)
	s.at(6 * second)
	s.forget(4 * second)
	var out Outbox
	copied.Forget(s.now, protocol.Instant(4*second), &out)
	require.Equal(t, s.out.Facts, out.Facts)
	require.Empty(t, out.Answers)
	require.Equal(t, dump(s.b), dump(copied))
}

func (h *history) fork() *history {
	f := *h
	f.lives, f.held = slices.Clone(h.lives), slices.Clone(h.held)
	f.seqs = map[uint64]uint64{}
	for incarnation, seq := range h.seqs {
		f.seqs[incarnation] = seq
	}
	return &f
}
