package explore

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/sim/invariant"
)

// counted finds numbers of what there is a catalogue of.
var counted = regexp.MustCompile(`(\d+) (deviations|invariants)\b`)

// TestTheProseCountsWhatThereIs compares the numbers in the documentation with the code.
func TestTheProseCountsWhatThereIs(t *testing.T) {
	is := map[string]int{"deviations": len(deviation.All()), "invariants": int(invariant.Count)}
	files, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	said := map[string]bool{}
	for _, file := range append(files, "../../README.md") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range counted.FindAllStringSubmatch(string(text), -1) {
			n, err := strconv.Atoi(m[1])
			require.NoError(t, err)
			assert.Equal(t, is[m[2]], n, "%s: %s", file, m[0])
			said[m[2]] = true
		}
	}
	for what := range is {
		assert.True(t, said[what], "nothing says how many %s there are", what)
	}
}

// TestTheSizesOfWorldsAreAsTheyAreWritten compares the table of docs/exploring.md with a search.
func TestTheSizesOfWorldsAreAsTheyAreWritten(t *testing.T) {
	text, err := os.ReadFile("../../docs/exploring.md")
	require.NoError(t, err)
	row := regexp.MustCompile(`(?m)^\| ([\w-]+): .* \| ([\d,]+) \| ([\d,]+) \| (\d+) \| \d+ \|$`)
	rows := row.FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, rows)
	shortest, longest := 1000, 0
	for _, m := range rows {
		rep, ok := searched()[m[1]]
		require.True(t, ok, "there is no world %s", m[1])
		plain := strings.ReplaceAll(strings.Join(m[2:], " "), ",", "")
		assert.Equal(t, fmt.Sprint(rep.States, rep.Transitions, rep.Depth), plain, m[1])
	}
	for _, id := range deviation.All() {
		n := RefutationOf(id).Lines
		shortest, longest = min(shortest, n), max(longest, n)
	}
	assert.Contains(t, string(text), fmt.Sprintf("in stories of %d to %d lines", shortest, longest))
}
