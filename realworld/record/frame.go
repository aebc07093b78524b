package record

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// magic begins every segment. The bytes between the words break in every transfer that takes
// a recording for text.
const magic = "quiesce\x1aflight\n\x00"

// format is raised whenever the layout changes.
const format = 1

// What a frame is.
const (
	frameHeader = 1 + iota
	frameOpening
	frameStep
	frameEnd
	frameBroken
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendFrame wraps a body.
func appendFrame(buf, body []byte) []byte {
	buf = binary.AppendUvarint(buf, uint64(len(body)))
	buf = append(buf, body...)
	return binary.LittleEndian.AppendUint32(buf, crc32.Checksum(body, castagnoli))
}

// appendStep writes the body of a step. It also returns the scratch that the effects were
// hashed in.
func appendStep(body, scratch []byte, last, now protocol.Instant, ev *protocol.Event, effects []protocol.Effect) ([]byte, []byte) {
	body = append(body, frameStep)
	body = binary.AppendVarint(body, int64(now-last))
	body = appendEvent(body, now, ev)
	body = binary.AppendUvarint(body, uint64(len(effects)))
	if len(effects) == 0 {
		return body, scratch
	}
	for i := range effects {
		a := Of(&effects[i])
		body = append(body, byte(a.Kind), a.Detail)
		body = binary.AppendVarint(body, int64(a.Slot))
	}
	sum, scratch := hash(effects, scratch)
	return binary.LittleEndian.AppendUint64(body, sum), scratch
}

// opening begins a segment.
type opening struct {
	segment uint64 // its number, from 1
	step    uint64 // the number of the step that comes next, from 1; a gap says how many were left out
	now     protocol.Instant
}

func appendOpening(body []byte, o opening) []byte {
	body = append(body, frameOpening)
	body = binary.AppendUvarint(body, o.segment)
	body = binary.AppendUvarint(body, o.step)
	return binary.AppendVarint(body, int64(o.now))
}

func (d *decoder) opening() opening {
	return opening{d.uint(), d.uint(), protocol.Instant(d.int())}
}

// appendBroken writes the body of the end of a machine that broke.
func appendBroken(body []byte, last protocol.Instant, e worker.Ending) []byte {
	body = append(body, frameBroken)
	body = binary.AppendVarint(body, int64(e.Now-last))
	body = appendEvent(body, e.Now, &e.Event)
	text := fmt.Sprint(e.Broke)
	body = binary.AppendUvarint(body, uint64(len(text)))
	return append(body, text...)
}
