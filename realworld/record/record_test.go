package record

import (
	"bytes"
	"encoding/json"
	"go/parser"
	"go/token"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

func TestARecordingReplaysExactly(t *testing.T) {
	dir := t.TempDir()
	l := newLife(t, options(dir)).run(1).run(2).drain(3)
	r, result, steps := replay(t, dir)
	assert.Nil(t, result.Divergence)
	assert.Equal(t, l.steps, steps)
	assert.Equal(t, &Result{Steps: uint64(len(l.steps)), From: 5, Until: l.now, Ended: true}, result)
	h := r.Header
	assert.WithinDuration(t, time.Now(), h.Began, time.Minute)
	assert.NotEmpty(t, h.Go)
	h.Began, h.Go, h.Build = time.Time{}, "", ""
	assert.Equal(t, Header{
		Format: 1, RulesVersion: protocol.RulesVersion, Seat: "web 1/7", Life: nonce.String(), Generation: 3,
		BeganAt: 5, Slots: 3, Queues: []string{"default"}, Kinds: []string{"render"}, Seed: 42, Config: config(),
	}, h)
	assert.Regexp(t, `^\d{8}T\d{6}\.\d{3}Z-web_1_7-01234567-000001\.flight$`, filepath.Base(segments(t, dir)[0]))
}

// Segments begin with a snapshot, and the newest are kept: what is left replays, and agrees
// where one segment ends and the next begins.
func TestARecordingIsBoundedAndEverySegmentStandsAlone(t *testing.T) {
	dir := t.TempDir()
	opt := options(dir)
	opt.SegmentBytes, opt.MaxBytes = 16<<10, 64<<10
	l := newLife(t, opt)
	for j := range 2000 {
		l.run(protocol.JobKey(j + 1))
		if j%20 == 0 {
			l.recorder.out.settle(t) // two thousand jobs in an instant are more than a disk takes
		}
	}
	l.drain(5000)
	files := segments(t, dir)
	require.GreaterOrEqual(t, len(files), 3)
	total := int64(0)
	for _, f := range files {
		info, err := os.Stat(f)
		require.NoError(t, err)
		total += info.Size()
		assert.Less(t, info.Size(), int64(17<<10))
	}
	assert.LessOrEqual(t, total, opt.MaxBytes)

	r, result, steps := replay(t, files[1]) // any of them stands for all
	assert.Nil(t, result.Divergence)
	assert.Len(t, r.Segments, len(files))
	assert.Greater(t, r.Segments[0].Number, uint64(1), "the oldest went")
	assert.True(t, reflect.DeepEqual(l.steps[len(l.steps)-len(steps):], steps), "the newest are kept")
	assert.True(t, result.Ended)

	alone := filepath.Join(t.TempDir(), "copy")
	data, err := os.ReadFile(files[1])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(alone, data, 0o600))
	_, result, steps = replay(t, alone)
	assert.Nil(t, result.Divergence)
	assert.NotEmpty(t, steps)

	require.NoError(t, os.Remove(files[1]))
	_, result, _ = replay(t, dir)
	assert.Nil(t, result.Divergence)
	assert.Equal(t, uint64(len(steps)), result.LeftOut)
}

// The process dies between any two bytes: all steps before are read.
func TestATornRecordingIsReadUpToTheTear(t *testing.T) {
	dir := t.TempDir()
	l := newLife(t, options(dir)).run(1).drain(2)
	path := segments(t, dir)[0]
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	r, err := Read(path)
	require.NoError(t, err)
	first := int(r.Segments[0].offset)
	seen := map[int]bool{}
	torn := filepath.Join(t.TempDir(), "torn"+Suffix)
	for n := range whole {
		require.NoError(t, os.WriteFile(torn, whole[:n], 0o600))
		if n < first {
			_, err := Read(torn)
			require.ErrorContains(t, err, "breaks off before its first step", "%d of %d bytes", n, len(whole))
			continue
		}
		_, result, steps := replay(t, torn)
		require.Nil(t, result.Divergence)
		require.Equal(t, l.steps[:len(steps)], append([]made{}, steps...), "%d of %d bytes", n, len(whole))
		require.False(t, result.Ended)
		seen[len(steps)] = true
	}
	assert.Len(t, seen, len(l.steps)+1)

	zeros := filepath.Join(t.TempDir(), "zeros"+Suffix) // the machine went down, not the process
	require.NoError(t, os.WriteFile(zeros, append(whole[:len(whole)-2], make([]byte, 4096)...), 0o600))
	_, result, steps := replay(t, zeros)
	assert.Len(t, steps, len(l.steps))
	assert.Contains(t, result.Torn, "breaks off at byte")
}

func TestAKilledWorkerLeavesARecordingWithoutAnEnd(t *testing.T) {
	dir := t.TempDir()
	l := newLife(t, options(dir)).run(1).killed()
	_, result, steps := replay(t, dir)
	assert.Equal(t, l.steps, steps)
	assert.False(t, result.Ended)
	assert.Empty(t, result.Torn)
}

// Segments that break off before their first step belong to a process that was killed while
// it made them; the others are read.
func TestASegmentThatHasNotBegunIsPassedOver(t *testing.T) {
	dir := t.TempDir()
	l := newLife(t, options(dir)).run(1).killed()
	next := strings.Replace(segments(t, dir)[0], "000001", "000002", 1)
	require.NoError(t, os.WriteFile(next, []byte(magic)[:7], 0o600))
	r, result, steps := replay(t, dir)
	assert.Equal(t, []string{next}, r.Torn)
	assert.Nil(t, result.Divergence)
	assert.Equal(t, l.steps, steps)
}

// Damage in the middle is not taken for a tear, wherever it is.
func TestDamageIsNamedWithItsPosition(t *testing.T) {
	dir := t.TempDir()
	newLife(t, options(dir)).run(1).drain(2)
	path := segments(t, dir)[0]
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	named := 0
	for at := range whole[:len(whole)-64] {
		edit(t, path, func([]byte) []byte {
			bad := bytes.Clone(whole)
			bad[at] ^= 0x40
			return bad
		})
		r, err := Read(path)
		var result *Result
		if err == nil {
			result, err = r.Replay(nil)
		}
		if err == nil { // a length that reaches beyond the file cannot be told from a tear
			require.NotEmpty(t, result.Torn, "byte %d", at)
			require.Nil(t, result.Divergence, "byte %d", at)
			continue
		}
		var bad *Error
		require.ErrorAs(t, err, &bad, "byte %d", at)
		require.LessOrEqual(t, bad.Offset, int64(at))
		require.Equal(t, path, bad.Path)
		named++
	}
	assert.Greater(t, named, len(whole)*9/10)
}

func TestWhatIsNoRecordingIsRefused(t *testing.T) {
	dir := t.TempDir()
	newLife(t, options(dir)).run(1).drain(2)
	path := segments(t, dir)[0]
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	reheaded := func(change func(*Header)) []byte {
		f := framesOf(path, whole[len(magic):], 0)
		h, err := f.header()
		require.NoError(t, err)
		change(h)
		text, err := json.Marshal(h)
		require.NoError(t, err)
		return append(appendFrame([]byte(magic), append([]byte{frameHeader}, text...)), f.rest...)
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"another file":        {[]byte("name: five-minute-lease\nabout: not a recording\n"), "byte 0: it is not a flight recording; recordings are made by realworld/record and end in .flight"},
		"a newer format":      {reheaded(func(h *Header) { h.Format, h.Build = 9, "example.org/render v9" }), "byte 16: it has format 9, and this version reads format 1; replay it with the version that recorded it (example.org/render v9)"},
		"an impossible lease": {reheaded(func(h *Header) { h.Config.Lease = -1 }), "byte 16: no worker can have run under its configuration: protocol: lease -1ns must be positive"},
		"other slots":         {reheaded(func(h *Header) { h.Slots = 4 }), "the header says 4 slots and the snapshot has 3; the file was put together from others"},
		"no header":           {appendFrame([]byte(magic), []byte{frameStep}), "byte 16: the header is missing"},
	} {
		edit(t, path, func([]byte) []byte { return c.data })
		_, err := Read(path)
		assert.ErrorContains(t, err, path+": ", name)
		assert.ErrorContains(t, err, c.want, name)
	}
	_, err = Read(t.TempDir())
	assert.ErrorContains(t, err, "the folder holds no recording; name a file that ends in .flight")

	two := t.TempDir()
	newLife(t, options(two)).killed()
	time.Sleep(2 * time.Millisecond) // their names have milliseconds
	newLife(t, options(two)).killed()
	_, err = Read(two)
	assert.ErrorContains(t, err, "the folder holds the recordings of 2 lives; name a file of one of them:\n  "+two)
}

// A recording that another version made differs somewhere. The first step at which it does is
// named, with what was asked for then, what is now, and the rule that decides.
func TestTheFirstDivergenceIsNamed(t *testing.T) {
	dir := t.TempDir()
	l := newLife(t, options(dir)).run(1)
	at := l.now
	ev := protocol.StopBySignal(protocol.SIGTERM, protocol.Never)
	l.fx.Reset()
	l.machine.Step(at, ev, l.fx)
	other := append([]protocol.Effect{}, l.fx.All()...)
	require.Equal(t, protocol.Withdraw, other[1].Kind)
	other = append(other[:1], other[2:]...) // as a version that does not withdraw
	l.recorder.Step(at, ev, other, &l.machine)
	l.recorder.End(worker.Ending{})

	_, result, steps := replay(t, dir)
	d := result.Divergence
	require.NotNil(t, d)
	assert.Equal(t, uint64(len(steps)), d.Number)
	assert.Equal(t, uint64(len(l.steps)+1), d.Number)
	assert.Equal(t, at, d.At)
	assert.Equal(t, ev, d.Event)
	assert.Equal(t, "the machine asks for something else than it did then", d.What)
	assert.Equal(t, []Asked{{Kind: protocol.Going, Slot: protocol.NoSlot}}, d.Recorded)
	assert.Equal(t, l.fx.All(), d.Effects)
	assert.Equal(t, Rule{3, "A claim request can be repeated under its id and withdrawn", "withdraw"}, d.Rule)
}

// What the effects do not show yet shows where the next segment begins.
func TestAStateThatDiffersIsFoundAtTheNextSegment(t *testing.T) {
	dir := t.TempDir()
	l := newLife(t, options(dir)).run(1)
	var other protocol.Machine
	other.Init(&l.cfg, protocol.NewMemory(&l.cfg, 3), 43)
	l.recorder.begin(&other)
	l.killed()
	_, result, steps := replay(t, dir)
	require.NotNil(t, result.Divergence)
	assert.Equal(t, l.steps, steps)
	assert.Equal(t, uint64(len(l.steps)), result.Divergence.Number)
	assert.Contains(t, result.Divergence.What, "the state of the machine is another than the recorded one")
}

// The same effects with another number in one of them are a divergence as well.
func TestEveryFieldOfAnEffectCounts(t *testing.T) {
	base := protocol.Effect{}
	plain, _ := hash([]protocol.Effect{base}, nil)
	eachField(t, &base, func(name string) {
		other, _ := hash([]protocol.Effect{base}, nil)
		assert.NotEqual(t, plain, other, "%s is not in the hash", name)
	})
}

func TestEveryFieldOfAnEventIsKept(t *testing.T) {
	now := protocol.Instant(77)
	ev := protocol.Event{}
	eachField(t, &ev, func(name string) {
		d := decoder{rest: appendEvent(nil, now, &ev)}
		assert.Equal(t, ev, d.event(now), name)
		assert.Empty(t, d.rest, name)
	})
}

// eachField sets one field after the other of the struct v points to, and clears it again.
func eachField(t *testing.T, v any, f func(name string)) {
	s := reflect.ValueOf(v).Elem()
	for i := range s.NumField() {
		name, field := s.Type().Field(i).Name, s.Field(i)
		switch field.Kind() {
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Int32, reflect.Int64:
			field.SetInt(-3)
		case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
			field.SetUint(3)
		default:
			t.Fatalf("%s is a %v: only plain numbers belong into a recording", name, field.Kind())
		}
		f(name)
		field.SetZero()
	}
}

func TestAnyEventIsReadAsItWasWritten(t *testing.T) {
	instants := rapid.Custom(func(t *rapid.T) protocol.Instant {
		return protocol.Instant(rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{0, math.MaxInt64, math.MinInt64})).Draw(t, "instant"))
	})
	rapid.Check(t, func(t *rapid.T) {
		ev := rapid.MakeCustom[protocol.Event](rapid.MakeConfig{Types: map[reflect.Type]*rapid.Generator[any]{
			reflect.TypeFor[protocol.Instant](): instants.AsAny(),
		}}).Draw(t, "event")
		now := instants.Draw(t, "now")
		d := decoder{rest: appendEvent(nil, now, &ev)}
		if got := d.event(now); got != ev || d.err != nil || len(d.rest) > 0 {
			t.Fatalf("%+v was read as %+v, %v", ev, got, d.err)
		}
	})
}

// A machine that breaks is recorded with the event that broke it, and breaks again.
func TestAMachineThatBrokeBreaksAgain(t *testing.T) {
	dir := t.TempDir()
	l := newLife(t, options(dir)).run(1)
	ev := protocol.Undid(0, protocol.UndoDone) // nothing undoes
	l.breaks(ev)
	_, result, _ := replay(t, dir)
	assert.Nil(t, result.Divergence)
	assert.True(t, result.Ended)
	assert.Equal(t, protocol.ExitRefused, result.Status)
	assert.Contains(t, result.Broke, "UndoReturned(undone) is impossible in phase Serving")

	healed := t.TempDir()
	l = newLife(t, options(healed)).run(1)
	l.recorder.End(worker.Ending{Status: 1, Broke: "an old defect", Now: l.now, Event: protocol.Event{}})
	_, result, _ = replay(t, healed)
	require.NotNil(t, result.Divergence)
	assert.Equal(t, "the machine panicked here then, and does not now: an old defect", result.Divergence.What)
}

func (l *life) breaks(ev protocol.Event) {
	defer func() {
		l.recorder.End(worker.Ending{Status: protocol.ExitRefused, Broke: recover(), Now: l.now, Event: ev})
	}()
	l.machine.Step(l.now, ev, l.fx)
}

// A disk that is slow or full costs steps and never the worker's time; when it can be
// written again a new segment goes on, and the gap is known.
func TestAFailingDiskLeavesAGapAndTheRecordingGoesOn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "flight")
	var log bytes.Buffer
	opt := options(dir)
	opt.Logger = slog.New(slog.NewTextHandler(&log, nil))
	l := newLife(t, opt).run(1)
	l.recorder.out.settle(t)
	kept := len(l.steps)
	fails := func() *os.File { // a file that cannot be written to
		f, err := os.Open(segments(t, dir)[0])
		require.NoError(t, err)
		return f
	}
	l.recorder.out.settle(t)
	l.recorder.out.file = fails()
	l.step(protocol.Event{})
	l.recorder.out.settle(t)
	l.run(2) // refused
	l.pass(31 * protocol.Second)
	began := len(l.steps)
	l.run(3)
	l.drain(4)
	assert.Contains(t, log.String(), "the flight recorder cannot write")
	assert.Contains(t, log.String(), "the flight recorder writes again")
	r, result, steps := replay(t, dir)
	assert.Len(t, r.Segments, 2)
	assert.Nil(t, result.Divergence)
	assert.Equal(t, l.steps[:kept], steps[:kept])
	assert.LessOrEqual(t, int(r.Segments[1].First), began+2, "it goes on within the time of a retry")
	assert.Equal(t, uint64(len(l.steps)-len(steps)), result.LeftOut)
	assert.NotZero(t, result.LeftOut)
	assert.True(t, result.Ended)
}

func TestADiskThatHangsNeverHoldsTheWorkerUp(t *testing.T) {
	dir := t.TempDir()
	opt := options(dir)
	opt.SegmentBytes = 16 << 10
	l := newLife(t, opt)
	l.recorder.out.settle(t)
	r, w, err := os.Pipe() // nobody reads it
	require.NoError(t, err)
	file := l.recorder.out.file
	l.recorder.out.file = w
	for j := range 2000 {
		l.run(protocol.JobKey(j + 1))
	}
	l.recorder.out.mu.Lock()
	assert.LessOrEqual(t, len(l.recorder.out.waiting), 16<<10)
	l.recorder.out.mu.Unlock()
	go func() { _, _ = io.Copy(io.Discard, r) }() // it recovers
	l.recorder.out.settle(t)
	l.run(3000).drain(3001)
	require.NoError(t, file.Close())
	_, result, steps := replay(t, dir)
	assert.Nil(t, result.Divergence)
	assert.Equal(t, l.steps[len(l.steps)-3:], steps[len(steps)-3:])
	assert.NotZero(t, result.LeftOut)
}

// settle waits until all that was recorded is with the disk.
func (w *writer) settle(t *testing.T) {
	require.Eventually(t, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.waiting) == 0 && w.idle
	}, 10*time.Second, time.Millisecond)
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, c := range []struct {
		opt  Options
		want string
	}{
		{Options{}, "record: no folder given; set Options.Dir to one that outlives the process"},
		{Options{Dir: t.TempDir(), SegmentBytes: 100}, "record: segments of 100 bytes are too short; make them 16384 or more"},
		{Options{Dir: t.TempDir(), SegmentBytes: 1 << 20, MaxBytes: 1 << 20}, "record: 1048576 bytes do not hold two segments of 1048576; raise MaxBytes or lower SegmentBytes"},
		{Options{Dir: filepath.Join(file, "below")}, "record: the folder cannot be made"},
	} {
		_, err := New(c.opt)
		assert.ErrorContains(t, err, c.want)
	}
	_, err := New(Options{Dir: t.TempDir(), MaxBytes: 1 << 20})
	assert.NoError(t, err, "the length of a segment follows the bound")
}

// The rules are named as the protocol names them, with the functions that keep them.
func TestTheRulesAreThoseOfTheProtocol(t *testing.T) {
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "protocol", "doc.go"), nil, parser.ParseComments)
	require.NoError(t, err)
	text := parsed.Doc.Text()
	_, text, _ = strings.Cut(text, "# The nineteen rules")
	text, _, _ = strings.Cut(text, "# The state table")
	items := regexp.MustCompile(`(?m)^ +(\d+)\. `).Split(text, -1)[1:]
	require.Len(t, items, 19)
	for i, item := range items {
		n := i + 1
		item = strings.Join(strings.Fields(item), " ")
		if strings.Contains(item, "Not in this machine") {
			continue
		}
		require.Less(t, n, len(rules))
		r := rules[n]
		assert.Equal(t, n, r.Number)
		assert.True(t, strings.HasPrefix(item, r.Name), "rule %d is named %q", n, item)
		assert.True(t, strings.HasSuffix(item, "("+r.Functions+")"), "rule %d is kept by %q", n, item)
	}
}

func TestEveryEffectHasARuleOrNone(t *testing.T) {
	none := map[string]bool{"Register": true, "Note wedged": true, "Note -": true}
	for k := protocol.Register; k <= protocol.Exit; k++ {
		details := 1
		switch k {
		case protocol.Note:
			details = int(protocol.EverySlotWedged) + 1
		case protocol.Line:
			details = int(protocol.WasUnsettled) + 1
		}
		for d := range details {
			a := Asked{Kind: k, Detail: uint8(d), Slot: protocol.NoSlot}
			n := decides(a, protocol.Tick)
			assert.Equal(t, !none[a.String()], rules[n].Number > 0, "%v: rule %d", a, n)
		}
	}
	e := protocol.Effect{Kind: protocol.Settle, Verb: protocol.Quarantine, Reason: protocol.Reasons - 1, Slot: 2}
	assert.Equal(t, "Settle quarantine (cut), slot 2", Of(&e).String(), "verb and reason fit the detail")
}
