package explore

import "encoding/binary"

// What an action does depends on a part of the state only: on one process, or on the broker, and on
// the message that is taken. Such parts come again, beside others. So a lane remembers for a while what
// came of them, as bytes of forms: what the process or the broker became, and what was sent, used up
// and added to the past. Where it comes upon the same parts again it puts the form of the next state
// together without making that state (recall.go).
//
// What is remembered was made by the machine and the broker, from these very bytes: that of a process
// alone (alone.go), that of the broker in a whole state (remember.go). It was an action that broke
// nothing, that looked at and touched nothing else, and after which every number still had its rank, or
// only those of one worker's requests had others. Which faults are used up belongs to it, as it may
// decide what is broken. A step for which it is looked at what the broker knows of jobs is remembered
// beside that. Tests compare all of it with what is made anew.

// memo is what a lane remembers: records, each after its key, in a ring. The oldest are written over.
type memo struct {
	off    bool
	most   int // bytes that the ring may have
	ring   []byte
	at     uint32   // where the next record goes
	places []uint32 // by key: where its record begins, from 1 on
}

// A ring grows while a search does; small ones fit into a cache, and touch little memory.
const (
	leastRing = 1 << 16
	mostRing  = 1 << 22
	perPlace  = 32 // bytes of the ring: most places are free, as there is one only for a key
)

// hash is a digest of a form, or of some parts of one.
type hash struct{ a, b uint64 }

func hashOf(part []byte) hash {
	a, b := digest(part)
	return hash{a, b}
}

// with is a digest of what p is of, something else, and a number.
func (p hash) with(q hash, n uint64) hash {
	const s1, s2, s3, s4 = 0x2d358dccaa6c78a5, 0x8bb84b93962eacc9, 0x4b33a62ed433d4a3, 0x4d5a2da51de1aa47
	return hash{mix(p.a^s1, q.a^n^s2) ^ q.b, mix(p.b^s3, q.b^n^s4) ^ p.a}
}

// A record begins with its key, and how long what follows is.
const (
	keySize    = 16
	recordHead = keySize + 2
)

// get returns the record with a key, if it is still there.
func (m *memo) get(key hash) []byte {
	if len(m.places) == 0 {
		return nil
	}
	at := m.places[m.place(key.a)]
	if at == 0 {
		return nil
	}
	r := m.ring[at-1:]
	if binary.LittleEndian.Uint64(r) != key.a || binary.LittleEndian.Uint64(r[8:]) != key.b {
		return nil
	}
	return r[recordHead : recordHead+int(binary.LittleEndian.Uint16(r[keySize:]))]
}

// begin begins a record, which put ends.
func (m *memo) begin(key hash) []byte {
	const most = 1 << 10 // bytes; what is longer is not remembered
	if int(m.at)+most > len(m.ring) {
		if len(m.ring) < m.most {
			m.grow()
		} else {
			m.at = 0
		}
	}
	b := m.ring[m.at : m.at : m.at+most]
	b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, key.a), key.b)
	return append(b, 0, 0) // for its length
}

// grow makes room for more than there is.
func (m *memo) grow() {
	n := min(max(leastRing, len(m.ring)*4), m.most)
	ring, old := make([]byte, n), m.places
	copy(ring, m.ring[:m.at])
	m.ring, m.places = ring, make([]uint32, n/perPlace)
	for _, at := range old {
		if at != 0 {
			m.places[m.place(binary.LittleEndian.Uint64(ring[at-1:]))] = at
		}
	}
}

func (m *memo) place(a uint64) uint64 { return a & uint64(len(m.places)-1) } // that is a power of two

func (m *memo) put(record []byte) bool {
	if int(m.at)+len(record) > len(m.ring) || &record[0] != &m.ring[m.at] {
		return false // it was too long, and is somewhere else
	}
	key := binary.LittleEndian.Uint64(record)
	binary.LittleEndian.PutUint16(record[keySize:], uint16(len(record)-recordHead))
	m.places[m.place(key)] = m.at + 1
	m.at += uint32(len(record))
	return true
}
