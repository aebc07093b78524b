package record

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/quiesce/quiesce/protocol"
)

// Step is one step of a recording, made again.
type Step struct {
	Number   uint64 // in the life of the worker, from 1
	At       protocol.Instant
	Event    protocol.Event
	Job      protocol.JobKey   // that the event is about, looked up in its slot; 0 is none
	Recorded []Asked           // what the worker was asked for
	Effects  []protocol.Effect // what the machine asks for now
}

// Result is what came of a replay.
type Result struct {
	Steps       uint64 // made again
	From, Until protocol.Instant
	LeftOut     uint64 // steps between the first and the last that are in no segment
	Torn        string // where a file breaks off; empty when none does
	Ended       bool   // the end was recorded; otherwise the worker was killed, or lives
	Status      int    // with Ended
	Broke       string // with Ended: what the machine panicked with
	Stopped     bool   // because see said so
	Divergence  *Divergence
}

// Divergence is the first step at which the machine did not do what was recorded.
type Divergence struct {
	Step
	What string // differs: one sentence
	Rule Rule   // that decides about it
}

// Replay makes every step again on the machine of this version, from the snapshot that opens
// the first segment, and compares. It stops at the first divergence, at the end, and when
// see returns false, which it may before a step that is not to be compared any more; what see is
// given is valid during the call. The error is about the
// files.
func (r *Recording) Replay(see func(*Step) bool) (*Result, error) {
	p := player{recording: r, see: see, fx: protocol.NewEffects(r.Header.Slots, r.Header.Config.Queues)}
	p.result.From = r.Segments[0].At
	for i := range r.Segments {
		if err := p.segment(&r.Segments[i]); err != nil {
			return &p.result, err
		}
		if p.result.Divergence != nil || p.result.Stopped {
			break
		}
	}
	return &p.result, nil
}

// player is a replay under way.
type player struct {
	recording *Recording
	see       func(*Step) bool
	machine   protocol.Machine
	fx        *protocol.Effects
	next      uint64 // number of the step that follows; 0 before the first segment
	now       protocol.Instant
	result    Result
	step      Step
	scratch   []byte
	asked     []Asked
}

func (p *player) segment(s *Segment) error {
	if p.next == s.First {
		if p.scratch = p.machine.AppendSnapshot(p.scratch[:0]); !bytes.Equal(p.scratch, s.snapshot) {
			p.step = Step{Number: s.First - 1, At: s.At}
			p.diverge("the state of the machine is another than the recorded one, although it asked for the same until here")
			return nil
		}
	} else if p.next > 0 && s.First > p.next {
		p.result.LeftOut += s.First - p.next
	}
	cfg := &p.recording.Header.Config
	if _, err := p.machine.ReadSnapshot(cfg, protocol.NewMemory(cfg, p.recording.Header.Slots), s.snapshot); err != nil {
		return bad(s.Path, int64(len(magic)), "%v", err)
	}
	p.next, p.now = s.First, s.At
	f := framesOf(s.Path, s.frames, s.offset)
	for p.result.Divergence == nil && !p.result.Stopped {
		body, err := f.next()
		if err != nil {
			return err
		}
		if body == nil {
			if n := len(f.rest); n > 0 {
				p.result.Torn = fmt.Sprintf("%s breaks off at byte %d, in the middle of a frame: its process was killed, and its last moment is missing", s.Path, f.offset)
			}
			return nil
		}
		if err := p.frame(body); err != nil {
			return bad(s.Path, f.at, "the frame cannot be read: %v", err)
		}
	}
	return nil
}

// frame makes the step of a frame again.
func (p *player) frame(body []byte) error {
	d := decoder{rest: body[1:]}
	switch body[0] {
	case frameStep:
		p.read(&d)
		p.asked = p.asked[:0]
		for range d.count() {
			p.asked = append(p.asked, d.asked())
		}
		p.step.Recorded = p.asked
		var sum uint64
		if len(p.asked) > 0 {
			sum = d.hash()
		}
		if d.err != nil {
			return d.err
		}
		p.again(sum)
	case frameBroken:
		p.read(&d)
		text := string(d.bytes())
		p.result.Ended, p.result.Status, p.result.Broke = true, int(d.byte()), text
		if d.err != nil {
			return d.err
		}
		p.breakAgain(text)
	case frameEnd:
		p.result.Ended, p.result.Status = true, int(d.byte())
		return d.err
	default:
		return fmt.Errorf("its type %d is not known to this version", body[0])
	}
	return nil
}

// read reads the beginning of a step.
func (p *player) read(d *decoder) {
	p.now += protocol.Instant(d.int())
	p.step = Step{Number: p.next, At: p.now, Event: d.event(p.now)}
	p.step.Job = p.jobOf(&p.step.Event)
	p.next++
}

// jobOf looks up the job that an event is about.
func (p *player) jobOf(ev *protocol.Event) protocol.JobKey {
	switch ev.Kind {
	case protocol.HandlerReturned, protocol.SaveAsked, protocol.UndoReturned:
		if slots := p.machine.Slots(); ev.Slot >= 0 && int(ev.Slot) < len(slots) {
			return slots[ev.Slot].Job()
		}
	}
	return ev.Job
}

// again makes a step and compares what is asked for.
func (p *player) again(sum uint64) {
	panicked := p.try()
	p.step.Effects = p.fx.All()
	if p.see != nil && !p.see(&p.step) {
		p.result.Stopped = true
		return
	}
	p.result.Steps++
	p.result.Until = p.now
	var now uint64
	if len(p.step.Effects) > 0 {
		now, p.scratch = hash(p.step.Effects, p.scratch)
	}
	switch {
	case panicked != "":
		p.diverge("the machine panics here, and did not then: " + panicked)
	case len(p.step.Effects) != len(p.asked) || now != sum:
		p.diverge("the machine asks for something else than it did then")
	}
}

// breakAgain makes the step again that a machine broke at.
func (p *player) breakAgain(text string) {
	panicked := p.try()
	p.step.Effects = p.fx.All()
	p.result.Until = p.now
	switch panicked {
	case text:
	case "":
		p.diverge("the machine panicked here then, and does not now: " + text)
	default:
		p.diverge(fmt.Sprintf("the machine panics here as it did then, but with %q instead of %q", panicked, text))
	}
}

// try steps the machine and returns what it panicked with.
func (p *player) try() (panicked string) {
	defer func() {
		if v := recover(); v != nil {
			panicked = fmt.Sprint(v)
		}
	}()
	p.fx.Reset()
	p.machine.Step(p.now, p.step.Event, p.fx)
	return ""
}

func (p *player) diverge(what string) {
	s := p.step
	s.Recorded = append([]Asked(nil), s.Recorded...)
	s.Effects = append([]protocol.Effect(nil), s.Effects...)
	p.result.Divergence = &Divergence{Step: s, What: what, Rule: ruleOf(&s)}
}

// count reads a number of things that take a byte or more each.
func (d *decoder) count() int {
	n := d.uint()
	if n > uint64(len(d.rest)) {
		d.fail(errShort)
		return 0
	}
	return int(n)
}

func (d *decoder) bytes() []byte {
	n := d.count()
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) hash() uint64 {
	if len(d.rest) < 8 {
		d.fail(errShort)
		return 0
	}
	sum := binary.LittleEndian.Uint64(d.rest)
	d.rest = d.rest[8:]
	return sum
}
