package record

import (
	"encoding/binary"
	"errors"
	"hash/crc64"
	"strconv"

	"github.com/quiesce/quiesce/protocol"
)

// Events and effects are written as a mask of the fields that are not zero, and those fields
// in the order of the mask. Most have few.

// Bits of an event's mask. The order is the format: new fields go to the end.
const (
	evCode = 1 << iota
	evSource
	evSignal
	evQueue
	evClean
	evFlush
	evJobKind
	evVersion
	evSlot
	evCount
	evSeq
	evJob
	evToken
	evAt
	evSent
	evSpan
	evCursor
	evMore
)

// appendEvent writes an event. Its instants are relative to now, which makes them short; a
// difference that overflows wraps around, and back when it is read.
func appendEvent(buf []byte, now protocol.Instant, ev *protocol.Event) []byte {
	fields := [...]struct {
		bit, value uint64
	}{
		{evCode, uint64(ev.Code)}, {evSource, uint64(ev.Source)}, {evSignal, uint64(ev.Signal)},
		{evQueue, uint64(ev.Queue)}, {evClean, flag(ev.Clean)}, {evFlush, flag(ev.Flush)},
		{evJobKind, uint64(ev.JobKind)}, {evVersion, uint64(ev.Version)}, {evSlot, zigzag(int64(ev.Slot))},
		{evCount, uint64(ev.Count)}, {evSeq, ev.Seq}, {evJob, uint64(ev.Job)}, {evToken, uint64(ev.Token)},
		{evAt, uint64(ev.At)}, {evSent, uint64(ev.Sent)}, {evSpan, zigzag(int64(ev.Span))}, {evCursor, uint64(ev.Cursor)},
		{evMore, flag(ev.More)},
	}
	var mask uint64
	for i := range fields {
		if fields[i].value != 0 {
			mask |= fields[i].bit
		}
	}
	buf = binary.AppendUvarint(append(buf, byte(ev.Kind)), mask)
	for i := range fields {
		switch f := &fields[i]; {
		case f.value == 0 || f.bit == evClean || f.bit == evFlush || f.bit == evMore: // the mask says it all
		case f.bit == evAt || f.bit == evSent:
			buf = binary.AppendVarint(buf, int64(f.value)-int64(now))
		default:
			buf = binary.AppendUvarint(buf, f.value)
		}
	}
	return buf
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func zigzag(n int64) uint64   { return uint64(n)<<1 ^ uint64(n>>63) }
func unzigzag(n uint64) int64 { return int64(n>>1) ^ -int64(n&1) }

var errShort = errors.New("it ends in the middle of a field")

// decoder reads numbers; after its first error it reads zeros.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) byte() byte {
	if len(d.rest) == 0 {
		d.fail(errShort)
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

func (d *decoder) uint() uint64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 {
		d.fail(errShort)
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *decoder) int() int64 { return unzigzag(d.uint()) }

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.rest, d.err = nil, err
	}
}

func (d *decoder) event(now protocol.Instant) protocol.Event {
	ev := protocol.Event{Kind: protocol.EventKind(d.byte())}
	mask := d.uint()
	field := func(bit uint64) uint64 {
		if mask&bit == 0 {
			return 0
		}
		return d.uint()
	}
	ev.Code, ev.Source, ev.Signal = protocol.Code(field(evCode)), protocol.Source(field(evSource)), protocol.Signal(field(evSignal))
	ev.Queue = uint8(field(evQueue))
	ev.Clean, ev.Flush, ev.More = mask&evClean != 0, mask&evFlush != 0, mask&evMore != 0
	ev.JobKind, ev.Version = protocol.Kind(field(evJobKind)), uint16(field(evVersion))
	ev.Slot, ev.Count = int32(unzigzag(field(evSlot))), uint32(field(evCount))
	ev.Seq, ev.Job, ev.Token = field(evSeq), protocol.JobKey(field(evJob)), protocol.Token(field(evToken))
	if mask&evAt != 0 {
		ev.At = now + protocol.Instant(d.int())
	}
	if mask&evSent != 0 {
		ev.Sent = now + protocol.Instant(d.int())
	}
	ev.Span, ev.Cursor = protocol.Duration(unzigzag(field(evSpan))), protocol.Cursor(field(evCursor))
	return ev
}

var ecma = crc64.MakeTable(crc64.ECMA)

// appendEffect writes an effect in full, to be hashed.
func appendEffect(buf []byte, e *protocol.Effect) []byte {
	buf = append(buf, byte(e.Kind), byte(e.Verb), byte(e.Reason), byte(e.Cause), byte(e.Note), byte(e.Outcome), e.Status, e.Queue, byte(flag(e.Private)))
	for _, n := range [...]uint64{
		uint64(e.JobKind), zigzag(int64(e.Slot)), zigzag(int64(e.Want)), e.Seq, uint64(e.Job), uint64(e.Token),
		zigzag(int64(e.At)), zigzag(int64(e.Until)), zigzag(int64(e.Span)), uint64(e.Cursor),
	} {
		buf = binary.AppendUvarint(buf, n)
	}
	return buf
}

// hash returns the hash of effects, and the scratch it was made in.
func hash(effects []protocol.Effect, scratch []byte) (uint64, []byte) {
	scratch = scratch[:0]
	for i := range effects {
		scratch = appendEffect(scratch, &effects[i])
	}
	return crc64.Checksum(scratch, ecma), scratch
}

// Asked is what a recording keeps of an effect beside its hash: enough to say what a worker
// did, not with which numbers.
type Asked struct {
	Kind   protocol.EffectKind
	Detail uint8 // Settle: verb and reason; Cancel: cause; Note, Line, Exit: their code
	Slot   int32
}

// Verb and Reason take the detail of a Settle apart.
func (a Asked) Verb() protocol.Verb { return protocol.Verb(a.Detail >> 4) }

// Reason is described with Verb.
func (a Asked) Reason() protocol.Reason { return protocol.Reason(a.Detail & 15) }

// Of returns what a recording keeps of e.
func Of(e *protocol.Effect) Asked {
	a := Asked{Kind: e.Kind, Slot: e.Slot}
	switch e.Kind {
	case protocol.Settle, protocol.Withdraw:
		a.Detail = uint8(e.Verb)<<4 | uint8(e.Reason)&15
	case protocol.Cancel:
		a.Detail = uint8(e.Cause)
	case protocol.Note:
		a.Detail = uint8(e.Note)
	case protocol.Line:
		a.Detail = uint8(e.Outcome)
	case protocol.Exit:
		a.Detail = e.Status
	}
	return a
}

func (d *decoder) asked() Asked {
	return Asked{Kind: protocol.EffectKind(d.byte()), Detail: d.byte(), Slot: int32(d.int())}
}

// String writes it like "Settle release (drain), slot 2".
func (a Asked) String() string {
	s := a.Kind.String()
	switch a.Kind {
	case protocol.Settle:
		s += " " + a.Verb().String()
		if a.Reason() != protocol.NoReason {
			s += " (" + a.Reason().String() + ")"
		}
	case protocol.Cancel:
		s += " (" + protocol.Cause(a.Detail).String() + ")"
	case protocol.Note:
		s += " " + protocol.NoteCode(a.Detail).String()
	case protocol.Line:
		s += " " + protocol.Outcome(a.Detail).String()
	case protocol.Exit:
		s += " " + strconv.Itoa(int(a.Detail))
	}
	if a.Slot >= 0 {
		s += ", slot " + strconv.Itoa(int(a.Slot))
	}
	return s
}
