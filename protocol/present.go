package protocol

import "math/bits"

// Present counts the jobs in slots by a hash: where it counts none there is none. It is kept by the
// census, and known whenever that is.
type Present []uint8

// presentPerSlot is how many counts there are for a slot: few enough of them to lie in a cache, and
// so many that a job that is not there shares its count with one that is in one case of sixteen.
const presentPerSlot = 16

// NewPresent allocates one for a number of slots.
func NewPresent(slots int) Present {
	return make(Present, 1<<bits.Len(uint(presentPerSlot*slots-1)))
}

func (p Present) place(job JobKey) uint64 {
	return uint64(job) * 0x9e3779b97f4a7c15 >> (65 - bits.Len(uint(len(p))))
}

// mayHave reports whether a job may be in a slot.
func (p Present) mayHave(job JobKey) bool { return len(p) == 0 || p[p.place(job)] > 0 }

const most = 255 // counted here: from there on nobody knows how many, so it stays

func (p Present) add(job JobKey) {
	if len(p) == 0 {
		return
	}
	if n := &p[p.place(job)]; *n < most {
		*n++
	}
}

func (p Present) remove(job JobKey) {
	if len(p) == 0 {
		return
	}
	if n := &p[p.place(job)]; *n < most {
		*n--
	}
}
