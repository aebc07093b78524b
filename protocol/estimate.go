package protocol

import "math/bits"

// BucketsPerKind is the number of buckets in which executions of one kind are counted by how
// long they took; see Estimate.
const BucketsPerKind = 32

// Histograms are what a machine has been told of how long executions take. With nil it is told nothing.
type Histograms struct {
	buckets []uint32 // BucketsPerKind per kind
}

// NewHistograms allocates those of one machine; it returns nil if its policy uses none.
func NewHistograms(cfg *Config) *Histograms {
	if cfg.Policy.Estimates == NoEstimates && cfg.Policy.LateClaim != RunLateClaimIfShort {
		return nil
	}
	return &Histograms{make([]uint32, BucketsPerKind*len(cfg.Kinds))}
}

// all returns the buckets of every kind, one kind after the other.
func (h *Histograms) all() []uint32 {
	if h == nil {
		return nil
	}
	return h.buckets
}

// judgeEvery is how often an adaptive drain weighs its running jobs again.
const judgeEvery = Second

// onEstimated stores one bucket of a kind's execution times.
func (m *Machine) onEstimated(now Instant, ev Event) {
	i, buckets := int(ev.JobKind)*BucketsPerKind+int(ev.Seq), m.histograms.all()
	if m.phase == PhaseGone || ev.Seq >= BucketsPerKind || i >= len(buckets) {
		return
	}
	buckets[i] = ev.Count
	if m.phase == PhaseDraining && m.cfg.Policy.Estimates == Adaptive {
		m.againAt = now
	}
}

// The limits of bucket b, in milliseconds: 2^b to 2^(b+1), and from 0 for the first.
func bucketLow(b int) int64 {
	if b == 0 {
		return 0
	}
	return 1 << b
}
func bucketHigh(b int) int64 { return 2 << b }

// tail sums a kind's executions by what they took beyond e ms: how many took longer, and
// the mean of what those took altogether. Within a bucket they lie evenly.
func (m *Machine) tail(kind Kind, e int64) (n, meanTotal int64) {
	var sumHi, sumLo uint64
	for b, c := range m.histograms.buckets[int(kind)*BucketsPerKind : (int(kind)+1)*BucketsPerKind] {
		lo, hi := bucketLow(b), bucketHigh(b)
		if c == 0 || hi <= e {
			continue
		}
		// Counts are scaled by 1024 so that the part of a bucket beyond e does not vanish.
		part := int64(c) << 10
		if e > lo {
			part = part * ((hi - e) << 10 / (hi - lo)) >> 10
			lo = e
		}
		n += part
		h, l := bits.Mul64(uint64(part), uint64(lo+hi)/2)
		var carry uint64
		sumLo, carry = bits.Add64(sumLo, l, 0)
		sumHi, _ = bits.Add64(sumHi, h, carry)
	}
	if n == 0 {
		return 0, 0
	}
	mean, _ := bits.Div64(sumHi%uint64(n), sumLo, uint64(n))
	return n, int64(mean)
}

// isShort reports whether nine in ten executions of a kind take no more than half of left.
// Without an estimate the answer is no.
func (m *Machine) isShort(kind Kind, left Duration) bool {
	if m.histograms == nil || left <= 0 {
		return false
	}
	all, _ := m.tail(kind, 0)
	longer, _ := m.tail(kind, int64(left/2/Millisecond))
	return all > 0 && longer*10 <= all
}

// handOff is what handing a job back is expected to cost before it starts elsewhere.
const handOff = int64(Second / Millisecond)

// worthKeeping weighs going on with a job against handing it back at once, by the expected
// time to its completion. With e elapsed since the last stored cursor, B left until the
// cancel, p the chance to fit into B and s the hand-off, it is worth going on while
//
//	p·E[rest | fits] + (1−p)·(B + s + E[D | D > e+B]) ≤ s + E[D | D > e]
//
// All in milliseconds; p is a ratio of counts.
func (m *Machine) worthKeeping(now Instant, s *Slot) bool {
	e := int64(now.Sub(s.progress) / Millisecond)
	b := int64(max(m.cancelAt(s.kind).Sub(now), 0) / Millisecond)
	all, total := m.tail(s.kind, e)
	if all == 0 {
		return b > 0 // nothing is known about an execution this long: keep what was done
	}
	longer, longerTotal := m.tail(s.kind, e+b)
	fits := all - longer
	var rest int64
	if fits > 0 {
		// The mean of those that fit follows from the two tails.
		rest = total - e
		if longer > 0 {
			rest = total - e - scaled(longer, longerTotal-total, fits)
		}
	}
	keep := scaled(fits, rest, all) + scaled(longer, b+handOff+longerTotal, all)
	return keep <= handOff+total
}

// scaled returns a·x/c in 128 bits; a and c are not negative and a/c is moderate.
func scaled(a, x, c int64) int64 {
	neg := x < 0
	if neg {
		x = -x
	}
	h, l := bits.Mul64(uint64(a), uint64(x))
	q, _ := bits.Div64(h%uint64(c), l, uint64(c))
	if neg {
		return -int64(q)
	}
	return int64(q)
}

// judgeAll hands back what is not worth going on with, and comes again in a while.
func (m *Machine) judgeAll(now Instant, fx *Effects) {
	m.againAt = Never
	if m.phase != PhaseDraining && m.phase != PhaseCancelling {
		return
	}
	for i := range m.slots {
		s := &m.slots[i]
		if s.state != SlotRunning {
			continue
		}
		if m.histograms == nil || m.worthKeeping(now, s) {
			m.againAt = now.Add(judgeEvery)
			continue
		}
		m.drainCancel(now, i, ErrDraining, fx)
	}
}
