//go:build unix

package realworld_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/realworld"
)

func TestALifeThatEndsInOrderLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	s, err := realworld.TakeSeat(t.Context(), dir, "render/0")
	require.NoError(t, err)
	require.DirExists(t, s.Dir())
	assert.True(t, s.Alone())
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(dir, "render%2F0", "lock")}, files)

	for _, name := range []string{"", ".", ".."} {
		_, err = realworld.TakeSeat(t.Context(), dir, name)
		assert.ErrorContains(t, err, "cannot name a seat")
	}
}

// leave makes the folder that a killed life leaves, under a kernel of that name.
func leave(t *testing.T, dir, life, kernel string) string {
	t.Helper()
	folder := filepath.Join(dir, "render%2F0", life)
	for _, sub := range []string{"tmp", "made"} {
		require.NoError(t, os.MkdirAll(filepath.Join(folder, sub), 0o700))
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "life.json"), []byte(`{"pid":1,"boot":"`+kernel+`"}`), 0o600))
	return folder
}

func TestTheDeadAreNotTrustedAndTheLivingNotDisturbed(t *testing.T) {
	dir := t.TempDir()
	folder := leave(t, dir, "elsewhere", "another kernel")
	s, err := realworld.TakeSeat(t.Context(), dir, "render/0")
	require.NoError(t, err)
	assert.False(t, s.Alone())
	assert.DirExists(t, folder, "it may live on: nothing of it is touched")
	require.NoError(t, s.Close())

	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(folder, "life.json"), old, old))
	s, err = realworld.TakeSeat(t.Context(), dir, "render/0")
	require.NoError(t, err)
	assert.False(t, s.Alone(), "silence is no proof")
	assert.NoDirExists(t, folder)
	require.NoError(t, s.Close())
}

func TestWhatTheDeadMadeElsewhereIsRemoved(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	s, err := realworld.TakeSeat(t.Context(), dir, "render/0")
	require.NoError(t, err)
	half, whole := filepath.Join(out, "half"), filepath.Join(out, "whole")
	for _, path := range []string{half, whole} {
		untrack, err := s.Track(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		if path == whole {
			require.NoError(t, untrack())
		}
	}
	// It is killed: what is in its folder stays. Renamed, it is a dead life's.
	kept := filepath.Join(dir, "render%2F0", "dead")
	require.NoError(t, os.CopyFS(kept, os.DirFS(filepath.Dir(s.Dir()))))
	require.NoError(t, s.Close())

	next, err := realworld.TakeSeat(t.Context(), dir, "render/0")
	require.NoError(t, err)
	defer next.Close()
	assert.NoFileExists(t, half)
	assert.FileExists(t, whole)
	assert.NoDirExists(t, kept)
}
