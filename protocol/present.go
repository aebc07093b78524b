package protocol

import "math/bits"

// Present counts the jobs in slots by a hash: where it counts none there is none. It is kept by the
// census, and known whenever that is. A nil one knows nothing.
type Present struct {
	counts []uint8 // as many as a power of two
}

// presentPerSlot is how many counts there are for a slot: few enough of them to lie in a cache, and
// so many that a job that is not there shares its count with one that is in one case of sixteen.
const presentPerSlot = 16

// NewPresent allocates one for a number of slots.
func NewPresent(slots int) *Present {
	return &Present{make([]uint8, 1<<bits.Len(uint(presentPerSlot*slots-1)))}
}

func (p *Present) count(job JobKey) *uint8 {
	return &p.counts[uint64(job)*0x9e3779b97f4a7c15>>(65-bits.Len(uint(len(p.counts))))]
}

func (p *Present) clear() {
	if p != nil {
		clear(p.counts)
	}
}

// mayHave reports whether a job may be in a slot.
func (p *Present) mayHave(job JobKey) bool { return p == nil || *p.count(job) > 0 }

const most = 255 // counted here: from there on nobody knows how many, so it stays

func (p *Present) add(job JobKey) {
	if p == nil {
		return
	}
	if n := p.count(job); *n < most {
		*n++
	}
}

func (p *Present) remove(job JobKey) {
	if p == nil {
		return
	}
	if n := p.count(job); *n < most {
		*n--
	}
}
