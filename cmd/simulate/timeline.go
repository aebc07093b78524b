package main

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/quiesce/quiesce/protocol"
)

// who something happened to or through. Seats that are negative stand for others.
type who struct {
	seat int32
	life uint32
}

var (
	theBroker  = who{seat: -1}
	theRollout = who{seat: -2}
	theQueue   = who{seat: -3}
	theCounter = who{seat: -4}
)

// String counts lives from one: the world numbers the end of a life as well.
func (w who) String() string {
	switch {
	case w == theBroker:
		return "broker"
	case w == theRollout:
		return "rollout"
	case w == theQueue:
		return "queue"
	case w == theCounter:
		return "counter"
	case w.life <= 2:
		return fmt.Sprintf("worker %d", w.seat)
	default:
		return fmt.Sprintf("worker %d life %d", w.seat, (w.life+1)/2)
	}
}

// timeline writes what happened, line by line, as it is told.
type timeline struct {
	out    *bufio.Writer
	csv    *csv.Writer
	format string
	title  string // printed before the first line
	from   protocol.Instant
	lines  int
	err    error
}

func newTimeline(w io.Writer, title string, s *selection) *timeline {
	t := &timeline{out: bufio.NewWriterSize(w, 1<<16), format: s.format, from: s.from, title: title + "\n\n"}
	t.csv = csv.NewWriter(t.out)
	return t
}

// say writes one line, unless it comes before the part that was asked for.
func (t *timeline) say(at protocol.Instant, w fmt.Stringer, job protocol.JobKey, format string, args ...any) {
	if at < t.from || t.err != nil {
		return
	}
	what := fmt.Sprintf(format, args...)
	t.lines++
	switch t.format {
	case asJSON:
		o := object{{"at_seconds", number(float64(at) / 1e9)}, {"who", w.String()}}
		if job != 0 {
			o = append(o, member{"job", uint64(job)})
		}
		var text []byte
		if text, t.err = o.line(member{"what", what}); t.err == nil {
			_, t.err = t.out.Write(text)
		}
	case asCSV:
		if t.lines == 1 {
			t.err = t.csv.Write([]string{"at_seconds", "who", "job", "what"})
		}
		if t.err == nil {
			t.err = t.csv.Write([]string{strconv.FormatFloat(float64(at)/1e9, 'f', 6, 64), w.String(), strconv.FormatUint(uint64(job), 10), what})
			t.csv.Flush()
		}
	default:
		if t.lines == 1 {
			t.out.WriteString(t.title) // its error comes back with the next one
		}
		_, t.err = fmt.Fprintf(t.out, "%14s  %-19s  %s\n", clock(at), w, what)
	}
}

func (t *timeline) failed() bool { return t.err != nil }

func (t *timeline) flush() error {
	if t.err == nil {
		t.err = t.out.Flush()
	}
	return t.err
}

// clock writes an instant so that instants stand below each other: 1h20m05.013s.
func clock(at protocol.Instant) string {
	ms := (int64(at) + 500_000) / 1_000_000
	h, m, s := ms/3_600_000, ms/60_000%60, float64(ms%60_000)/1e3
	switch {
	case h > 0:
		return fmt.Sprintf("%dh%02dm%06.3fs", h, m, s)
	case m > 0:
		return fmt.Sprintf("%dm%06.3fs", m, s)
	default:
		return fmt.Sprintf("%.3fs", s)
	}
}

// brief writes a length of time inside a sentence.
func brief(d protocol.Duration) string {
	if d == protocol.Forever {
		return "for ever"
	}
	return prose(float64(d) / 1e9)
}
