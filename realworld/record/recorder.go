package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// Options configure a Recorder.
type Options struct {
	// Dir is the folder that recordings are kept in. It is made if it does not exist. Workers
	// may share it, and then share its bound.
	Dir string
	// MaxBytes bounds what the recordings in Dir take together; the oldest segments go first.
	// 64 MiB: three days of a worker that runs a job a second, or the last five minutes of one
	// that runs a thousand.
	MaxBytes int64
	// SegmentBytes is the length of a segment. 4 MiB. A shorter one loses less when the oldest
	// goes, and costs a snapshot more often.
	SegmentBytes int64
	Logger       *slog.Logger // slog.Default; told when the recorder cannot write, and when it can again
}

// Defaults of Options.
const (
	DefaultMaxBytes     = 64 << 20
	DefaultSegmentBytes = 4 << 20
	leastSegmentBytes   = 16 << 10
)

// retryAfter is how long a recorder that could not write waits before it tries again. A full
// disk is not emptied by asking more often.
const retryAfter = 30 * protocol.Second

// flushLimit is how long the end of a life may wait for the disk. Run limits it further.
const flushLimit = 2 * time.Second

// Recorder records the life of one worker. It is a worker.Observer.
type Recorder struct {
	opt  Options
	out  *writer
	name func(segment uint64) string

	header  []byte // the frame that begins every segment
	segment uint64
	size    int64  // of the segment so far
	steps   uint64 // made by the machine so far
	last    protocol.Instant
	retryAt protocol.Instant // no segment is begun before; only after a failure
	open    bool             // a segment is being written

	body, frame, scratch []byte
}

// New returns a recorder for one worker. It makes the folder and tries whether it can be
// written to, so that a folder that cannot is found at the start and not after the incident.
func New(opt Options) (*Recorder, error) {
	if opt.Dir == "" {
		return nil, errors.New("record: no folder given; set Options.Dir to one that outlives the process")
	}
	if opt.MaxBytes == 0 {
		opt.MaxBytes = DefaultMaxBytes
	}
	if opt.SegmentBytes == 0 {
		opt.SegmentBytes = min(DefaultSegmentBytes, max(opt.MaxBytes/4, leastSegmentBytes))
	}
	if opt.Logger == nil {
		opt.Logger = slog.Default()
	}
	if opt.SegmentBytes < leastSegmentBytes {
		return nil, fmt.Errorf("record: segments of %d bytes are too short; make them %d or more", opt.SegmentBytes, leastSegmentBytes)
	}
	if opt.MaxBytes < 2*opt.SegmentBytes {
		return nil, fmt.Errorf("record: %d bytes do not hold two segments of %d; raise MaxBytes or lower SegmentBytes", opt.MaxBytes, opt.SegmentBytes)
	}
	if err := os.MkdirAll(opt.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("record: the folder cannot be made: %w", err)
	}
	probe, err := os.CreateTemp(opt.Dir, ".probe-*")
	if err != nil {
		return nil, fmt.Errorf("record: the folder cannot be written to: %w", err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return nil, fmt.Errorf("record: the folder cannot be written to: %w", err)
	}
	return &Recorder{opt: opt}, nil
}

// Begin opens the first segment.
func (r *Recorder) Begin(setup worker.Setup, state worker.State) {
	began := time.Now()
	header, err := json.Marshal(newHeader(setup, began))
	if err != nil {
		panic(fmt.Sprintf("record: a header that cannot be written: %v", err)) // plain numbers and strings
	}
	r.header = appendFrame(nil, append([]byte{frameHeader}, header...))
	r.name = namer(setup.Life, began)
	r.out = newWriter(r.opt)
	r.last = setup.Clock.Now()
	r.begin(state)
}

// begin begins a segment with the machine as it is now.
func (r *Recorder) begin(state worker.State) {
	r.segment++
	r.body = appendOpening(r.body[:0], opening{segment: r.segment, step: r.steps + 1, now: r.last})
	r.body = state.AppendSnapshot(r.body)
	r.frame = append(r.frame[:0], magic...)
	r.frame = append(r.frame, r.header...)
	r.frame = appendFrame(r.frame, r.body)
	r.open = r.out.begin(r.name(r.segment), r.frame)
	r.size = int64(len(r.frame))
}

// Step records a step.
func (r *Recorder) Step(now protocol.Instant, ev protocol.Event, effects []protocol.Effect, state worker.State) {
	r.steps++
	if !r.open {
		r.skip(now, state)
		return
	}
	r.body, r.scratch = appendStep(r.body[:0], r.scratch, r.last, now, &ev, effects)
	r.frame = appendFrame(r.frame[:0], r.body)
	r.last = now
	if !r.out.write(r.frame) {
		r.open = false
		r.retryAt = now
		if r.out.failed() {
			r.retryAt = now.Add(retryAfter)
		}
		return
	}
	r.size += int64(len(r.frame))
	if r.size >= r.opt.SegmentBytes {
		r.begin(state)
	}
}

// skip leaves a step out, and begins a segment after it if it is time to.
func (r *Recorder) skip(now protocol.Instant, state worker.State) {
	r.last = now
	if now < r.retryAt || r.out.behind() {
		return
	}
	r.begin(state)
	if !r.open {
		r.retryAt = now.Add(retryAfter)
	}
}

// Executed records nothing: what a handler did is not the machine's.
func (r *Recorder) Executed(worker.Execution) {}

// End records the end and waits until all of it is in its file.
func (r *Recorder) End(e worker.Ending) {
	if r.out == nil {
		return // it never began
	}
	if r.open {
		r.body = append(r.body[:0], frameEnd)
		if e.Broke != nil {
			r.body = appendBroken(r.body[:0], r.last, e)
		}
		r.body = append(r.body, byte(e.Status))
		r.frame = appendFrame(r.frame[:0], r.body)
		r.out.write(r.frame)
	}
	r.out.close(flushLimit)
}
