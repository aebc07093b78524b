package protocol

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// books are what a driver knows without looking into the machine.
type books struct {
	closed    bool // nothing is known any more
	granted   map[Token]bool
	started   map[Token]bool
	cancelled map[Token]bool
	verbs     map[Token]Verb
	held      map[Token]bool // taken over by the machine and not known to have ended
	owed      map[lineOf]debt
	stopped   bool
	seen      map[string]int // by what happened, over the whole life
}

// debt says whether the ledger owes a line.
type debt int

const (
	nothing debt = iota
	mayHave
	mustHave
)

// lineOf names the line of a slot's claim, or of a queue's request.
type lineOf struct {
	token Token
	queue int
}

func newBooks() books {
	return books{
		granted: map[Token]bool{}, started: map[Token]bool{}, cancelled: map[Token]bool{},
		verbs: map[Token]Verb{}, held: map[Token]bool{}, owed: map[lineOf]debt{}, seen: map[string]int{},
	}
}

// step steps the machine, and an equal one, and one that lives a week later, and checks all
// that must hold whatever happened.
func (d *driver) step(t *rapid.T, ev Event) {
	if d.dead = d.books.closed && d.refuses(t, ev); d.dead {
		return
	}
	phase := d.m.phase
	before := openAt(&d.m, d.now)
	d.m.CopyTo(&d.clone, d.cloneM)
	snapshot := d.m.AppendSnapshot(nil)

	ev.More = rapid.Bool().Draw(t, "more")
	d.fx.Reset()
	d.m.Step(d.now, ev, d.fx)

	d.spare.Reset()
	d.clone.Step(d.now, ev, d.spare)
	same(t, "a copy", &d.clone, d.spare.All(), d.now, d.fx.All(), &d.m, d.now)
	d.stepRestored(t, snapshot, ev)
	if !d.books.closed {
		d.stepLater(t, ev)
		d.stepRead(t, ev)
	}
	d.remember()
	d.watch(t, phase)
	if !d.books.closed {
		d.audit(t, ev, phase, before)
	}
}

// refuses tries an event that may be impossible on a copy. Only one kind of panic is
// documented; a driver stops there.
func (d *driver) refuses(t *rapid.T, ev Event) bool {
	d.m.CopyTo(&d.clone, d.cloneM)
	d.spare.Reset()
	panicked, message := impossibly(func() { d.clone.Step(d.now, ev, d.spare) })
	if panicked && !strings.Contains(fmt.Sprint(message), "is impossible in phase") {
		t.Fatalf("%v", message)
	}
	return panicked
}

// openAt lists what is open once everything due has fired: what a stop now would find.
func openAt(m *Machine, now Instant) (lines []lineOf) {
	var c Machine
	m.CopyTo(&c, NewMemory(m.cfg, len(m.slots)))
	fx := NewEffects(len(m.slots), len(m.requests))
	c.Step(now, Event{More: m.more}, fx) // what was said to follow may be the stop
	for i := range c.slots {
		if c.slots[i].state != SlotFree {
			lines = append(lines, lineOf{token: c.slots[i].token})
		}
	}
	for q := range c.requests {
		if c.requests[q].state != RequestNone {
			lines = append(lines, lineOf{queue: q + 1})
		}
	}
	return lines
}

// stepLater gives the same event to a machine whose whole life is a week later. Nothing
// may depend on the clock's zero, and the canonical form must not show it.
func (d *driver) stepLater(t *rapid.T, ev Event) {
	if ev.At != Never {
		ev.At = ev.At.Add(week)
	}
	ev.Sent = ev.Sent.Add(week)
	d.spare.Reset()
	d.later.Step(d.now.Add(week), ev, d.spare)
	shifted := slices.Clone(d.fx.All())
	for i := range shifted {
		e := &shifted[i]
		e.At = e.At.Add(week)
		if e.Kind == Undo || e.Kind == Exit {
			e.Until = e.Until.Add(week)
		}
	}
	same(t, "a week later", &d.later, d.spare.All(), d.now.Add(week), shifted, &d.m, d.now)
}

// stepRead gives the same event to a machine that lives by its canonical form alone: after
// every step it is written down and read back, months later.
func (d *driver) stepRead(t *rapid.T, ev Event) {
	shift := readLater
	if ev.At != Never {
		ev.At = ev.At.Add(shift)
	}
	ev.Sent = ev.Sent.Add(shift)
	d.spare.Reset()
	d.read.Step(d.now.Add(shift), ev, d.spare)
	got, want := slices.Clone(d.spare.All()), slices.Clone(d.fx.All())
	for i := range got {
		if e := &got[i]; e.Kind == Line {
			e.Span = 0 // the stop is forgotten
		}
	}
	for i := range want {
		e := &want[i]
		e.At = e.At.Add(shift)
		switch e.Kind {
		case Undo, Exit:
			e.Until = e.Until.Add(shift)
		case Line:
			e.Span = 0
		}
	}
	same(t, "read back", &d.read, got, d.now.Add(shift), want, &d.m, d.now)
	d.readBack(t)
}

// readLater is how much later the machine lives that is read back.
const readLater = 20 * week

// readBack makes d.read anew from the canonical form of the machine.
func (d *driver) readBack(t *rapid.T) {
	written := d.m.AppendCanonical(nil, d.now, nil, 0)
	now := d.now.Add(readLater)
	rest := d.read.ReadCanonical(&d.cfg, d.readM, now, append(written, "rest"...))
	if string(rest) != "rest" {
		t.Fatalf("%d bytes were left over", len(rest)-len("rest"))
	}
	if at := d.read.Deadline(); at.Sub(now) != d.m.Deadline().Sub(d.now) {
		t.Fatalf("read back, the machine wakes %v from now instead of %v", at.Sub(now), d.m.Deadline().Sub(d.now))
	}
}

func same(t *rapid.T, which string, m *Machine, fx []Effect, now Instant, wantFx []Effect, want *Machine, wantNow Instant) {
	if !slices.Equal(fx, wantFx) {
		t.Fatalf("%s asked for\n%v\ninstead of\n%v", which, fx, wantFx)
	}
	if !bytes.Equal(m.AppendCanonical(nil, now, nil, 0), want.AppendCanonical(nil, wantNow, nil, 0)) {
		t.Fatalf("%s is not the same machine\n%+v\n%+v", which, m, want)
	}
}

// remember keeps what the driver has to answer for later.
func (d *driver) remember() {
	for _, e := range d.fx.All() {
		switch e.Kind {
		case Register, Claim, Withdraw, Renew, Save, Settle:
			d.asked = append(d.asked, e)
		case Start:
			d.handlers = append(d.handlers, running{slot: int(e.Slot)})
		case Undo:
			d.undos = append(d.undos, running{slot: int(e.Slot), private: e.Private})
		case PrivateOnly:
			for i := range d.undos {
				if d.undos[i].slot == int(e.Slot) {
					d.undos[i].private = true
				}
			}
		}
	}
}

// recount compares what the machine has kept count of with its slots.
func (d *driver) recount(t *rapid.T) {
	kept := d.m.census
	if !kept.known {
		return
	}
	d.books.seen["census"]++
	present := slices.Clone(d.m.present.counts)
	d.m.forget()
	fresh := *d.m.counted()
	if !slices.Equal(present, d.m.present.counts) {
		t.Fatalf("jobs were counted as %v, and are %v", present, d.m.present.counts)
	}
	d.m.census = kept
	if kept.below > fresh.below {
		t.Fatalf("slot %d is free, and none before %d was said to be", fresh.below, kept.below)
	}
	if kept.below = fresh.below; kept != fresh {
		t.Fatalf("the machine has counted %+v, and its slots are %+v", kept, fresh)
	}
}

// armedInPhase is what the package comment says about deadlines.
var armedInPhase = armedByPhase()

// watch checks what the machine shows.
func (d *driver) watch(t *rapid.T, phase Phase) {
	if at := d.m.Deadline(); at <= d.now {
		t.Fatalf("after a step at %v the deadline is %v", d.now, at)
	}
	if n, limit := len(d.fx.All()), EffectsPerStep(len(d.m.slots), len(d.m.requests)); n > limit {
		t.Fatalf("%d effects in one step, %d were promised", n, limit)
	}
	if d.m.phase == PhaseGone && phase == PhaseGone && len(d.fx.All()) > 0 {
		t.Fatalf("a worker that was gone asked for %v", d.fx.All())
	}
	soonest := Never
	d.m.armed(func(at due) {
		soonest = min(soonest, at.at)
		if at.at != Never && !armedInPhase[d.m.phase][at.kind] {
			t.Fatalf("%s is armed in %v", deadlineNames[at.kind], d.m.phase)
		}
	})
	if at := d.m.soonest(); at != soonest {
		t.Fatalf("the soonest deadline is at %v, and the machine looks again at %v", soonest, at)
	}
	d.recount(t)
	// A claim that can be kept alive is kept alive.
	for i := range d.m.slots {
		if s := &d.m.slots[i]; s.renewable() && d.m.phase != PhaseGone && (d.m.renewAt <= d.now || d.m.renewAt > d.now.Add(d.cfg.Heartbeat)) {
			t.Fatalf("slot %d (%v) has a claim, and renewals are due at %v", i, s.state, d.m.renewAt)
		}
	}
	// A tick with nothing due changes nothing, unless it is what was said to follow: then jobs
	// are asked for.
	state := d.m.AppendCanonical(nil, d.now, nil, 0)
	d.spare.Reset()
	d.m.CopyTo(&d.clone, d.cloneM)
	d.clone.Step(d.now, Event{}, d.spare)
	if d.m.more {
		for _, e := range d.spare.All() {
			if e.Kind != Claim {
				t.Fatalf("%v waited for more to come, which only claim requests do", e)
			}
		}
		return
	}
	if len(d.spare.All()) > 0 || !bytes.Equal(state, d.clone.AppendCanonical(nil, d.now, nil, 0)) {
		t.Fatalf("an idle tick asked for %v", d.spare.All())
	}
}

// audit compares the step with the books.
func (d *driver) audit(t *rapid.T, ev Event, phase Phase, before []lineOf) {
	b := &d.books
	b.end(ev)
	if self, begins := d.beginsDrain(phase); begins {
		b.stopped = true
		for _, l := range before {
			b.owed[l] = mustHave
		}
		// A worker that drains itself does so between two things that are due; what was open at
		// that very moment does not show from outside.
		for q := range d.m.requests {
			if self {
				b.owed[lineOf{queue: q + 1}] = mayHave
			}
		}
	}
	d.auditClaims(t, ev, phase)
	d.auditReconnection(t, ev)
	for _, e := range d.fx.All() {
		b.see(e)
		d.auditEffect(t, e)
	}
	b.seen["phase "+d.m.phase.String()]++
	for i := range d.m.slots {
		b.seen["slot "+d.m.slots[i].state.String()]++
	}
	if d.m.phase == PhaseGone && phase != PhaseGone {
		for l, owed := range b.owed {
			if owed == mustHave {
				t.Fatalf("the ledger has no line for %+v", l)
			}
		}
	}
}

// see counts what a step asked for.
func (b *books) see(e Effect) {
	switch e.Kind {
	case Settle:
		b.seen["settle "+e.Verb.String()]++
		b.seen["reason "+e.Reason.String()]++
	case Cancel:
		b.seen["cause "+e.Cause.String()]++
	case Note:
		b.seen["note "+e.Note.String()]++
	case Line:
		b.seen["line "+e.Outcome.String()]++
	case Exit:
		b.seen[fmt.Sprintf("exit %d", e.Status)]++
	default:
		b.seen[e.Kind.String()]++
	}
}

// beginsDrain reports whether this step was the first stop of a drain, and whether the
// worker stopped itself.
func (d *driver) beginsDrain(phase Phase) (self, begins bool) {
	if phase != PhaseServing && phase != PhaseQuiet || d.cfg.Policy.OnStop == DieOnStop {
		return false, false
	}
	for _, e := range d.fx.All() {
		self = self || e.Kind == Note && e.Note == EverySlotWedged
	}
	return self, d.m.stopAt != Never
}

// end takes in what an answer says about a claim.
func (b *books) end(ev Event) {
	switch {
	case ev.Kind == SettleAnswered && ev.Code != Unknown && b.verbs[ev.Token] != NoVerb,
		(ev.Kind == RenewAnswered || ev.Kind == SaveAnswered) && (ev.Code == Stale || ev.Code == Closed):
		b.held[ev.Token] = false
	}
}

func (d *driver) auditEffect(t *rapid.T, e Effect) {
	b := &d.books
	switch e.Kind {
	case Start:
		if !b.granted[e.Token] || b.started[e.Token] {
			t.Fatalf("%v was started without a grant, or twice", e)
		}
		b.started[e.Token], b.held[e.Token] = true, true
		if b.stopped {
			b.owed[lineOf{token: e.Token}] = mustHave
		}
	case Cancel:
		if b.cancelled[e.Token] || !b.started[e.Token] {
			t.Fatalf("%v was cancelled twice, or never started", e)
		}
		b.cancelled[e.Token] = true
	case Settle:
		d.auditSettle(t, e)
	case Note:
		if e.Note == LeaseLost {
			b.held[e.Token] = false
		}
	case Line:
		l := lineOf{token: e.Token}
		if e.Slot == NoSlot {
			l = lineOf{queue: int(e.Queue) + 1}
		}
		if b.owed[l] == nothing {
			t.Fatalf("the ledger has a line too many: %v", e)
		}
		b.owed[l] = nothing
	case Exit:
		if e.Status != ExitClean {
			break
		}
		for token, held := range b.held {
			if held {
				t.Fatalf("exit with status 0 although claim %d is held", token)
			}
		}
		for i := range d.m.slots {
			if s := d.m.slots[i].state; s != SlotFree {
				t.Fatalf("exit with status 0 although slot %d is %v", i, s)
			}
		}
	}
}

// auditReconnection: what is held is verified soon, however far away the next round was.
func (d *driver) auditReconnection(t *rapid.T, ev Event) {
	for i := range d.m.slots {
		s := &d.m.slots[i]
		if ev.Kind == Reconnected && s.renewable() && d.m.phase != PhaseGone && d.m.renewAt > d.now.Add(d.cfg.Retry.Min) {
			t.Fatalf("slot %d (%v) has a claim after a reconnection, and renewals are due at %v", i, s.state, d.m.renewAt)
		}
	}
}

// auditClaims: claim requests are sent in Serving only. A step may ask for jobs and stop
// then, but not the other way round.
func (d *driver) auditClaims(t *rapid.T, ev Event, phase Phase) {
	asks := phase == PhaseServing || phase == PhaseBooting && ev.Kind == Registered || phase == PhaseQuiet && ev.Kind == ResumeAsked
	for _, e := range d.fx.All() {
		asks = asks && e.Kind != Going && e.Kind != Exit
		if e.Kind == Claim && !asks {
			t.Fatalf("a claim request in %v: %v", phase, d.fx.All())
		}
	}
}

func (d *driver) auditSettle(t *rapid.T, e Effect) {
	b := &d.books
	if e.Slot == NoSlot { // surplus: its answer counts nothing
		return
	}
	for _, h := range d.handlers {
		if h.slot == int(e.Slot) {
			t.Fatalf("%v while its handler runs", e)
		}
	}
	if verb := b.verbs[e.Token]; verb != NoVerb && verb != e.Verb {
		t.Fatalf("%v after %v", e, verb)
	}
	if b.verbs[e.Token] == NoVerb {
		b.held[e.Token] = true
	}
	b.verbs[e.Token] = e.Verb
}
