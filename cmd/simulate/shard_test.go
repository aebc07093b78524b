package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shards carries a comparison out in so many parts and returns their files.
func shards(t *testing.T, of int, args ...string) []string {
	t.Helper()
	dir := t.TempDir()
	var files []string
	for i := range of {
		text := succeed(t, append([]string{"compare", "--shard", fmt.Sprintf("%d/%d", i, of), "--out", dir}, args...)...)
		assert.Contains(t, text, fmt.Sprintf("shard %d of %d", i, of))
		files = append(files, filepath.Join(dir, fmt.Sprintf("shard-%d-of-%d.json", i, of)))
	}
	assert.Len(t, names(t, dir), of, "nothing but the shards is left")
	return files
}

func TestMergedShardsAreOneRunByteForByte(t *testing.T) {
	file := small(t)
	for _, args := range [][]string{
		{file, "--seeds", "5"},
		{file, "--seeds", "2", "--seed", "9", "--policies", "hybrid,adaptive"}, // fewer than shards
		{file, "--seeds", "4", "--load", "0.4,0.8"},
	} {
		files := shards(t, 3, args...)
		files[0], files[2] = files[2], files[0]
		for _, format := range []string{asTable, asJSON, asCSV} {
			whole := succeed(t, append([]string{"compare", "--format", format}, args...)...)
			merged := succeed(t, append([]string{"merge", "--format", format}, files...)...)
			if format == asJSON {
				whole, _, _ = strings.Cut(whole, `"meta": {`)
				merged, _, _ = strings.Cut(merged, `"meta": {`)
			}
			assert.Equal(t, whole, merged)
		}
	}
}

func TestEqualShardsAreEqualFiles(t *testing.T) {
	read := func(file string) string {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return string(text)
	}
	file := small(t)
	assert.Equal(t, read(shards(t, 2, file, "--seeds", "3")[1]), read(shards(t, 2, file, "--seeds", "3")[1]))
}

func TestMergeRefusesWhatIsNotWhole(t *testing.T) {
	scenario := small(t)
	files := shards(t, 3, scenario, "--seeds", "3")
	others := shards(t, 3, scenario, "--seeds", "4")
	half := filepath.Join(t.TempDir(), "half.json")
	text, err := os.ReadFile(files[1])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(half, text[:len(text)/2], 0o644))
	edited := filepath.Join(t.TempDir(), "edited.json")
	rewrite(t, edited, strings.Replace(string(text), `"jobs_enqueued":`, `"jobs_enqueued":1`, 1))
	older := filepath.Join(t.TempDir(), "older.json")
	rewrite(t, older, strings.Replace(string(text), `"format":`, `"format":1`, 1))
	for _, c := range []struct {
		name  string
		files []string
		says  string
	}{
		{"a number changed by hand", []string{files[0], edited, files[2]}, edited + ": was changed after it was written"},
		{"of another version", []string{files[0], older, files[2]}, older + ": has format 12"},
		{"missing", files[:2], "of 3 shards one is missing: 2"},
		{"twice", append(files[:3:3], files[1]), "shard 1 of 3 is there twice, as " + files[1]},
		{"of another plan", []string{files[0], files[1], others[2]}, files[0] + " and " + others[2] + " do not belong together"},
		{"cut short", []string{files[0], half, files[2]}, half + ": ends in the middle"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "results")
			r := invoke(t.Context(), append([]string{"merge", "--out", dir}, c.files...)...)
			assert.Equal(t, exitMisuse, r.status)
			assert.Empty(t, r.stdout)
			assert.Contains(t, r.stderr, c.says)
			assert.NoDirExists(t, dir)
		})
	}
}

func TestMergeWritesEveryFormat(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results")
	succeed(t, append([]string{"merge", "--out", dir}, shards(t, 2, small(t), "--seeds", "2")...)...)
	assert.Equal(t, []string{"compare.csv", "compare.json", "compare.txt"}, names(t, dir))
}
