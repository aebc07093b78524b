package protocol

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/internal/deviation"
)

// A trace is the machine of one story.
type trace struct {
	deviations deviation.Set
	kinds      []KindConfig
	cfg        Config
	m          *Machine
	fx         *Effects
	now        Instant
	out        strings.Builder
	broken     bool // the machine panicked: only a deviation does that
	restores   bool // every step is made by a machine restored from a snapshot
}

func (tr *trace) run(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	tr.out.Reset()
	a := args{t, d}
	switch d.Cmd {
	case "kind":
		tr.kinds = append(tr.kinds, a.kind())
		return ""
	case "worker":
		tr.start(a)
		return tr.out.String()
	}
	require.NotNil(t, tr.m, "%s: a story begins with a worker", d.Pos)
	if at, ok := a.instant("at"); ok {
		tr.walk(at)
	}
	switch d.Cmd {
	case "tick":
		until, _ := a.instant("until")
		tr.walk(until)
		return tr.text()
	case "sleep":
		tr.now, _ = a.instant("until")
		tr.step(Event{})
		return tr.text()
	}
	for _, ev := range tr.events(a) {
		tr.step(ev)
	}
	return tr.text()
}

func (tr *trace) text() string {
	if tr.out.Len() == 0 {
		return "nothing\n"
	}
	return tr.out.String()
}

func (tr *trace) start(a args) {
	tr.cfg = a.config()
	if tr.cfg.Kinds = tr.kinds; tr.kinds == nil {
		tr.cfg.Kinds = []KindConfig{{MinVersion: 1, MaxVersion: 3, Gap: Second, Undo: 2 * Second}}
	}
	tr.kinds = nil
	tr.cfg = tr.cfg.WithDefaults()
	require.NoError(a.t, tr.cfg.Validate(), "%s", a.d.Pos)
	tr.cfg.Deviations = tr.deviations
	slots := a.number("slots", 1)
	tr.m, tr.fx, tr.now, tr.broken = new(Machine), NewEffects(slots, tr.cfg.Queues), 0, false
	tr.m.Init(&tr.cfg, NewMemory(&tr.cfg, slots), 0)
	tr.step(Event{})
	if !a.d.HasArg("unregistered") {
		tr.step(RegisteredAs(1, OK))
	}
}

// walk ticks at every deadline up to an instant, and leaves the clock there.
func (tr *trace) walk(until Instant) {
	for tr.m.Deadline() <= until && !tr.broken {
		tr.now = tr.m.Deadline()
		tr.step(Event{})
	}
	tr.now = max(tr.now, until)
}

// step steps the machine and writes down what it asks for.
func (tr *trace) step(ev Event) {
	if tr.broken {
		return
	}
	if tr.restores {
		tr.m = restored(tr.m)
	}
	tr.fx.Reset()
	was := tr.m.Phase()
	if panicked, message := impossibly(func() { tr.m.Step(tr.now, ev, tr.fx) }); panicked {
		tr.broken = true
		fmt.Fprintln(&tr.out, message)
		return
	}
	if len(tr.fx.All()) == 0 && was == tr.m.Phase() {
		return
	}
	fmt.Fprintf(&tr.out, "%v %v\n", tr.now, tr.m.Phase())
	for _, e := range tr.fx.All() {
		fmt.Fprintf(&tr.out, "  %s\n", inWords(e))
	}
}

// events translates a step of the story.
func (tr *trace) events(a args) []Event {
	queue, slot := a.number("queue", 0), a.number("slot", 0)
	seq := uint64(a.number("seq", int(tr.m.requests[queue].seq)))
	token := Token(a.number("token", int(tr.m.slots[slot].token)))
	job := JobKey(a.number("job", int(tr.m.slots[slot].job)))
	cursor := Cursor(a.number("cursor", 0))
	parked := a.duration("parked")
	sent, ok := a.instant("sent")
	if !ok {
		sent = tr.now
	}
	killAt, ok := a.instant("kill-at")
	if !ok {
		killAt = Never
	}
	code := a.code()
	switch a.d.Cmd {
	case "registered":
		return []Event{RegisteredAs(1, code)}
	case "granted":
		if a.text("parked") == "" { // it came without delay
			parked = tr.now.Sub(tr.m.requests[queue].sent)
		}
		granted := GrantedJob(queue, seq, JobKey(a.number("job", 0)), token, Kind(a.number("kind", 0)), uint16(a.number("version", 1)), parked)
		if a.d.HasArg("more") {
			return []Event{granted}
		}
		return []Event{granted, ClaimClosed(queue, seq, OK, parked)}
	case "answered":
		return []Event{ClaimClosed(queue, seq, code, parked)}
	case "withdrawn":
		return []Event{WithdrawClosed(queue, seq, max(code, OK), a.number("jobs", 0))}
	case "renewed":
		return []Event{Renewed(slot, job, token, code, sent, cursor)}
	case "saved":
		return []Event{Saved(slot, job, token, code, sent, cursor)}
	case "settled":
		ev := Settled(slot, job, token, code)
		ev.More = a.d.HasArg("followed")
		return []Event{ev}
	case "returned":
		ev := Returned(slot, code, !a.d.HasArg("unclean"))
		ev.More = a.d.HasArg("followed")
		return []Event{ev}
	case "undone":
		return []Event{Undid(slot, code)}
	case "save":
		return []Event{SaveCursor(slot, cursor, a.d.HasArg("flush"))}
	case "stop":
		return []Event{a.stop(killAt)}
	case "sigkill":
		at, _ := a.instant("moved-to")
		return []Event{KillAt(at)}
	case "quiet":
		return []Event{{Kind: QuietAsked}}
	case "resume":
		return []Event{{Kind: ResumeAsked}}
	case "reconnected":
		return []Event{{Kind: Reconnected}}
	case "cancel":
		return []Event{OperatorCancel(slot, job, token)}
	case "estimate":
		return []Event{Estimate(0, a.number("bucket", 0), uint32(a.number("count", 1)))}
	}
	a.t.Fatalf("%s: unknown step %q", a.d.Pos, a.d.Cmd)
	return nil
}
