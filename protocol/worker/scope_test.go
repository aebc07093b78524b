package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
)

// nowhere is a stage without a worker.
type nowhere struct{ Clock }

func (nowhere) now() protocol.Instant              { return 0 }
func (n nowhere) timer(at protocol.Instant) Timer  { return n.NewTimer(at) }
func (nowhere) saveAsked(*Job)                     {}
func (nowhere) reached(*Job, Point)                {}
func (nowhere) track(string) (func() error, error) { return untracked, nil }

func scopeOf(job protocol.JobKey, token protocol.Token) *Scope {
	return newJob(&Grant{Job: job, Token: token}, nowhere{SystemClock()}, 0).Scope
}

func TestAStagedFileAppearsWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	write := func(s *Scope) {
		f, err := s.Stage(path)
		require.NoError(t, err)
		_, err = f.WriteString("done")
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	aborted := scopeOf(1, 1)
	write(aborted)
	code, err := aborted.undo(t.Context())
	require.NoError(t, err)
	assert.Equal(t, protocol.UndoDone, code)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)

	finished := scopeOf(1, 2)
	write(finished)
	require.NoError(t, finished.commitAll())
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "done", string(content))
}

func TestHooksRunLastInFirstOutAndSharedOnesOnlyWhileTheClaimIsHeld(t *testing.T) {
	var order []string
	say := func(s string) func(context.Context) error {
		return func(context.Context) error { order = append(order, s); return nil }
	}
	fill := func() *Scope {
		s := scopeOf(1, 1)
		s.OnAbort(say("first"))
		s.OnAbortShared(say("shared"))
		_, err := Acquire(s, func() (int, func() error, error) {
			return 1, func() error { order = append(order, "lease"); return nil }, nil
		})
		require.NoError(t, err)
		return s
	}
	code, err := fill().undo(t.Context())
	require.NoError(t, err)
	assert.Equal(t, protocol.UndoDone, code)
	assert.Equal(t, []string{"lease", "shared", "first"}, order)

	order = nil
	lost := fill()
	lost.privateOnly.Store(true)
	code, err = lost.undo(t.Context())
	require.NoError(t, err)
	assert.Equal(t, protocol.UndoSkipped, code)
	assert.Equal(t, []string{"lease", "first"}, order)

	order = nil
	s := fill()
	s.OnAbort(func(context.Context) error { panic("no") })
	code, err = s.undo(t.Context())
	assert.Equal(t, protocol.UndoFailed, code)
	assert.ErrorContains(t, err, "panic in a hook: no")
	assert.Equal(t, []string{"lease", "shared", "first"}, order, "one hook that fails does not keep the others from running")

	order = nil
	require.NoError(t, fill().commitAll())
	assert.Equal(t, []string{"lease"}, order, "what was acquired is released when the job is done, too")
}

// What earlier executions have left behind on this machine, killed before they could clean
// up, goes when the job is next run here; what later ones have made stays.
func TestLeavingsOfEarlierExecutionsAreSweptAway(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir) // Windows
	path := filepath.Join(dir, "out")
	create := func(token protocol.Token, prior Prior) (string, string) {
		s := newJob(&Grant{Job: 7, Token: token, Prior: prior}, nowhere{SystemClock()}, 0).Scope
		temp, err := s.TempDir()
		require.NoError(t, err)
		f, err := s.Stage(path)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		return temp, f.Name()
	}
	killed, killedFile := create(3, Prior{})
	later, laterFile := create(9, Prior{})
	own, ownFile := create(5, Prior{Token: 3})
	assert.NoDirExists(t, killed)
	assert.NoFileExists(t, killedFile)
	for _, dir := range []string{later, own} {
		assert.DirExists(t, dir)
	}
	for _, file := range []string{laterFile, ownFile} {
		assert.FileExists(t, file)
	}
}

func TestAScopeThatHasEndedTakesNothingIn(t *testing.T) {
	take := func(s *Scope) (acquired, released bool, err error) {
		_, err = Acquire(s, func() (int, func() error, error) {
			acquired = true
			return 0, func() error { released = true; return nil }, nil
		})
		return acquired, released, err
	}
	done, undone := scopeOf(1, 1), scopeOf(1, 2)
	require.NoError(t, done.commitAll())
	_, err := undone.undo(t.Context())
	require.NoError(t, err)
	for _, s := range []*Scope{done, undone} {
		acquired, _, err := take(s)
		assert.ErrorIs(t, err, ErrScopeOver)
		assert.False(t, acquired)
		_, err = s.TempDir()
		assert.ErrorIs(t, err, ErrScopeOver)
		_, err = s.Stage(filepath.Join(t.TempDir(), "x"))
		assert.ErrorIs(t, err, ErrScopeOver)
	}
	ran := 0
	count := func(context.Context) error { ran++; return nil }
	done.OnAbort(count)
	assert.Zero(t, ran, "what was done is not undone")
	undone.OnAbort(count)
	assert.Equal(t, 1, ran, "what came too late for the undo is undone at once")

	// The scope ends while something is being acquired.
	s, released := scopeOf(1, 3), false
	_, err = Acquire(s, func() (int, func() error, error) {
		_, _ = s.undo(t.Context())
		return 0, func() error { released = true; return nil }, nil
	})
	assert.ErrorIs(t, err, ErrScopeOver)
	assert.True(t, released)
}

func TestAReleaseBesideAnErrorIsRegistered(t *testing.T) {
	s, released := scopeOf(1, 1), false
	_, err := Acquire(s, func() (int, func() error, error) {
		return 0, func() error { released = true; return nil }, errors.New("half open")
	})
	assert.ErrorContains(t, err, "half open")
	_, err = s.undo(t.Context())
	require.NoError(t, err)
	assert.True(t, released)
}

// tracked is a stage that is told of files.
type tracked struct {
	nowhere
	all map[string]bool
}

func (s tracked) track(path string) (func() error, error) {
	s.all[path] = true
	return func() error { delete(s.all, path); return nil }, nil
}

func TestFilesAreTrackedFromTheirBeginningToTheirEnd(t *testing.T) {
	for _, end := range []func(*Scope) error{
		(*Scope).commitAll,
		func(s *Scope) error { _, err := s.undo(t.Context()); return err },
	} {
		on := tracked{nowhere{SystemClock()}, map[string]bool{}}
		s := newJob(&Grant{Job: 1, Token: 1}, on, 0).Scope
		dir, err := s.TempDir()
		require.NoError(t, err)
		f, err := s.Stage(filepath.Join(t.TempDir(), "x"))
		require.NoError(t, err)
		assert.Equal(t, map[string]bool{dir: true, f.Name(): true}, on.all)
		require.NoError(t, end(s))
		assert.Empty(t, on.all)
	}
}
