package protocol

import "math/bits"

// Ranks replaces numbers that only ever grow by their order, so that two states which differ
// in nothing else are the same to a search. The world collects them, over the broker, the
// machines and the messages together. Jobs and seats go by other names only where those are as
// good: jobs that have ended, say, for which no order matters any more.
//
// A nil *Ranks leaves everything as it is.
type Ranks struct {
	Jobs   []uint8   // names, by job
	Seats  []uint8   // names, by seat
	Tokens []Numbers // by job
	Seqs   []Numbers // of claim requests, by seat
	Lives  []Numbers // incarnations, by seat
}

// Job is the name of a job.
func (r *Ranks) Job(job JobKey) uint64 {
	if r == nil {
		return uint64(job)
	}
	return uint64(r.Jobs[job])
}

// Seat is the name of a seat.
func (r *Ranks) Seat(seat int) uint64 {
	if r == nil {
		return uint64(seat)
	}
	return uint64(r.Seats[seat])
}

// Token is the rank of a token of a job.
func (r *Ranks) Token(job JobKey, t Token) uint64 {
	if r == nil {
		return uint64(t)
	}
	return r.Tokens[job].Rank(uint64(t))
}

// Seq is the rank of the number of a claim request of a seat.
func (r *Ranks) Seq(seat int, n uint64) uint64 {
	if r == nil {
		return n
	}
	return r.Seqs[seat].Rank(n)
}

// Incarnation is the rank of an incarnation of a seat.
func (r *Ranks) Incarnation(seat int, n uint64) uint64 {
	if r == nil {
		return n
	}
	return r.Lives[seat].Rank(n)
}

// Numbers is a small set of numbers that only ever grow. Zero, which means that there is none,
// is not in it. In a state that was read back all are small, and a step brings few others.
type Numbers struct {
	small uint64 // one bit each
	n     int    // of large
	large [16]uint64
}

// smallNumbers are those that are kept as bits.
const smallNumbers = 64

// Reset makes s the set of small numbers that are the bits of a word, as Small returns it.
func (s *Numbers) Reset(small uint64) { s.small, s.n = small, 0 }

// Small is the small numbers of s, as bits; that of zero means nothing.
func (s *Numbers) Small() uint64 { return s.small }

// Add puts x into the set.
func (s *Numbers) Add(x uint64) {
	if x < smallNumbers {
		s.small |= 1 << x
		return
	}
	s.addLarge(x)
}

func (s *Numbers) addLarge(x uint64) {
	k := s.n
	for k > 0 && s.large[k-1] > x {
		k--
	}
	if k > 0 && s.large[k-1] == x {
		return
	}
	copy(s.large[k+1:s.n+1], s.large[k:s.n])
	s.large[k] = x
	s.n++
}

// Rank is the place of x in the set, from 1 on; that of zero is zero.
func (s *Numbers) Rank(x uint64) uint64 {
	if x < smallNumbers {
		return uint64(bits.OnesCount64((s.small | 1) & (1<<x - 1)))
	}
	return s.rankLarge(x)
}

func (s *Numbers) rankLarge(x uint64) uint64 {
	r := uint64(bits.OnesCount64(s.small | 1))
	for k := 0; k < s.n && s.large[k] < x; k++ {
		r++
	}
	return r
}

// RanksIn returns the ranks that the numbers of s have in a set that they are in and of which the
// small ones are dense: a bit each, from rank 1 on. The last bit is that of all from 64 on.
func (s *Numbers) RanksIn(all *Numbers) uint64 {
	ranks := s.small >> 1
	for _, x := range s.large[:s.n] {
		ranks |= 1 << min(all.rankLarge(x)-1, 63)
	}
	return ranks
}

// Has reports whether x is in the set, or zero, which stands for none.
func (s *Numbers) Has(x uint64) bool {
	if x < smallNumbers {
		return x == 0 || s.small>>x&1 != 0
	}
	for _, y := range s.large[:s.n] {
		if y == x {
			return true
		}
	}
	return false
}

// Gone returns how many of the lowest numbers are missing from a set, if those of its small ones that
// follow them are one after another, and there are any.
func (s *Numbers) Gone() (n int, ok bool) {
	of := s.small >> 1
	n = bits.TrailingZeros64(of)
	of >>= n
	return n, of != 0 && of&(of+1) == 0
}

// Dense reports whether the numbers of the set below a limit are 1, 2, 3 and so on, so that
// each is its own rank.
func (s *Numbers) Dense(below uint64) bool {
	all := s.small | 1
	return all&(all+1) == 0 && (s.n == 0 || s.large[0] >= below)
}
