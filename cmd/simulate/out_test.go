package main

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestOutWritesEveryFormat(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "results")
	stdout := succeed(t, "compare", tiny, "--seeds", "2", "--out", dir, "--format", "csv")
	assert.Equal(t, []string{"compare.csv", "compare.json", "compare.txt"}, names(t, dir))
	file, err := os.ReadFile(filepath.Join(dir, "compare.csv"))
	require.NoError(t, err)
	assert.Equal(t, stdout, string(file))
	// A second run takes the place of the first.
	succeed(t, "compare", tiny, "--seeds", "3", "--out", dir)
	text, err := os.ReadFile(filepath.Join(dir, "compare.json"))
	require.NoError(t, err)
	assert.Equal(t, 3, decode(t, string(text)).Seeds)
	assert.Len(t, names(t, dir), 3)
}

func TestOutIsAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	good := func(w io.Writer) error { _, err := io.WriteString(w, "whole"); return err }
	bad := func(w io.Writer) error { _, _ = io.WriteString(w, "half"); return errors.New("disk full") }
	for range 8 { // whatever order the map takes
		err := saveAll(dir, map[string]write{"a": good, "b": bad, "c": good})
		assert.ErrorContains(t, err, "disk full")
		assert.Empty(t, names(t, dir))
	}
}

func TestOutIsRefusedBeforeTheRun(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "compare.csv"), 0o755))
	r := invoke(t.Context(), "compare", "--seeds", "10000", "--out", dir) // would take hours
	assert.Equal(t, exitMisuse, r.status)
	assert.Contains(t, r.stderr, "compare.csv in it is a folder")

	if os.Geteuid() == 0 {
		t.Skip("root may write anywhere; run as somebody else to see a folder refused")
	}
	closed := filepath.Join(dir, "closed")
	require.NoError(t, os.Mkdir(closed, 0o555))
	r = invoke(t.Context(), "compare", "--seeds", "10000", "--out", filepath.Join(closed, "new"))
	assert.Equal(t, exitMisuse, r.status)
	assert.Contains(t, r.stderr, "permission denied")
}

// A file is written under another name first and then takes its place, as root that of a device, too.
func TestOnlyFilesAreReplaced(t *testing.T) {
	dir := t.TempDir()
	file, link, socket := filepath.Join(dir, "there.csv"), filepath.Join(dir, "link.csv"), filepath.Join(dir, "s")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	if err := os.Symlink(file, link); err != nil {
		t.Skip("no links here: ", err)
	}
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer l.Close()
	require.NoError(t, os.Symlink(file, filepath.Join(dir, "compare.txt")))
	before := names(t, dir)
	for _, c := range []struct{ args, want string }{
		{"import " + jobList + " --out " + link, "--out " + link + " is a link; name a file, or leave --out away to have the trace on stdout"},
		{"import " + jobList + " --out " + socket, "--out " + socket + " is a device, a pipe or a socket; name a file, or leave"},
		{"compare " + tiny + " --seeds 1 --out " + dir, "compare.txt in it is a link, where a file is to be written"},
		{"replay " + tiny + " --html " + link, link + " is a link; name a file"},
		{"replay " + tiny + " --perfetto " + socket, socket + " is a device, a pipe or a socket; name a file"},
	} {
		r := invoke(t.Context(), strings.Fields(c.args)...)
		assert.Equal(t, exitMisuse, r.status, c.args)
		assert.Contains(t, r.stderr, c.want)
		assert.Empty(t, r.stdout)
	}
	assert.Equal(t, before, names(t, dir))
	info, err := os.Lstat(socket)
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&os.ModeSocket)
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestStdoutThatCannotBeWritten(t *testing.T) {
	for _, args := range [][]string{{"compare", tiny, "--seeds", "1"}, {"replay", tiny, "--job", "1"}, {"version"}} {
		var stderr writerTo
		assert.Equal(t, exitMisuse, run(t.Context(), args, brokenPipe{}, &stderr))
		assert.Contains(t, stderr.text, "cannot be written to stdout")
	}
}

type writerTo struct{ text string }

func (w *writerTo) Write(p []byte) (int, error) { w.text += string(p); return len(p), nil }
