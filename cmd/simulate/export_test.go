package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/plots/chronicle"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/realworld/record"
)

// traced is an event of a trace, with times in nanoseconds.
type traced struct {
	Name, Ph, Cat, ID, S, Bp string
	Ts, Dur                  json.Number
	Pid, Tid                 int
	Args                     map[string]any
}

func nanoseconds(t *testing.T, n json.Number) int64 {
	whole, part, _ := strings.Cut(n.String(), ".")
	ns, err := strconv.ParseInt(whole+(part + "000")[:3], 10, 64)
	require.NoError(t, err)
	return ns
}

// readTrace reads a trace and checks that a viewer can make sense of it: the fields that each
// kind of event must have, the order of time, slices that lie in each other or apart, pairs
// that are complete, and names for all processes and threads.
func readTrace(t *testing.T, path string) []traced {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var doc struct {
		DisplayTimeUnit string
		TraceEvents     []traced
	}
	require.NoError(t, json.Unmarshal(text, &doc))
	assert.Equal(t, "ms", doc.DisplayTimeUnit)
	type thread struct{ pid, tid int }
	names, open := map[thread]bool{}, map[thread][]int64{}
	pairs, arrows := map[string]int{}, map[string]int64{}
	last := int64(0)
	for i, e := range doc.TraceEvents {
		at := nanoseconds(t, e.Ts)
		require.GreaterOrEqual(t, at, last, "event %d comes too late", i)
		last = at
		require.NotEmpty(t, e.Name)
		require.Positive(t, e.Pid)
		here := thread{e.Pid, e.Tid}
		switch e.Ph {
		case "M":
			require.NotEmpty(t, e.Args)
			names[here] = true
		case "X":
			until := at + nanoseconds(t, e.Dur)
			stack := open[here]
			for len(stack) > 0 && stack[len(stack)-1] <= at && !(stack[len(stack)-1] == at && until == at) {
				stack = stack[:len(stack)-1]
			}
			if len(stack) > 0 {
				require.LessOrEqual(t, until, stack[len(stack)-1], "%s at %d overlaps the slice that it begins in", e.Name, at)
			}
			open[here] = append(stack, until)
		case "i":
			require.Equal(t, "t", e.S)
		case "C":
			require.GreaterOrEqual(t, e.Args["claims"].(float64), 0.0)
		case "b", "e":
			require.NotEmpty(t, e.ID)
			require.NotEmpty(t, e.Cat)
			pairs[e.ID] += map[string]int{"b": 1, "e": -1}[e.Ph]
			require.GreaterOrEqual(t, pairs[e.ID], 0)
		case "s", "f":
			if e.Ph == "s" {
				arrows[e.ID] = at
				stack := open[here]
				require.NotEmpty(t, stack, "an arrow begins in a slice")
				require.Greater(t, stack[len(stack)-1], at)
			} else {
				require.Equal(t, "e", e.Bp)
				require.Contains(t, arrows, e.ID)
				require.NotEmpty(t, open[here], "an arrow ends in a slice")
				delete(arrows, e.ID)
			}
		default:
			t.Fatalf("event %d has phase %q", i, e.Ph)
		}
		require.True(t, names[here] || e.Ph == "C" || e.Ph == "b" || e.Ph == "e", "event %d is of a thread without a name", i)
		require.True(t, names[thread{e.Pid, 0}], "event %d is of a process without a name", i)
	}
	for id, n := range pairs {
		require.Zero(t, n, "pair %s", id)
	}
	require.Empty(t, arrows)
	return doc.TraceEvents
}

// countOf is how many events are of a kind.
func countOf(events []traced, ph, cat string) int {
	n := 0
	for _, e := range events {
		if e.Ph == ph && e.Cat == cat {
			n++
		}
	}
	return n
}

// A trace shows what the timeline says of a worker, and it is a trace whatever the policy.
func TestARunIsTraced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.json")
	for _, policy := range []string{"hybrid", "crash-only", "drain", "deaf", "release-now"} {
		out := succeed(t, "replay", tiny, "--policy", policy, "--perfetto", path)
		assert.Regexp(t, `run\.json: 0\.000s to 30m00\.000s, \d{3} jobs; open it at https://ui\.perfetto\.dev or chrome://tracing\n$`, out)
		events := readTrace(t, path)
		assert.Greater(t, countOf(events, "X", "finished"), 500, policy)
		assert.Greater(t, countOf(events, "b", "stall"), 10, policy)
		assert.Greater(t, countOf(events, "f", "job"), 5, policy)
	}
	events := func() []traced {
		succeed(t, "replay", tiny, "--worker", "35", "--perfetto", path)
		return readTrace(t, path)
	}()
	timeline := succeed(t, "replay", tiny, "--worker", "35")
	assert.Equal(t, strings.Count(timeline, ": handler starts"), countOf(events, "X", "running"))
	assert.Equal(t, strings.Count(timeline, "undo begins"), countOf(events, "X", "undoing"))
	assert.Equal(t, strings.Count(timeline, "handler cancelled"), strings.Count(fmt.Sprint(events), "handler cancelled"))
	assert.Equal(t, strings.Count(timeline, "is known to the broker"), countOf(events, "X", "life"))
}

func TestATraceIsCutToTheTimeThatIsAskedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.json")
	succeed(t, "replay", tiny, "--from", "15m50s", "--until", "17m", "--perfetto", path)
	for _, e := range readTrace(t, path) {
		if e.Ph == "M" {
			continue
		}
		at, end := nanoseconds(t, e.Ts), int64(0)
		if e.Dur != "" {
			end = nanoseconds(t, e.Dur)
		}
		assert.GreaterOrEqual(t, at, int64(950e9))
		assert.LessOrEqual(t, at+end, int64(1020e9))
	}
}

// The same run gives the same bytes.
func TestFilesOfARunAreTheSameEveryTime(t *testing.T) {
	dir := t.TempDir()
	var first [2][]byte
	for i := range 2 {
		json, html := filepath.Join(dir, "run.json"), filepath.Join(dir, "run.html")
		assert.Equal(t, 2, strings.Count(succeed(t, "replay", tiny, "--policy", "crash-only", "--until", "8m30s", "--perfetto", json, "--html", html), "\n"))
		for k, path := range []string{json, html} {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			if i == 0 {
				first[k] = text
			}
			assert.Equal(t, string(first[k]), string(text))
		}
	}
}

func TestAPageShowsARun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.html")
	succeed(t, "replay", tiny, "--worker", "35", "--html", path)
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	text := string(page)
	assert.Contains(t, text, "<title>tiny under hybrid, seed 1</title>")
	assert.Contains(t, text, ">worker 35</span>")
	assert.NotContains(t, text, ">worker 34</span>")
	assert.Contains(t, text, "SIGTERM; SIGKILL comes in 20s</title>")
	assert.Contains(t, text, "outcome: finished</title>")
	timeline := succeed(t, "replay", tiny, "--worker", "35")
	assert.Equal(t, strings.Count(timeline, "undo begins"), strings.Count(text, `<rect class="undoing"`))
	assert.Equal(t, strings.Count(timeline, "SIGTERM"), strings.Count(text, "SIGTERM"))
}

func TestARecordingIsTraced(t *testing.T) {
	i := drained(t)
	path := filepath.Join(t.TempDir(), "flight.json")
	assert.Regexp(t, `flight\.json: 0\.000s to 37\.500s, 3 jobs; `, succeed(t, "replay", i.dir, "--perfetto", path))
	var got []string
	for _, e := range readTrace(t, path) {
		at, end := nanoseconds(t, e.Ts), int64(0)
		switch e.Ph {
		case "X":
			end = at + nanoseconds(t, e.Dur)
			got = append(got, fmt.Sprintf("%s to %s %s (%s) %v", clock(protocol.Instant(at)), clock(protocol.Instant(end)), e.Name, e.Cat, e.Args["outcome"]))
		case "i":
			got = append(got, fmt.Sprintf("%s %s", clock(protocol.Instant(at)), e.Name))
		}
	}
	golden(t, "recording-trace.txt", strings.Join(got, "\n")+"\n")

	succeed(t, "replay", i.dir, "--from", "11s", "--until", "34s", "--html", path)
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Contains(t, string(page), "web-1, slot 2\njob 3\n11s to 34s, 23s\nkind: render")
}

// A claim whose lease was lost is drawn until nothing is done under it any more, which no
// answer tells, and is not counted as held from the loss on.
func TestALostClaimIsDrawnUntilItsHandlerReturns(t *testing.T) {
	i := newIncident(t).granted(1).until(5 * protocol.Second)
	i.told(protocol.Renewed(0, 1, 101, protocol.Stale, i.now, 0))
	i.until(7 * protocol.Second).told(protocol.Returned(0, protocol.ReturnedError, true))
	i.until(9 * protocol.Second).granted(2)
	i.until(10*protocol.Second).told(protocol.Returned(0, protocol.ReturnedNil, true), protocol.Settled(0, 2, 102, protocol.OK)).ended()
	path := filepath.Join(t.TempDir(), "flight.json")
	succeed(t, "replay", i.dir, "--perfetto", path)
	var claims, held []string
	for _, e := range readTrace(t, path) {
		switch {
		case e.Ph == "X" && strings.HasPrefix(e.Name, "job "):
			claims = append(claims, fmt.Sprintf("%s %s from %s for %s: %v", e.Name, e.Cat, e.Ts, e.Dur, e.Args["outcome"]))
		case e.Ph == "C":
			held = append(held, fmt.Sprintf("%v at %s", e.Args["claims"], e.Ts))
		}
	}
	assert.Equal(t, []string{"job 1 lost from 0 for 7000000: its lease was lost", "job 2 finished from 9000000 for 1000000: finished"}, claims)
	assert.Equal(t, []string{"1 at 0", "0 at 5000000", "1 at 9000000", "0 at 10000000"}, held)
}

// A recording of which the oldest part is gone begins with a worker that serves.
func TestARecordingMayBeginInTheMiddle(t *testing.T) {
	r := &record.Recording{Header: record.Header{Seat: "web-1", Life: "01234567", Slots: 1, Config: protocol.Config{Queues: 1}}}
	n := newRecordingNarrator(r, &selection{until: protocol.Never, worker: -1}, 10)
	at := protocol.Instant(protocol.Hour)
	n.see(&record.Step{At: at, Effects: []protocol.Effect{{Kind: protocol.Claim, Slot: protocol.NoSlot}}})
	n.finish(at.Add(protocol.Second))
	var phases []chronicle.Class
	for _, s := range n.story.Tracks[0].Spans {
		phases = append(phases, s.Class)
	}
	assert.Contains(t, phases, chronicle.Serving)
}

// What comes before a divergence is drawn, and the finding stays one.
func TestADivergenceIsDrawnUpToIt(t *testing.T) {
	i := newIncident(t).granted(1).until(5 * protocol.Second)
	i.forges = func(fx []protocol.Effect) []protocol.Effect { return fx[:len(fx)-1] }
	i.told(protocol.StopBySignal(protocol.SIGTERM, protocol.Never)).ended()
	path := filepath.Join(t.TempDir(), "flight.json")
	r := invoke(t.Context(), "replay", i.dir, "--perfetto", path)
	assert.Equal(t, exitFinding, r.status)
	assert.Contains(t, r.stderr, "the replay differs from the recording at step")
	assert.Equal(t, 1, countOf(readTrace(t, path), "X", "running"))
}

// A slip of the completion must not cost the recording of an incident, or a finding.
func TestWhatIsLookedAtIsNotOverwritten(t *testing.T) {
	i := drained(t)
	segments, err := filepath.Glob(filepath.Join(i.dir, "*"+record.Suffix))
	require.NoError(t, err)
	require.NotEmpty(t, segments)
	scenario := filepath.Join(t.TempDir(), "finding.yaml")
	text, err := os.ReadFile(tiny)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(scenario, text, 0o644))
	for _, c := range []struct{ read, write string }{
		{segments[0], segments[0]},
		{i.dir, segments[0]},
		{tiny, segments[0]},
		{scenario, scenario},
	} {
		before, err := os.ReadFile(c.write)
		require.NoError(t, err)
		r := invoke(t.Context(), "replay", c.read, "--html", c.write)
		assert.Equal(t, exitMisuse, r.status)
		assert.Contains(t, r.stderr, c.write+" is a recording or what would be drawn, and would be overwritten; name another file")
		after, err := os.ReadFile(c.write)
		require.NoError(t, err)
		assert.Equal(t, before, after)
	}
}

func TestFilesThatCannotBeDrawnAreRefused(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "run.html")
	i := drained(t)
	for _, c := range []struct{ args, want string }{
		{tiny + " --job 3 --html " + page, "--job is a timeline in words, and --perfetto and --html show everything there is; leave it out"},
		{tiny + " --deploy 1 --perfetto " + page, "--deploy is a timeline in words"},
		{tiny + " --format json --html " + page, "--format json is for a timeline in words; leave it out"},
		{tiny + " --perfetto " + page + " --html " + page, "name the same file"},
		{tiny + " --html " + dir, dir + " is a folder; name a file in it"},
		{tiny + " --html " + filepath.Join(dir, "no", "run.html"), "cannot be written: no such file or directory; name a file in a folder that you may write into"},
		{tiny + " --worker 900 --html " + page, "--worker 900 did nothing by then; the seats that were used are 0 to"},
		{"five-minute-lease --html " + page, "there is more than a page can show (25,000 spans); cut it with --from and --until or --worker"},
		{i.dir + " --from 2h --html " + page, "nothing happened between --from 2h0m0s and --until never; the recording has 0.000s to 37.500s"},
		{i.dir + " --worker 3 --html " + page, "--worker is for the run of a scenario"},
	} {
		r := invoke(t.Context(), strings.Fields("replay "+c.args)...)
		assert.Equal(t, exitMisuse, r.status, c.args)
		assert.Contains(t, r.stderr, c.want)
		assert.Empty(t, r.stdout)
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left, "nothing is left behind")
}
