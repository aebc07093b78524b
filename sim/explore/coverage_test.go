package explore

import (
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var gap = regexp.MustCompile(`\s{2,}`)

// stateTables reads the tables of the comment of package protocol: every cell that says that
// something happens, or is ignored.
func stateTables(t *testing.T) (cells []Cell) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../protocol/doc.go", nil, parser.ParseComments)
	require.NoError(t, err)
	var title string
	var columns []string
	for _, line := range strings.Split(file.Doc.Text(), "\n") {
		body, indented := strings.CutPrefix(line, "\t")
		if !indented {
			title = ""
			continue
		}
		words := gap.Split(strings.TrimSpace(body), -1)
		switch {
		case title == "" && words[0] == strings.ToUpper(words[0]) && regexp.MustCompile(`^[A-Z]+$`).MatchString(words[0]):
			title, columns = words[0], words[1:]
			if title == "DEADLINE" {
				columns = columns[:len(columns)-1] // the last is prose
			}
		case title != "" && len(words) > len(columns):
			for k, column := range columns {
				if words[k+1] != "✗" && words[k+1] != "–" {
					cells = append(cells, Cell{title, words[0], column})
				}
			}
		}
	}
	require.NotEmpty(t, cells)
	return cells
}

func TestWorldsReachTheCellsOfTheStateTables(t *testing.T) {
	seen := map[Cell]bool{}
	for _, rep := range searched() {
		for _, c := range rep.Covered {
			seen[c] = true
		}
	}
	reached, ended := 0, 0
	for _, c := range stateTables(t) {
		switch {
		case c.Column == "Gone" || c.Column == "Leaked":
			assert.False(t, seen[c], "%v: a world steps a machine that has gone", c)
			ended++ // TestAMachineThatHasGoneIgnoresWhatStillComes
		default:
			assert.True(t, seen[c], "no world reaches %v", c)
			reached++
		}
		delete(seen, c)
	}
	assert.Empty(t, seen, "worlds reach what the tables do not have, or say cannot be")
	t.Logf("%d cells reached, %d after the end", reached, ended)
}
