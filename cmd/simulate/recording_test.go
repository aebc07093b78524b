package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
	"github.com/quiesce/quiesce/realworld/record"
)

// incident is a worker that is told things and recorded, like one in production.
type incident struct {
	t        *testing.T
	dir      string
	cfg      protocol.Config
	machine  protocol.Machine
	fx       *protocol.Effects
	now      protocol.Instant
	recorder *record.Recorder
	forges   func(fx []protocol.Effect) []protocol.Effect // what is recorded instead
}

type standing struct{ worker.Clock }

func (standing) Now() protocol.Instant { return 0 }

func newIncident(t *testing.T) *incident {
	cfg := protocol.Config{
		Kinds: []protocol.KindConfig{{MinVersion: 1, MaxVersion: 1, Gap: protocol.Second, Undo: 2 * protocol.Second}},
		Lease: protocol.Minute, Grace: 30 * protocol.Second,
	}.WithDefaults()
	i := &incident{t: t, dir: t.TempDir(), cfg: cfg, fx: protocol.NewEffects(3, 1)}
	var err error
	i.recorder, err = record.New(record.Options{Dir: i.dir, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	require.NoError(t, err)
	i.machine.Init(&i.cfg, protocol.NewMemory(&i.cfg, 3), 42)
	i.recorder.Begin(worker.Setup{
		Life: worker.Life{Seat: "web-1", Nonce: uuid.MustParse("01234567-89ab-cdef-0123-456789abcdef")}, Config: &i.cfg, Seed: 42,
		Slots: 3, Queues: []string{"default"}, Kinds: []string{"render"}, Clock: standing{},
	}, &i.machine)
	return i.told(protocol.Event{}).told(protocol.RegisteredAs(7, protocol.OK))
}

func (i *incident) told(evs ...protocol.Event) *incident {
	for _, ev := range evs {
		i.fx.Reset()
		i.machine.Step(i.now, ev, i.fx)
		fx := i.fx.All()
		if i.forges != nil {
			fx = i.forges(fx)
		}
		i.recorder.Step(i.now, ev, fx, &i.machine)
	}
	return i
}

func (i *incident) granted(jobs ...protocol.JobKey) *incident {
	seq := i.machine.Requests()[0].Seq()
	for _, j := range jobs {
		i.told(protocol.GrantedJob(0, seq, j, protocol.Token(100+j), 0, 1, 0))
	}
	return i.told(protocol.ClaimClosed(0, seq, protocol.OK, 0))
}

func (i *incident) until(at protocol.Duration) *incident {
	for i.machine.Deadline() <= protocol.Instant(at) {
		i.now = i.machine.Deadline()
		i.told(protocol.Event{})
	}
	i.now = protocol.Instant(at)
	return i
}

// drained plays a deploy: one job is finished in the grace, one is undone and handed back,
// and one is deaf.
func drained(t *testing.T) *incident {
	i := newIncident(t).granted(1, 2, 3).until(5 * protocol.Second)
	i.told(protocol.SaveCursor(1, 1, true), protocol.Saved(1, 2, 102, protocol.OK, i.now, 1))
	i.until(10 * protocol.Second).told(protocol.StopBySignal(protocol.SIGTERM, protocol.Never))
	i.until(12*protocol.Second).told(protocol.Returned(0, protocol.ReturnedNil, true), protocol.Settled(0, 1, 101, protocol.OK))
	i.until(33 * protocol.Second).told(protocol.Returned(1, protocol.ReturnedError, false))
	i.until(34*protocol.Second).told(protocol.Undid(1, protocol.UndoDone), protocol.Settled(1, 2, 102, protocol.OK))
	i.until(40 * protocol.Second)
	require.Equal(t, protocol.PhaseGone, i.machine.Phase())
	return i.ended()
}

func (i *incident) ended() *incident {
	i.recorder.End(worker.Ending{Status: i.machine.Status()})
	return i
}

// plain takes out what is another in every run of the test.
func (i *incident) plain(text string) string {
	text = strings.ReplaceAll(text, i.dir, "FLIGHT")
	text = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC`).ReplaceAllString(text, "2026-11-30 00:00:00 UTC")
	return regexp.MustCompile(`by( +)[^,]*, go[^,]*,`).ReplaceAllString(text, "by${1}example.org/render v1.0.0, go1.25.0,")
}

func TestARecordingIsReplayedAsATimeline(t *testing.T) {
	i := drained(t)
	for _, c := range []struct{ file, args string }{
		{"recording.txt", ""},
		{"recording-job.txt", "--job 2"},
		{"recording-deaf.txt", "--job 3 --from 10s"},
		{"recording-drain.txt", "--from 10s --until 33s"},
	} {
		t.Run(c.file, func(t *testing.T) {
			golden(t, c.file, i.plain(succeed(t, append([]string{"replay", i.dir}, strings.Fields(c.args)...)...)))
		})
	}
}

func TestARecordingIsReplayedForMachines(t *testing.T) {
	i := drained(t)
	var o struct {
		Recording  record.Header
		Steps      int
		Status     int
		Ledger     map[string]int
		Divergence any
	}
	require.NoError(t, json.Unmarshal([]byte(succeed(t, "replay", i.dir, "--format", "json")), &o))
	assert.Equal(t, "web-1", o.Recording.Seat)
	assert.Equal(t, protocol.ExitLeaked, o.Status)
	assert.Equal(t, map[string]int{"finished": 1, "released": 1, "leaked": 1}, o.Ledger)
	assert.Nil(t, o.Divergence)
	rows := strings.Split(strings.TrimSpace(succeed(t, "replay", i.dir, "--format", "csv")), "\n")
	assert.Equal(t, "at_seconds,who,job,what", rows[0])
	assert.Greater(t, len(rows), 20)
}

// A version that did something else then is found out at the step it did it, and whatever is
// asked for says so and exits with 1.
func TestADivergenceIsAFinding(t *testing.T) {
	i := newIncident(t).granted(1).until(5 * protocol.Second)
	i.forges = func(fx []protocol.Effect) []protocol.Effect { // it does not tell its handlers
		var without []protocol.Effect
		for _, e := range fx {
			if e.Kind != protocol.Soften {
				without = append(without, e)
			}
		}
		return without
	}
	i.told(protocol.StopBySignal(protocol.SIGTERM, protocol.Never))
	i.until(7*protocol.Second).told(protocol.Returned(0, protocol.ReturnedNil, true), protocol.Settled(0, 1, 101, protocol.OK))
	i.ended()
	for _, args := range []string{"", "--job 1"} {
		r := invoke(t.Context(), append([]string{"replay", i.dir}, strings.Fields(args)...)...)
		assert.Equal(t, exitFinding, r.status)
		assert.Equal(t, "simulate: the replay differs from the recording at step 5, 5.000s: the machine asks for something else than it did then\n", r.stderr)
		_, block, found := strings.Cut(i.plain(r.stdout), "\nStep 5,")
		require.True(t, found, r.stdout)
		golden(t, "recording-divergence.txt", "Step 5,"+regexp.MustCompile(`\(\S+test[^)]*\)`).ReplaceAllString(block, "(BUILD)"))
	}
	r := invoke(t.Context(), "replay", i.dir, "--format", "json")
	assert.Equal(t, exitFinding, r.status)
	var o struct {
		Divergence struct {
			Step               int
			Recorded, Computed []string
			Rule               int
			Functions          string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &o))
	assert.Equal(t, 5, o.Divergence.Step)
	assert.Equal(t, 17, o.Divergence.Rule)
	assert.Equal(t, "soften, cancel, judgeReturn", o.Divergence.Functions)
	assert.Contains(t, o.Divergence.Computed, "Soften, slot 0")
	assert.NotContains(t, o.Divergence.Recorded, "Soften, slot 0")

	r = invoke(t.Context(), "replay", i.dir, "--until", "4s")
	assert.Equal(t, exitFine, r.status, "what came before is not affected")
}

func TestRecordingsThatCannotBeReplayedAreRefused(t *testing.T) {
	i := drained(t)
	files, err := filepath.Glob(filepath.Join(i.dir, "*"))
	require.NoError(t, err)
	file := files[0]
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	foreign := filepath.Join(t.TempDir(), "foreign.flight")
	require.NoError(t, os.WriteFile(foreign, []byte("a log file\nof somebody else\n"), 0o600))
	damaged := filepath.Join(t.TempDir(), "damaged.flight")
	whole[len(whole)/2] ^= 1
	require.NoError(t, os.WriteFile(damaged, whole, 0o600))
	for _, c := range []struct{ args, want string }{
		{"replay " + foreign, "foreign.flight: byte 0: it is not a flight recording; recordings are made by realworld/record and end in .flight"},
		{"replay " + damaged, "the file is damaged here: a frame does not have its checksum; take another copy of it, or replay what comes before with --until"},
		{"replay nothing.flight", "nothing.flight: no such file"},
		{"replay " + file + " --seed 3", "--seed is for the run of a scenario, and " + file + " is the recording of one worker; leave it out"},
		{"replay " + file + " --worker 3", "--worker is for the run of a scenario"},
		{"replay " + file + " --job 77", "--job 77: this worker had nothing to do with it from 0.000s to 37.500s"},
		{"replay " + file + " --from 2h", "nothing happened between --from 2h0m0s and --until never; the recording has 0.000s to 37.500s"},
	} {
		r := invoke(t.Context(), strings.Fields(c.args)...)
		assert.Equal(t, exitMisuse, r.status, c.args)
		assert.Contains(t, r.stderr, c.want)
	}
}

func TestTheDocumentationShowsWhatIsPrinted(t *testing.T) {
	printed, err := os.ReadFile("testdata/recording.txt")
	require.NoError(t, err)
	shown, err := os.ReadFile("../../docs/recording.md")
	require.NoError(t, err)
	want := "$ simulate replay FLIGHT\n" + string(printed)
	assert.Contains(t, string(shown), strings.ReplaceAll(want, "FLIGHT", "/var/lib/render/flight"), "put testdata/recording.txt there")
}
