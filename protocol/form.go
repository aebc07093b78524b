package protocol

import "encoding/binary"

// FormWriter writes canonical forms: those of the machine, of a broker and of whatever world a
// search is about. What it writes is appended to Buf.
type FormWriter struct {
	Buf []byte
	Now Instant // instants are written relative to it
}

// An instant in canonical form is one byte when it is Never or a few half seconds from now, as
// nearly all are in a world made for a search, whose durations are whole seconds and slices of
// them; others are a mark and the difference.
const (
	never       = 0
	apart       = 1   // a difference in nanoseconds follows
	near        = 2   // the fewest half seconds from now that are one byte
	meaningless = 255 // no instant at all

	half       = Second / 2
	mostBefore = 60 // in halves
	mostAfter  = meaningless - 1 - near - mostBefore
)

// Byte writes a byte.
func (w *FormWriter) Byte(b byte) { w.Buf = append(w.Buf, b) }

// Flag writes a bool.
func (w *FormWriter) Flag(b bool) { w.Buf = append(w.Buf, oneIf(b)) }

func oneIf(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// Num writes a number, in one byte if it is below 128.
func (w *FormWriter) Num(n uint64) {
	if n < 0x80 {
		w.Buf = append(w.Buf, byte(n))
		return
	}
	w.Buf = binary.AppendUvarint(w.Buf, n)
}

// Nums is Num for several: how long Buf is need not be looked up for each.
func (w *FormWriter) Nums(numbers ...uint64) {
	buf := w.Buf
	for _, n := range numbers {
		if n < 0x80 {
			buf = append(buf, byte(n))
		} else {
			buf = binary.AppendUvarint(buf, n)
		}
	}
	w.Buf = buf
}

// At writes an instant. Never stays Never, whatever Now is.
func (w *FormWriter) At(t Instant) { w.Buf = appendAt(w.Buf, w.Now, t) }

// Ats is At for several.
func (w *FormWriter) Ats(instants ...Instant) {
	buf := w.Buf
	for _, t := range instants {
		buf = appendAt(buf, w.Now, t)
	}
	w.Buf = buf
}

func appendAt(buf []byte, now, t Instant) []byte {
	if t == Never {
		return append(buf, never)
	}
	if n, ok := halves(Duration(t - now)); ok {
		return append(buf, n)
	}
	return appendFar(buf, t.Sub(now))
}

// halves is a difference of a few half seconds as one byte.
func halves(d Duration) (b byte, ok bool) {
	d += mostBefore * half
	n := uint64(d) / uint64(half)
	return near + byte(n), n <= mostBefore+mostAfter && n*uint64(half) == uint64(d)
}

// AtIf writes an instant that only means something under a condition.
func (w *FormWriter) AtIf(meant bool, t Instant) {
	if meant {
		w.At(t)
	} else {
		w.Buf = append(w.Buf, meaningless)
	}
}

// Span writes a duration as the instant that is so far from Now.
func (w *FormWriter) Span(d Duration) {
	if d == Forever {
		w.Buf = append(w.Buf, never)
		return
	}
	w.Buf = appendApart(w.Buf, d)
}

func appendApart(buf []byte, d Duration) []byte {
	if n, ok := halves(d); ok {
		return append(buf, n)
	}
	return appendFar(buf, d)
}

func appendFar(buf []byte, d Duration) []byte {
	return binary.AppendVarint(append(buf, apart), int64(d))
}

// FormReader reads what a FormWriter wrote. The bytes are not checked: whoever reads others
// panics.
type FormReader struct {
	buf []byte
	pos int
	now Instant
}

// ReadForm returns a reader of the form at the start of buf, for which it is now.
func ReadForm(buf []byte, now Instant) FormReader { return FormReader{buf: buf, now: now} }

// Read is how many bytes were read.
func (r *FormReader) Read() int { return r.pos }

// Rest is what was not read.
func (r *FormReader) Rest() []byte { return r.buf[r.pos:] }

// Byte reads a byte.
func (r *FormReader) Byte() byte {
	b := r.buf[r.pos]
	r.pos++
	return b
}

// Flag reads a bool.
func (r *FormReader) Flag() bool { return r.Byte() != 0 }

// Num reads a number.
func (r *FormReader) Num() uint64 {
	if b := r.buf[r.pos]; b < 0x80 {
		r.pos++
		return uint64(b)
	}
	return r.long()
}

func (r *FormReader) long() uint64 {
	n, length := binary.Uvarint(r.buf[r.pos:])
	r.pos += length
	return n
}

// At reads an instant.
func (r *FormReader) At() Instant {
	b := r.Byte()
	if b >= near {
		return r.now + Instant(fromHalves(b))
	}
	if b == never {
		return Never
	}
	return r.now.Add(r.far())
}

// fromHalves is the difference that halves made a byte of.
func fromHalves(b byte) Duration { return Duration(int64(b)-near-mostBefore) * half }

// AtIf reads an instant, and whether it means anything.
func (r *FormReader) AtIf() (t Instant, meant bool) {
	if r.buf[r.pos] == meaningless {
		r.pos++
		return 0, false
	}
	return r.At(), true
}

// Span reads a duration.
func (r *FormReader) Span() Duration {
	b := r.Byte()
	if b >= near {
		return fromHalves(b)
	}
	if b == never {
		return Forever
	}
	return r.far()
}

// far is a difference that is no few half seconds.
func (r *FormReader) far() Duration {
	d, n := binary.Varint(r.buf[r.pos:])
	r.pos += n
	return Duration(d)
}
