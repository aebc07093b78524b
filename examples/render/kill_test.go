//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/realworld"
	"github.com/quiesce/quiesce/realworld/record"
	"github.com/quiesce/quiesce/realworld/redis"
)

// Four workers are killed again and again, whatever they are doing, and started again. In the
// end every film is there, each job was done once, and nobody has ever seen half a picture.
func TestSIGKILLAtRandomInstants(t *testing.T) {
	kills := 200
	if testing.Short() {
		kills = 40
	}
	const seats = 4
	w := newWorld(t, 2*time.Second)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed) // of the instants; what they hit is up to the machine

	watching := watch(w.out())
	var names []string
	feed := func() { // more than can be drawn, so that nobody is killed while idle
		var jobs []redis.Job
		for range 4 * seats {
			f := film{Name: fmt.Sprintf("film-%d", len(names)), Frames: 2, Size: 16, Pace: 30 * time.Millisecond}
			names = append(names, f.Name)
			job, err := f.job("film")
			require.NoError(t, err)
			jobs = append(jobs, job)
		}
		_, err := w.queue.Enqueue(t.Context(), jobs...)
		require.NoError(t, err)
	}
	feed()

	dead := make(chan error)
	for s := range seats {
		random := rand.New(rand.NewPCG(seed, uint64(s)))
		seat := fmt.Sprint(s)
		go func() {
			for range kills / seats {
				cmd := w.command(seat, 2)
				err := cmd.Start()
				if err == nil {
					time.Sleep(time.Duration(random.Int64N(int64(700 * time.Millisecond))))
					err = cmd.Process.Signal(syscall.SIGKILL)
					_ = cmd.Wait()
					if code := cmd.ProcessState.ExitCode(); err == nil && code != -1 {
						err = fmt.Errorf("worker %s ended with status %d before it was killed", seat, code)
					}
				}
				dead <- err
			}
		}()
	}
	for range kills / seats * seats {
		assert.NoError(t, <-dead)
		if w.stats().Ready < seats {
			feed()
		}
	}
	killed := w.stats()
	t.Logf("after %d kills: %d of %d done, %d expired, %d dead", kills, killed.Total.Done, killed.Total.Enqueued, killed.Total.Expired, killed.Dead)
	assert.NotZero(t, killed.Total.Expired, "nobody was killed at work")

	// Now they live. What was killed three times in a row is put back by an operator.
	var fleet []*process
	for s := range seats {
		fleet = append(fleet, w.start(fmt.Sprint(s), 4))
	}
	over := assert.Eventually(t, func() bool {
		_, err := w.queue.Redrive(t.Context(), redis.Filter{}, -1)
		require.NoError(t, err)
		s := w.stats()
		return s.Ready+s.Delayed+s.Claimed+s.Dead == 0
	}, time.Minute, 50*time.Millisecond, "not every job is done")
	if !over {
		t.Logf("%+v", w.stats())
		for _, p := range fleet {
			text, err := realworld.Ask(t.Context(), p.endpoint(), "/readyz")
			t.Log(p.seat, text, err)
		}
		return
	}
	for _, p := range fleet {
		p.signal(syscall.SIGTERM)
	}
	for _, p := range fleet {
		assert.Equal(t, 0, p.end())
	}

	s := w.stats()
	assert.Equal(t, s.Total.Enqueued, s.Total.Done, "each job was done, and once")
	assert.Zero(t, s.Quarantined)
	for _, name := range names {
		for _, file := range []string{"0001.png", "0002.png", "sheet.png"} {
			assert.FileExists(t, filepath.Join(w.out(), name, file))
		}
	}
	seen, bad := watching()
	assert.Empty(t, bad, "files that were half written")
	assert.GreaterOrEqual(t, seen, 3*len(names))
	left, err := filepath.Glob(filepath.Join(w.out(), "*", ".*"))
	require.NoError(t, err)
	assert.Empty(t, left)
	lives, err := filepath.Glob(filepath.Join(w.state(), "*", "*", "life.json"))
	require.NoError(t, err)
	assert.Empty(t, lives)
	checkRecordings(t, filepath.Join(w.state(), "flight"))
}

// watch reads every picture under its final name as soon as it appears there, and again when
// it is replaced. The function that it returns ends the watch, after a last look.
func watch(dir string) (end func() (seen int, bad []string)) {
	type version struct {
		path string
		at   time.Time
	}
	known := map[version]bool{}
	var bad []string
	look := func() {
		files, _ := filepath.Glob(filepath.Join(dir, "*", "[^.]*.png"))
		for _, path := range files {
			info, err := os.Stat(path)
			if err != nil || known[version{path, info.ModTime()}] {
				continue
			}
			if _, err := readPicture(path); err != nil {
				bad = append(bad, fmt.Sprintf("%s: %v", path, err))
			}
			known[version{path, info.ModTime()}] = true
		}
	}
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-stop:
				look()
				return
			case <-time.After(20 * time.Millisecond):
				look()
			}
		}
	})
	return func() (int, []string) {
		close(stop)
		watching.Wait()
		return len(known), bad
	}
}

// checkRecordings replays the flight recordings of all lives: each token was granted to one
// life only, no job was acked under two tokens, and none under another than its newest.
func checkRecordings(t *testing.T, dir string) {
	t.Helper()
	type claim struct {
		job   protocol.JobKey
		token protocol.Token
	}
	holder := map[claim]string{}
	newest := map[protocol.JobKey]protocol.Token{}
	acked := map[protocol.JobKey]protocol.Token{}
	files, err := filepath.Glob(filepath.Join(dir, "*-000001"+record.Suffix))
	require.NoError(t, err)
	for _, file := range files {
		recording, err := record.Read(file)
		if err != nil && strings.Contains(err.Error(), "breaks off") {
			continue // it was killed before its first step
		}
		require.NoError(t, err)
		life := recording.Header.Life
		verbs := map[claim]protocol.Verb{}
		result, err := recording.Replay(func(s *record.Step) bool {
			c := claim{s.Event.Job, s.Event.Token}
			switch ev := s.Event; {
			case ev.Kind == protocol.Granted:
				if holder[c] != "" {
					assert.Equal(t, holder[c], life, "job %d was granted twice under token %d", ev.Job, ev.Token)
				}
				holder[c] = life
				newest[ev.Job] = max(newest[ev.Job], ev.Token)
			case ev.Kind == protocol.SettleAnswered && ev.Code == protocol.OK && verbs[c] == protocol.Ack:
				assert.Zero(t, acked[ev.Job], "job %d was acked before", ev.Job)
				acked[ev.Job] = ev.Token
			}
			for _, e := range s.Effects {
				if e.Kind == protocol.Settle {
					verbs[claim{e.Job, e.Token}] = e.Verb
				}
			}
			return true
		})
		require.NoError(t, err)
		assert.Nil(t, result.Divergence, file)
	}
	for job, token := range acked {
		assert.Equal(t, newest[job], token, "job %d was acked under a token that was stale", job)
	}
	assert.NotEmpty(t, acked)
	t.Logf("%d recordings, %d claims, %d acks", len(files), len(holder), len(acked))
}
