package protocol

import (
	"maps"
	"slices"

	"pgregory.net/rapid"
)

// A driver is a random but legal driver: handlers return once, undo hooks return once, and
// whatever comes from the broker may be late, doubled, or for another life. It keeps its own
// books and compares them with the machine's after every step; see watch.
type driver struct {
	cfg Config
	m   Machine
	fx  *Effects
	now Instant

	clone, later, read    Machine // an equal machine, one that lives a week later, one read back after every step
	cloneM, laterM, readM Memory
	spare                 *Effects

	asked    []Effect // what the broker was asked, to be answered at any time and more than once
	handlers []running
	undos    []running
	tokens   Token
	books    books
	dead     bool // an impossible event was refused
}

// running is a handler or the undo hooks of one, in a slot.
type running struct {
	slot    int
	private bool // Undo: the shared hooks may have been left out
}

const week = 7 * 24 * Hour

func newDriver(t *rapid.T) *driver {
	d := &driver{cfg: drawConfig(t)}
	slots := rapid.IntRange(1, 3).Draw(t, "slots")
	d.fx, d.spare = NewEffects(slots, d.cfg.Queues), NewEffects(slots, d.cfg.Queues)
	d.cloneM, d.laterM, d.readM = NewMemory(&d.cfg, slots), NewMemory(&d.cfg, slots), NewMemory(&d.cfg, slots)
	seed := rapid.SampledFrom([]uint64{0, 7}).Draw(t, "seed")
	mem := NewMemory(&d.cfg, slots)
	mem.Present = &Present{make([]uint8, 4)} // so few that jobs share counts
	if rapid.Bool().Draw(t, "clones have it, too") {
		d.cloneM.Present = &Present{make([]uint8, 4)}
	}
	d.m.Init(&d.cfg, mem, seed)
	d.later.Init(&d.cfg, d.laterM, seed)
	d.books = newBooks()
	d.readBack(t)
	d.step(t, Event{})
	return d
}

func drawConfig(t *rapid.T) Config {
	ms := func(name string, lo, hi int) Duration {
		return Duration(rapid.IntRange(lo, hi).Draw(t, name)) * Millisecond
	}
	cfg := Config{
		Policy: Policy{
			OnStop:     OnStop(rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2, 3}).Draw(t, "onStop")),
			LateClaim:  LateClaim(rapid.IntRange(0, 2).Draw(t, "lateClaim")),
			Deadline:   DeadlineFrom(rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "deadline")),
			Constant:   ms("constant", 1, 10_000),
			AtDeadline: AtDeadline(rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "atDeadline")),
			Estimates:  Estimates(rapid.IntRange(0, 1).Draw(t, "estimates")),
		},
		Queues: rapid.IntRange(1, 2).Draw(t, "queues"),
		Lease:  ms("lease", 2_000, 10_000), Park: ms("park", 0, 3_000), DriftPPM: 1000,
		Reserve:    ms("reserve", 1, 4_000),
		NoWithdraw: rapid.Bool().Draw(t, "noWithdraw"), SettlesFirst: rapid.Bool().Draw(t, "settlesFirst"),
	}
	cfg.Grace = cfg.Reserve + ms("grace", 4_000, 10_000)
	for range 3 {
		cfg.Kinds = append(cfg.Kinds, KindConfig{
			MinVersion: 1, MaxVersion: 2, Gap: ms("gap", 0, 2_000), Undo: ms("undo", 0, 2_000),
			Timeout: ms("timeout", 0, 1) * Duration(rapid.IntRange(0, 8_000).Draw(t, "timeout")),
		})
	}
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		t.Fatalf("the configuration drawn cannot work: %v", err)
	}
	return cfg
}

// actions are everything that may happen next.
func (d *driver) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"deadline": func(t *rapid.T) {
			if at := d.m.Deadline(); at != Never {
				d.now = at
			}
			d.step(t, Event{})
		},
		"wait": func(t *rapid.T) { // beyond a deadline, too: a paused process
			d.now = d.now.Add(Duration(rapid.IntRange(0, 5_000).Draw(t, "ms")) * Millisecond)
			d.step(t, Event{})
		},
		"answer":   d.answer,
		"answer 2": d.answer,
		"answer 3": d.answer,
		"return": func(t *rapid.T) {
			if h, ok := take(t, &d.handlers); ok {
				code := Code(rapid.IntRange(int(ReturnedNil), int(ReturnedPanic)).Draw(t, "code"))
				d.step(t, Returned(h.slot, code, rapid.Bool().Draw(t, "clean")))
			}
		},
		"undone": func(t *rapid.T) {
			if u, ok := take(t, &d.undos); ok {
				codes := []Code{UndoDone, UndoFailed}
				if u.private {
					codes = append(codes, UndoSkipped)
				}
				d.step(t, Undid(u.slot, rapid.SampledFrom(codes).Draw(t, "code")))
			}
		},
		"save": func(t *rapid.T) {
			if len(d.handlers) > 0 {
				h := rapid.SampledFrom(d.handlers).Draw(t, "handler")
				d.step(t, SaveCursor(h.slot, Cursor(rapid.IntRange(1, 3).Draw(t, "cursor")), rapid.Bool().Draw(t, "flush")))
			}
		},
		"stop": func(t *rapid.T) {
			killAt := rapid.SampledFrom([]Instant{Never, Never, 0, d.now, d.now.Add(Second), d.now.Add(8 * Second), d.now.Add(Minute)}).Draw(t, "killAt")
			ev := StopFrom(Source(rapid.IntRange(int(FromNotice), int(FromSupervisor)).Draw(t, "source")), killAt)
			if rapid.Bool().Draw(t, "signal") {
				ev = StopBySignal(rapid.SampledFrom([]Signal{SIGTERM, SIGTERM, SIGINT, 1}).Draw(t, "number"), killAt)
			}
			d.step(t, ev)
		},
		"signal again": func(t *rapid.T) { // a repetition that counts
			if d.m.phase.Stopping() {
				d.now = d.now.Add(Second)
				d.step(t, StopBySignal(rapid.SampledFrom([]Signal{SIGTERM, SIGINT}).Draw(t, "number"), Never))
			}
		},
		"killAt": func(t *rapid.T) {
			d.step(t, KillAt(rapid.SampledFrom([]Instant{Never, d.now, d.now.Add(3 * Second), d.now.Add(Minute)}).Draw(t, "killAt")))
		},
		"quiet":       func(t *rapid.T) { d.step(t, Event{Kind: QuietAsked}) },
		"resume":      func(t *rapid.T) { d.step(t, Event{Kind: ResumeAsked}) },
		"reconnected": func(t *rapid.T) { d.step(t, Event{Kind: Reconnected}) },
		"cancel": func(t *rapid.T) {
			slot := rapid.IntRange(0, len(d.m.slots)-1).Draw(t, "slot")
			d.step(t, OperatorCancel(slot, d.m.slots[slot].job, d.m.slots[slot].token))
		},
		"estimate": func(t *rapid.T) {
			d.step(t, Estimate(Kind(rapid.IntRange(0, 4).Draw(t, "kind")), rapid.IntRange(0, BucketsPerKind).Draw(t, "bucket"), uint32(rapid.IntRange(0, 100).Draw(t, "count"))))
		},
		"foreign": d.foreign,
	}
}

// play lets random actions happen, and a few more after the worker has gone.
func (d *driver) play(t *rapid.T, actions map[string]func(*rapid.T)) {
	names := slices.Sorted(maps.Keys(actions))
	afterwards := 0
	for range rapid.IntRange(20, 80).Draw(t, "steps") {
		if d.m.phase == PhaseGone {
			if afterwards++; afterwards > 4 {
				return
			}
		}
		if actions[rapid.SampledFrom(names).Draw(t, "action")](t); d.dead {
			return
		}
	}
}

// take removes one of list.
func take(t *rapid.T, list *[]running) (running, bool) {
	if len(*list) == 0 {
		return running{}, false
	}
	i := rapid.IntRange(0, len(*list)-1).Draw(t, "which")
	r := (*list)[i]
	*list = slices.Delete(*list, i, i+1)
	return r, true
}

// answer answers something the broker was asked at some time, perhaps not for the last time.
func (d *driver) answer(t *rapid.T) {
	if len(d.asked) == 0 {
		return
	}
	i := len(d.asked) - 1 - rapid.IntRange(0, min(7, len(d.asked)-1)).Draw(t, "age")
	e := d.asked[i]
	if rapid.IntRange(0, 4).Draw(t, "again") > 0 {
		d.asked = slices.Delete(d.asked, i, i+1)
	}
	switch e.Kind {
	case Register:
		d.step(t, RegisteredAs(1, rapid.SampledFrom([]Code{OK, OK, OK, OK, Unknown, Refused}).Draw(t, "code")))
	case Claim:
		d.answerClaim(t, e)
	case Withdraw:
		d.step(t, WithdrawClosed(int(e.Queue), e.Seq, rapid.SampledFrom([]Code{OK, OK, Unknown}).Draw(t, "code"), 0))
	case Renew, Save:
		code := rapid.SampledFrom([]Code{OK, OK, OK, OK, Expired, Closed, Stale, Unknown, CancelOrder}).Draw(t, "code")
		if e.Kind == Renew {
			d.step(t, Renewed(int(e.Slot), e.Job, e.Token, code, e.At, e.Cursor))
		} else {
			d.step(t, Saved(int(e.Slot), e.Job, e.Token, code, e.At, e.Cursor))
		}
	case Settle:
		d.step(t, Settled(int(e.Slot), e.Job, e.Token, rapid.SampledFrom([]Code{OK, OK, OK, Repeat, Closed, Stale, Unknown}).Draw(t, "code")))
	}
}

func (d *driver) answerClaim(t *rapid.T, e Effect) {
	parked := Duration(rapid.IntRange(0, 4_000).Draw(t, "parked")) * Millisecond
	code := rapid.SampledFrom([]Code{OK, OK, OK, Unknown, Refused}).Draw(t, "code")
	if code == OK {
		for range rapid.IntRange(0, int(e.Want)+1).Draw(t, "jobs") {
			d.tokens++
			d.books.granted[d.tokens] = true
			d.step(t, GrantedJob(int(e.Queue), e.Seq, JobKey(rapid.IntRange(1, 3).Draw(t, "job")), d.tokens,
				Kind(rapid.SampledFrom([]int{0, 0, 0, 1, 1, 1, 2, 2, 2, 3}).Draw(t, "kind")), uint16(rapid.SampledFrom([]int{1, 1, 1, 1, 2, 2, 2, 2, 3}).Draw(t, "version")), parked))
		}
	}
	d.step(t, ClaimClosed(int(e.Queue), e.Seq, code, parked))
}

// foreign is an answer for nobody here: another life's, or garbage.
func (d *driver) foreign(t *rapid.T) {
	slot := rapid.IntRange(-2, 5).Draw(t, "slot")
	// Another token, or the token of a claim in the slot under another job's name.
	token, job := d.tokens+1000, JobKey(1)
	if own := slot >= 0 && slot < len(d.m.slots) && d.m.slots[slot].state != SlotFree; own && rapid.Bool().Draw(t, "same token") {
		token, job = d.m.slots[slot].token, d.m.slots[slot].job+1000
	}
	seq := uint64(rapid.IntRange(1000, 1001).Draw(t, "seq"))
	queue := rapid.IntRange(0, 9).Draw(t, "queue")
	d.step(t, rapid.SampledFrom([]Event{
		Renewed(slot, job, token, Stale, d.now, 1), Saved(slot, job, token, Stale, d.now, 1), Settled(slot, job, token, OK),
		OperatorCancel(slot, job, token), WithdrawClosed(queue, seq, OK, 1), ClaimClosed(queue, seq, Unknown, 0),
		GrantedJob(queue, seq, 1, token, 0, 1, 0),
	}).Draw(t, "event"))
}
