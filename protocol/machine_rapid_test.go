package protocol

import (
	"flag"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestMain raises the number of random checks from rapid's hundred; the flag still decides.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "5000"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// TestRandomLives lets random legal drivers loose on random configurations. What is checked
// after every step is in watch. Checks that never meet an outcome say nothing about it, so
// each that is interesting must have been met.
func TestRandomLives(t *testing.T) {
	meets(t, []string{"census", "phase Quiet", "phase Settling", "slot Undoing", "slot Zombie", "note wedged", "exit 0", "exit 1", "exit 4"}, func(t *rapid.T, d *driver) {
		d.play(t, d.actions())
	})
}

// TestRandomDrains spends all of its steps on the drain of a busy worker.
func TestRandomDrains(t *testing.T) {
	meets(t, lifeEvents(), func(t *rapid.T, d *driver) {
		d.step(t, RegisteredAs(1, OK))
		for _, e := range append([]Effect(nil), d.asked...) {
			if e.Kind == Claim {
				d.answerClaim(t, e)
			}
		}
		actions := d.actions()
		for range rapid.IntRange(0, 5).Draw(t, "before") {
			actions[rapid.SampledFrom([]string{"answer", "return", "save", "deadline"}).Draw(t, "action")](t)
		}
		actions["stop"](t)
		// Left to play, repeats come too late: few handlers still run by then.
		for range rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "repeats") {
			actions["signal again"](t)
			actions["return"](t)
		}
		d.play(t, actions)
	})
}

// meets runs a property and then asks whether it met everything it should have.
func meets(t *testing.T, all []string, property func(*rapid.T, *driver)) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		d := newDriver(t)
		defer func() {
			for what, n := range d.books.seen {
				seen[what] += n
			}
		}()
		property(t, d)
	})
	for _, what := range all {
		if seen[what] == 0 {
			t.Errorf("no random driver met %q; it met %v", what, seen)
		}
	}
}

// lifeEvents lists what random drivers must meet.
func lifeEvents() (all []string) {
	list := func(prefix string, names []string, without ...string) {
		for _, name := range names {
			if name != "-" && !slices.Contains(without, name) {
				all = append(all, prefix+" "+name)
			}
		}
	}
	list("phase", phaseNames[:])
	list("slot", slotNames[:])
	list("settle", verbNames[:])
	list("reason", reasonNames[:], "withdrawn", "expired", "cut")
	list("cause", causeNames[:])
	list("note", noteNames[:], "wedged")
	list("line", outcomeNames[:])
	return append(all, "exit 0", "exit 3", "exit 4", "exit 5")
}

// TestImpossibleEvents adds events that no legal driver would send. Those may panic, in the
// one documented way.
func TestImpossibleEvents(t *testing.T) {
	panics := 0
	rapid.Check(t, func(t *rapid.T) {
		if illegal(t) {
			panics++
		}
	})
	if panics == 0 {
		t.Error("no event was impossible")
	}
}

// FuzzMachine lets a fuzzer choose. Its inputs are long, and making them shorter is rapid's
// business: give it -fuzzminimizetime=1x.
func FuzzMachine(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { illegal(t) }))
}

// illegal plays until an event is impossible, and reports whether one was.
func illegal(t *rapid.T) bool {
	d := newDriver(t)
	actions := d.actions()
	actions["impossible"] = func(t *rapid.T) {
		// The books do not know what is not legal and passes: from here on only what the
		// machine says of itself counts.
		d.books.closed = true
		d.step(t, drawAnything(t, d.now))
	}
	d.play(t, actions)
	return d.dead
}

func drawAnything(t *rapid.T, now Instant) Event {
	return Event{
		Kind: EventKind(rapid.IntRange(0, int(eventKinds)).Draw(t, "kind")), Code: Code(rapid.IntRange(0, int(codes)).Draw(t, "code")),
		Slot: int32(rapid.IntRange(-2, 4).Draw(t, "slot")), Clean: rapid.Bool().Draw(t, "clean"),
		Token: Token(rapid.IntRange(0, 9).Draw(t, "token")), Seq: uint64(rapid.IntRange(0, 40).Draw(t, "seq")),
		Queue: uint8(rapid.IntRange(0, 3).Draw(t, "queue")), JobKind: Kind(rapid.IntRange(0, 4).Draw(t, "job kind")),
		Version: uint16(rapid.IntRange(0, 3).Draw(t, "version")), Job: JobKey(rapid.IntRange(0, 3).Draw(t, "job")),
		At: rapid.SampledFrom([]Instant{0, now, now.Add(Second), Never}).Draw(t, "at"), Cursor: Cursor(rapid.IntRange(0, 2).Draw(t, "cursor")),
		Sent: rapid.SampledFrom([]Instant{0, now, Never}).Draw(t, "sent"), Span: Duration(rapid.Int64().Draw(t, "span")),
	}
}
