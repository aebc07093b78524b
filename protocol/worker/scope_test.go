package worker

import (
	"context"
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
