//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/realworld"
	"github.com/quiesce/quiesce/realworld/redis"
)

// That SIGTERM after a preStop call does not hurry, and SIGCONT after SIGTERM does not resume,
// is shown beside the code that does it, in package realworld.

func TestSIGTERMMidJobHasItRunElsewhereWithinASecond(t *testing.T) {
	t.Parallel()
	w := newWorld(t, forever)
	jobs := w.add("patient", "patient")
	a := w.start("a", 2)
	a.expect("started")
	a.expect("started")
	b := w.start("b", 2)
	w.eventually(func() bool { return w.stats().Waiting == 1 }, "the other worker does not wait for jobs")

	a.signal(syscall.SIGTERM)
	var cancelled, started time.Time
	for range jobs {
		cancelled = at(t, a.expect("cancelled"))
		started = at(t, b.expect("started"))
	}
	assert.Less(t, started.Sub(cancelled), time.Second)
	t.Logf("running again %v after the cancel", started.Sub(cancelled))
	assert.Equal(t, 0, a.end())
	for _, job := range jobs {
		assert.Equal(t, "released", a.outcome(job))
		assert.Equal(t, 0, w.job(job).Failures)
	}
	s := w.stats()
	assert.Equal(t, 2, s.Claimed, "by the other worker")
	assert.Equal(t, 2, s.Total.Released)

	w.proceed()
	w.eventually(func() bool { return w.stats().Total.Done == 2 }, "the jobs are not done")
	b.signal(syscall.SIGTERM)
	assert.Equal(t, 0, b.end())
}

// The claim's answer is on its way when the stop comes. What it grants is not begun.
func TestAClaimOnTheWireAtSIGTERMGoesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, forever)
	between := w.throughProxy()
	w.add("patient")
	p := w.start("a", 1)
	p.expect("started")
	next := w.add("patient")[0]
	between.Slow(700 * time.Millisecond) // less than is waited for
	w.proceed()
	w.eventually(func() bool { return w.job(next).State == redis.Claimed }, "Redis was not asked for a job")
	between.Hush()
	p.drain()
	between.Slow(0)
	between.Speak()

	require.Equal(t, 0, p.end())
	assert.Equal(t, 1, strings.Count(strings.Join(p.said, "\n"), "started patient"))
	info := w.job(next)
	assert.Equal(t, redis.Ready, info.State)
	assert.Equal(t, 0, info.Failures)
	assert.Equal(t, 0, w.stats().Claimed)
	assert.Equal(t, 1, w.stats().Total.Done)
}

func TestALongPollIsTakenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, forever)
	p := w.start("a", 1)
	w.eventually(func() bool { return w.stats().Waiting == 1 }, "the worker does not wait for jobs")
	p.signal(syscall.SIGTERM)
	assert.Equal(t, 0, p.end())
	said := strings.Join(p.said, "\n")
	assert.Contains(t, said, "drained outcome=withdrawn")
	assert.Zero(t, w.stats().Waiting)

	job := w.add("patient")[0]
	assert.Equal(t, redis.Ready, w.job(job).State, "the dead are granted nothing")
}

// How a job ends whose handler behaves oddly when the worker is stopped.
func TestOddHandlers(t *testing.T) {
	for _, c := range []struct {
		kind    string
		proceed bool // before the stop
		status  int
		state   redis.State
		outcome string
		also    func(t *testing.T, w *world, p *process, info redis.Info)
	}{
		{kind: "deaf", status: 3, state: redis.Claimed, outcome: "leaked", also: func(t *testing.T, _ *world, p *process, _ redis.Info) {
			assert.Contains(t, strings.Join(p.said, "\n"), "a handler ignores its cancellation")
		}},
		{kind: "panicking", proceed: true, status: 0, state: redis.Delayed, outcome: "failed", also: func(t *testing.T, _ *world, p *process, info redis.Info) {
			assert.Equal(t, 1, info.Failures)
			assert.Contains(t, info.Message, "oh")
		}},
		{kind: "stuck", status: 3, state: redis.Quarantined, outcome: "quarantined"}, // the hook is what did not return
		{kind: "obliging", status: 0, state: redis.Done, outcome: "finished", also: func(t *testing.T, w *world, _ *process, _ redis.Info) {
			assert.Equal(t, 1, w.stats().Total.Done)
		}},
		{kind: "patient", status: 0, state: redis.Ready, outcome: "released"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, forever)
			job := w.add(c.kind)[0]
			p := w.start("a", 1)
			p.expect("started")
			if c.proceed {
				w.proceed()
				w.eventually(func() bool { return w.stats().Claimed == 0 }, "the job does not end")
			}
			p.signal(syscall.SIGTERM)
			assert.Equal(t, c.status, p.end())
			info := w.job(job)
			assert.Equal(t, c.state, info.State)
			if outcome := p.outcome(job); outcome != "" || !c.proceed { // it may have ended before the stop, for its worker too
				assert.Equal(t, c.outcome, outcome)
			}
			if c.also != nil {
				c.also(t, w, p, info)
			}
		})
	}
}

// A process that is stopped for longer than its lease knows it when it wakes, though Redis does not
// answer it; what it has to say about the job counts no more.
func TestSIGSTOPPastTheLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2*time.Second)
	job := w.add("patient")[0]
	between := w.throughProxy()
	a := w.start("a", 1)
	a.expect("started")
	a.signal(syscall.SIGSTOP)
	w.proxy = nil
	b := w.start("b", 1)
	b.expect("started")
	between.Hush()
	a.signal(syscall.SIGCONT)
	assert.Contains(t, a.expect("cancelled"), "the lease is lost")
	between.Speak()
	assert.Equal(t, redis.Claimed, w.job(job).State, "by the other worker")

	w.proceed()
	w.eventually(func() bool { return w.job(job).State == redis.Done }, "the job is not done")
	for _, p := range []*process{a, b} {
		p.signal(syscall.SIGTERM)
		assert.Equal(t, 0, p.end())
	}
	s := w.stats()
	assert.Equal(t, 1, s.Total.Done)
	assert.Equal(t, 1, s.Total.Expired)
	assert.Zero(t, s.Total.Released)
}

// What Redis and the network can do while a worker drains. It leaves inside its grace, and
// says what it could not settle.
func TestFaultsOfRedisDuringADrain(t *testing.T) {
	for _, c := range []struct {
		fault  string
		redis  []string // its arguments
		happen func(t *testing.T, w *world)
		status int
	}{
		{fault: "killed", status: 4, happen: func(_ *testing.T, w *world) { w.server.Kill() }},
		{fault: "killed and restarted", redis: []string{"--appendonly", "yes", "--appendfsync", "always"}, status: 0, happen: func(t *testing.T, w *world) {
			w.server.Kill()
			require.NoError(t, w.server.Restart(t.Context()))
		}},
		{fault: "connections cut", status: 0, happen: func(_ *testing.T, w *world) { w.proxy.Cut() }},
		{fault: "connections cut and refused", status: 4, happen: func(_ *testing.T, w *world) {
			w.proxy.Refuse()
			w.proxy.Cut()
		}},
		{fault: "replies late", status: 0, happen: func(_ *testing.T, w *world) {
			w.proxy.Slow(100 * time.Millisecond)
		}},
		{fault: "replies never", status: 4, happen: func(_ *testing.T, w *world) { w.proxy.Hush() }},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, forever, c.redis...)
			w.throughProxy()
			job := w.add("patient")[0]
			p := w.start("a", 1)
			p.expect("started")
			began := time.Now()
			p.drain()
			c.happen(t, w)
			status := p.end()
			took := time.Since(began)
			assert.Equal(t, c.status, status)
			assert.Less(t, took, graceForTests, "SIGKILL comes then")
			if c.status == 0 {
				assert.Equal(t, "released", p.outcome(job))
				w.eventually(func() bool {
					info, ok, err := w.queue.Job(t.Context(), job)
					return err == nil && ok && info.State == redis.Ready
				}, "the job is not ready")
				return
			}
			assert.Equal(t, "unsettled", p.outcome(job))
		})
	}
}

// SIGKILL leaves no process, and the next start of the seat removes what is left on the disk.
func TestSIGKILLLeavesNothingThatTheNextStartDoesNotClean(t *testing.T) {
	t.Parallel()
	w := newWorld(t, forever)
	f := film{Name: "slow", Frames: 1, Size: 64, Pace: 10 * time.Minute}
	job, err := f.job("film")
	require.NoError(t, err)
	_, err = w.queue.Enqueue(t.Context(), job)
	require.NoError(t, err)
	w.add("family")
	p := w.start("a", 2)
	line := p.expect("a family in")
	temp := line[strings.LastIndexByte(line, ' ')+1:]
	half := filepath.Join(w.out(), "slow", ".*")
	w.eventually(func() bool {
		found, _ := filepath.Glob(half)
		if len(found) != 1 {
			return false
		}
		info, err := os.Stat(found[0])
		return err == nil && info.Size() > 0
	}, "no frame is being drawn")

	p.signal(syscall.SIGKILL)
	assert.Equal(t, -1, p.end()) // which waits for all of its processes
	assert.DirExists(t, temp)
	assert.FileExists(t, filepath.Join(w.state(), "a.sock"), "what the dead leave")

	next := w.start("a", 2)
	w.eventually(func() bool {
		text, _ := realworld.Ask(t.Context(), next.endpoint(), "/healthz")
		return text != ""
	}, "the next life of the seat does not answer on its socket")
	assert.NoDirExists(t, temp)
	found, err := filepath.Glob(half)
	require.NoError(t, err)
	assert.Empty(t, found)

	next.signal(syscall.SIGTERM)
	assert.Equal(t, 0, next.end())
	assert.Equal(t, []string{"a/lock", "a.sock.lock", "flight"}, leftIn(t, w.state()))
}

// leftIn lists files and folders without others in them, but for recordings.
func leftIn(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if d.Name() == "flight" {
			all = append(all, name)
			return filepath.SkipDir
		}
		if !d.IsDir() {
			all = append(all, name)
		}
		return err
	}))
	return all
}
