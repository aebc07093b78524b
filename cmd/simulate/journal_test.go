package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// interrupt stops a comparison that keeps its rows in dir once some are finished, and returns
// the file that they are in.
func interrupt(t *testing.T, dir string, args ...string) string {
	t.Helper()
	for wait := 100 * time.Millisecond; ; wait *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		r := invoke(ctx, append([]string{"compare", "--seeds", "5000", "--quiet", "--out", dir}, args...)...)
		cancel()
		require.Equal(t, exitFinding, r.status, r.stderr)
		kept, err := filepath.Glob(filepath.Join(dir, "*rows.jsonl"))
		require.NoError(t, err)
		if len(kept) == 1 && strings.Count(read(t, kept[0]), "\n") > 8 {
			assert.Contains(t, r.stderr, kept[0]+", the same command goes on from there")
			return kept[0]
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

func rewrite(t *testing.T, file, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
}

// forge changes every kept row and sums it up again, as if a run had given it.
func forge(t *testing.T, text, old, becomes string) string {
	t.Helper()
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines[1 : len(lines)-1] {
		var l journalLine
		require.NoError(t, strictly([]byte(line), &l))
		l.Row = []byte(strings.Replace(string(l.Row), old, becomes, 1))
		l.CRC = l.sum()
		forged, err := json.Marshal(l)
		require.NoError(t, err)
		lines[1+i] = string(forged) + "\n"
	}
	return strings.Join(lines, "")
}

func TestAStoppedComparisonGoesOnWhereItWas(t *testing.T) {
	scenario, dir := small(t), t.TempDir()
	file := interrupt(t, dir, scenario)
	// Killed, it may have been in the middle of a line, of which nothing must be left behind
	// the next rows: they may be stopped as well.
	rewrite(t, file, read(t, file)+`{"fingerprint":"`+strings.Repeat("half", 1_000_000))
	interrupt(t, dir, scenario)
	r := invoke(t.Context(), "compare", scenario, "--seeds", "4", "--out", dir)
	require.Equal(t, exitFine, r.status, r.stderr)
	assert.Contains(t, r.stderr, "going on from")
	assert.Equal(t, succeed(t, "compare", scenario, "--seeds", "4"), r.stdout)
	assert.Equal(t, []string{"compare.csv", "compare.json", "compare.txt"}, names(t, dir), "the rows are gone once the results are there")
}

func TestFinishedRowsAreNotComputedAgain(t *testing.T) {
	scenario, dir := small(t), t.TempDir()
	file := interrupt(t, dir, scenario)
	whole := succeed(t, "compare", scenario, "--seeds", "2")
	// A row that no run would give: where it shows up, it was taken and not computed.
	forged := forge(t, read(t, file), `"released":`, `"released":9`)
	rewrite(t, file, forged)
	r := invoke(t.Context(), "compare", scenario, "--seeds", "2", "--quiet", "--out", dir)
	require.Equal(t, exitFine, r.status)
	assert.Empty(t, r.stderr)
	assert.NotEqual(t, whole, r.stdout)

	// Rows of another scenario are not taken.
	changed := filepath.Join(t.TempDir(), "changed.yaml")
	rewrite(t, changed, strings.Replace(read(t, scenario), "grace: 20s", "grace: 21s", 1))
	rewrite(t, file, forged)
	r = invoke(t.Context(), "compare", changed, "--seeds", "2", "--quiet", "--out", dir)
	require.Equal(t, exitFine, r.status)
	assert.Equal(t, succeed(t, "compare", changed, "--seeds", "2"), r.stdout)

	// They stay for whoever left them.
	assert.Equal(t, []string{"compare.csv", "compare.json", "compare.txt", "rows.jsonl"}, names(t, dir))
	assert.True(t, strings.HasPrefix(read(t, file), forged))
	r = invoke(t.Context(), "compare", scenario, "--seeds", "2", "--out", dir)
	require.Equal(t, exitFine, r.status)
	assert.Contains(t, r.stderr, "going on from")
	assert.NotEqual(t, whole, r.stdout)
}

// Rows are appended in place. What stands there under their name and is no file is not touched,
// and a pipe is not waited for.
func TestRowsAreKeptInAFile(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(t.TempDir(), "other")
	rewrite(t, other, "")
	require.NoError(t, os.Symlink(other, filepath.Join(dir, "rows.jsonl")))
	r := invoke(t.Context(), "compare", small(t), "--seeds", "1", "--out", dir)
	assert.Equal(t, result{exitMisuse, "", "simulate: --out " + dir + ": rows.jsonl in it is a link, where rows are to be kept; move it or name another folder\n"}, r)
	assert.Empty(t, read(t, other))
}

func TestRowsAreWrittenByOneProcessAtATime(t *testing.T) {
	scenario, dir := small(t), t.TempDir()
	interrupt(t, dir, scenario)
	for _, c := range []struct{ name, command, shard string }{
		{"rows.jsonl", "compare", ""}, {"rows.jsonl", "curves", ""}, {"shard-0-of-2.rows.jsonl", "compare", "0/2"},
	} {
		first, err := openJournal(dir, c.name)
		require.NoError(t, err)
		kept := names(t, dir)
		args := []string{c.command, scenario, "--seeds", "2", "--out", dir}
		if c.shard != "" {
			args = append(args, "--shard", c.shard)
		}
		r := invoke(t.Context(), args...)
		assert.Equal(t, exitMisuse, r.status)
		assert.Empty(t, r.stdout)
		assert.Equal(t, "simulate: "+filepath.Join(dir, c.name)+" is being written by another process; wait until it has ended, or name another folder with --out\n", r.stderr)
		assert.Equal(t, kept, names(t, dir), "what the first has it keeps")
		first.close()
	}
	succeed(t, "compare", scenario, "--seeds", "2", "--quiet", "--out", dir)
	assert.Equal(t, []string{"compare.csv", "compare.json", "compare.txt"}, names(t, dir), "no lock is left behind")
}

// A journal that a run has refused is as free as one that it has read.
func TestRowsThatWereRefusedAreNotKeptFromOthers(t *testing.T) {
	dir := t.TempDir()
	rewrite(t, filepath.Join(dir, "rows.jsonl"), "hello\n")
	for range 2 {
		_, err := openJournal(dir, "rows.jsonl")
		require.ErrorContains(t, err, "is not the beginning of kept rows")
	}
	assert.Equal(t, []string{"rows.jsonl"}, names(t, dir))
}

func TestAShardKeepsRowsOfItsOwn(t *testing.T) {
	scenario, dir := small(t), t.TempDir()
	file := interrupt(t, dir, scenario, "--shard", "1/2")
	assert.Equal(t, "shard-1-of-2.rows.jsonl", filepath.Base(file))
	r := invoke(t.Context(), "compare", scenario, "--seeds", "4", "--shard", "1/2", "--out", dir)
	require.Equal(t, exitFine, r.status, r.stderr)
	succeed(t, "compare", scenario, "--seeds", "4", "--shard", "0/2", "--out", dir)
	merged := succeed(t, "merge", filepath.Join(dir, "shard-0-of-2.json"), filepath.Join(dir, "shard-1-of-2.json"))
	assert.Equal(t, succeed(t, "compare", scenario, "--seeds", "4"), merged)
}

func TestRowsThatCannotBeTrustedAreRefused(t *testing.T) {
	scenario, dir := small(t), t.TempDir()
	file := interrupt(t, dir, scenario)
	good := read(t, file)
	for _, c := range []struct{ name, text, says string }{
		{"another build", strings.Replace(good, `"build":"`, `"build":"older `, 1), "rows.jsonl:1: its rows were made by another build"},
		{"another format", strings.Replace(good, `"format":2`, `"format":0`, 1), "another build"},
		{"something else", "hello\n", "rows.jsonl:1: is not the beginning of kept rows"},
		{"damaged", strings.Replace(good, `"fingerprint"`, `"fingerprnt"`, 1), "rows.jsonl:2: is not a row"},
		{"another number", strings.Replace(good, `"jobs_enqueued":`, `"jobs_enqueued":9`, 1), "rows.jsonl:2: was changed after it was written"},
		{"another seed", strings.Replace(good, `"seed":`, `"seed":9`, 1), "rows.jsonl:2: was changed after it was written"},
		{"a row that no run leaves", forge(t, good, `"jobs_enqueued":`, `"jobs_enqueued":-`), "rows.jsonl:2: is not a row: "},
		{"no row", strings.Replace(good, "\n", "\n{}\n", 1), "rows.jsonl:2: was changed after it was written"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rewrite(t, file, c.text)
			r := invoke(t.Context(), "compare", scenario, "--seeds", "2", "--out", dir)
			assert.Equal(t, exitMisuse, r.status)
			assert.Empty(t, r.stdout)
			assert.Contains(t, r.stderr, c.says)
			assert.Contains(t, r.stderr, "remove the file to begin anew")
			assert.Equal(t, c.text, read(t, file), "whatever it is, it is not ours to change")
		})
	}
}
