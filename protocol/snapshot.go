package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// snapshotFormat is raised whenever the layout below changes. A snapshot of another format
// is refused: what it would be read as is some other machine.
const snapshotFormat = 2

// AppendSnapshot appends the exact state of m to buf: a machine that reads it back takes
// every later Step as m would. Unlike AppendCanonical it keeps instants, tokens and numbers
// as they are. It holds no part of the Config, so a recording keeps that beside it. It
// allocates nothing when buf has room.
func (m *Machine) AppendSnapshot(buf []byte) []byte {
	buf = append(buf, snapshotFormat,
		byte(m.phase), m.retries, m.settleTries, m.status, m.termGroups, m.interrupts, bit(m.wantsQuiet), bit(m.more))
	buf = binary.AppendUvarint(buf, m.seed)
	buf = binary.AppendUvarint(buf, m.incarnation)
	buf = binary.AppendUvarint(buf, uint64(m.draws))
	buf = binary.AppendUvarint(buf, uint64(m.surplus))
	for _, t := range [...]Instant{
		m.wake, m.againAt, m.renewAt, m.settleAt, m.stopAt, m.doubtTo, m.surplusTo,
		m.budget.undoBy, m.budget.settleBy, m.budget.exitBy, m.budget.killAt, m.termAt,
	} {
		buf = binary.AppendVarint(buf, int64(t))
	}
	buf = binary.AppendUvarint(buf, uint64(len(m.slots)))
	buf = binary.AppendUvarint(buf, uint64(len(m.requests)))
	buf = binary.AppendUvarint(buf, uint64(len(m.histograms.all())))
	for i := range m.slots {
		buf = m.slots[i].appendSnapshot(buf)
	}
	for q := range m.requests {
		buf = m.requests[q].appendSnapshot(buf)
	}
	for _, b := range m.histograms.all() {
		buf = binary.AppendUvarint(buf, uint64(b))
	}
	return buf
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// appendSnapshot writes an empty slot as one byte: most slots of most snapshots are.
func (s *Slot) appendSnapshot(buf []byte) []byte {
	if *s == (Slot{}) {
		return append(buf, 0)
	}
	buf = append(buf, 1, byte(s.state), byte(s.verb), byte(s.reason), byte(s.cause), s.missed, s.queue)
	for _, n := range [...]uint64{uint64(s.job), uint64(s.token), uint64(s.cursor), uint64(s.kind), uint64(s.flags)} {
		buf = binary.AppendUvarint(buf, n)
	}
	for _, t := range [...]Instant{s.mark, s.progress, s.trust, s.asked} {
		buf = binary.AppendVarint(buf, int64(t))
	}
	return buf
}

func (r *Request) appendSnapshot(buf []byte) []byte {
	buf = append(buf, byte(r.state), r.tries, r.empties, bit(r.handedBack), bit(r.inLedger))
	buf = binary.AppendUvarint(buf, r.seq)
	for _, n := range [...]int64{int64(r.sent), int64(r.due), int64(r.want), int64(r.granted)} {
		buf = binary.AppendVarint(buf, n)
	}
	return buf
}

// SnapshotSlots returns how many slots a machine needs to read the snapshot at the start of
// data, so that whoever has nothing but a recording can make its memory.
func SnapshotSlots(data []byte) (int, error) {
	r := snapshotReader{rest: data}
	var m Machine
	slots, _, _ := r.head(&m)
	return slots, r.err
}

// ReadSnapshot makes m the machine whose snapshot is at the start of data and returns what
// follows it. cfg must be the Config of the machine that wrote it, and mem have its size;
// both are m's afterwards, as with Init. Data that no machine can have written is refused
// with an error, and m must then not be stepped.
func (m *Machine) ReadSnapshot(cfg *Config, mem Memory, data []byte) (rest []byte, err error) {
	r := snapshotReader{rest: data}
	*m = Machine{cfg: cfg, slots: mem.Slots, requests: mem.Requests, histograms: mem.Histograms, present: mem.Present}
	slots, requests, buckets := r.head(m)
	if r.err == nil && (slots != len(mem.Slots) || requests != len(mem.Requests) || buckets != len(mem.Histograms.all())) {
		r.err = fmt.Errorf("protocol: snapshot of %d slots, %d requests and %d buckets does not fit memory of %d, %d and %d; it belongs to another configuration",
			slots, requests, buckets, len(mem.Slots), len(mem.Requests), len(mem.Histograms.all()))
	}
	if r.err != nil {
		return nil, r.err
	}
	for i := range m.slots {
		r.slot(&m.slots[i], len(cfg.Kinds))
	}
	for q := range m.requests {
		r.request(&m.requests[q])
	}
	for i := range m.histograms.all() {
		m.histograms.buckets[i] = uint32(r.below(1 << 32))
	}
	return r.rest, r.err
}

var errSnapshot = errors.New("protocol: damaged snapshot; no machine can have written it")

// snapshotReader reads a snapshot. After its first error it reads zeros.
type snapshotReader struct {
	rest []byte
	err  error
}

// head reads all that comes before the slots into m, and returns their numbers.
func (r *snapshotReader) head(m *Machine) (slots, requests, buckets int) {
	if format := r.byte(255); r.err == nil && format != snapshotFormat {
		r.err = fmt.Errorf("protocol: snapshot of format %d, and this version reads format %d; read it with the version that wrote it", format, snapshotFormat)
	}
	m.phase = Phase(r.byte(byte(phases) - 1))
	m.retries, m.settleTries, m.status = r.byte(255), r.byte(255), r.byte(ExitAtOnce)
	m.termGroups, m.interrupts, m.wantsQuiet, m.more = r.byte(255), r.byte(255), r.bool(), r.bool()
	m.seed, m.incarnation, m.draws = r.uint(), r.uint(), uint32(r.below(1<<32))
	m.surplus = uint32(r.below(1 << 32))
	for _, t := range [...]*Instant{
		&m.wake, &m.againAt, &m.renewAt, &m.settleAt, &m.stopAt, &m.doubtTo, &m.surplusTo,
		&m.budget.undoBy, &m.budget.settleBy, &m.budget.exitBy, &m.budget.killAt, &m.termAt,
	} {
		*t = r.instant()
	}
	// A slot, a request and a bucket take a byte or more each, so no damaged number can ask
	// for more memory than the snapshot is long.
	limit := uint64(len(r.rest)) + 1
	return int(r.below(limit)), int(r.below(limit)), int(r.below(limit))
}

func (r *snapshotReader) slot(s *Slot, kinds int) {
	*s = Slot{}
	if !r.bool() {
		return
	}
	s.state, s.verb = SlotState(r.byte(byte(slotStates)-1)), Verb(r.byte(byte(verbs)-1))
	s.reason, s.cause = Reason(r.byte(byte(Reasons)-1)), Cause(r.byte(byte(causes)-1))
	s.missed, s.queue = r.byte(255), r.byte(255)
	s.job, s.token, s.cursor = JobKey(r.uint()), Token(r.uint()), Cursor(r.uint())
	s.kind, s.flags = Kind(r.below(1<<16)), slotFlags(r.below(1<<16))
	s.mark, s.progress, s.trust, s.asked = r.instant(), r.instant(), r.instant(), r.instant()
	// A job of a kind that is not configured is refused at once: it is never more than settling.
	if int(s.kind) >= kinds && s.state != SlotSettling && s.state != SlotLeaked {
		r.damaged()
	}
}

func (r *snapshotReader) request(q *Request) {
	q.state = RequestState(r.byte(byte(requestStates) - 1))
	q.tries, q.empties, q.handedBack, q.inLedger = r.byte(255), r.byte(255), r.bool(), r.bool()
	q.seq, q.sent, q.due = r.uint(), r.instant(), r.instant()
	q.want, q.granted = r.int32(), r.int32()
}

func (r *snapshotReader) damaged() {
	if r.err == nil {
		r.rest, r.err = nil, errSnapshot
	}
}

func (r *snapshotReader) byte(most byte) byte {
	if len(r.rest) == 0 || r.rest[0] > most {
		r.damaged()
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *snapshotReader) bool() bool { return r.byte(1) == 1 }

func (r *snapshotReader) uint() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.damaged()
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *snapshotReader) below(limit uint64) uint64 {
	n := r.uint()
	if n >= limit {
		r.damaged()
		return 0
	}
	return n
}

func (r *snapshotReader) int() int64 {
	n, size := binary.Varint(r.rest)
	if size <= 0 {
		r.damaged()
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *snapshotReader) instant() Instant { return Instant(r.int()) }

func (r *snapshotReader) int32() int32 {
	n := r.int()
	if n != int64(int32(n)) {
		r.damaged()
		return 0
	}
	return int32(n)
}
