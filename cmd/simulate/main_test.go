package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files of testdata")

const tiny = "testdata/tiny.yaml"

// result is what one command line left behind.
type result struct {
	status         int
	stdout, stderr string
}

func invoke(ctx context.Context, args ...string) result {
	var stdout, stderr bytes.Buffer
	status := run(ctx, args, &stdout, &stderr)
	return result{status, stdout.String(), stderr.String()}
}

// succeed runs a command line that must work, and be silent about it.
func succeed(t *testing.T, args ...string) string {
	t.Helper()
	r := invoke(t.Context(), args...)
	require.Equal(t, exitFine, r.status, r.stderr)
	require.Empty(t, r.stderr, "stderr is not a terminal")
	return r.stdout
}

// golden compares a text with a file of testdata. After a change that is meant, rewrite the
// files with -update and read the difference.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), text, "go test ./cmd/simulate -update rewrites %s", path)
}
