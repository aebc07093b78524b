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

// unreached are the cells that no world reaches: only the tests of package protocol, which
// bring a machine into each by hand, do. The columns Gone and Leaked are such throughout: when
// a machine has gone its process has ended, and nobody steps it any more.
var unreached = []struct{ table, row, columns string }{
	{"PHASE", "cancelAt of a kind", "Cancelling"},
	{"PHASE", "tick", "Booting | Quiet"},
	{"REQUEST", "quiet, LateClaim run or runIfShort", "Withdrawing"},
	{"REQUEST", "granted, beyond want", "None | Withdrawing"},
	{"REQUEST", "answered ok, granted, slots left", "None | Withdrawing"},
	{"REQUEST", "answered ok, granted, no slot left", "None | Withdrawing"},
	{"REQUEST", "answered unknown, second attempt", "None | Withdrawing"},
	{"REQUEST", "settleBy", "Asked | Withdrawing"},
	{"SLOT", "undoBy", "Undoing | Settling, undo runs"},
	{"SLOT", "settling round", "Running | Cancelled | Undoing"}, // beside another slot, and not at an instant of renewal
	{"LOST", "granted, run", "Undoing, lost | Undoing, taken | Zombie | Zombie, taken"},
	{"LOST", "save", "Zombie, taken"},
	{"LOST", "settling round", "Undoing, lost | Undoing, taken | Zombie | Zombie, taken | Zombie, undo runs"},
	{"LOST", "hurry", "Undoing, taken"},
	{"LOST", "undoBy", "Undoing, lost | Undoing, taken"},
	{"DEADLINE", "distrust", "Cancelling"},
	{"DEADLINE", "kind's timeout", "Cancelling"},
	{"DEADLINE", "cancelAt of a kind", "Cancelling"},
}

func TestWorldsReachTheCellsOfTheStateTables(t *testing.T) {
	seen := map[Cell]bool{}
	for _, rep := range searched() {
		for _, c := range rep.Covered {
			seen[c] = true
		}
	}
	listed := map[Cell]bool{}
	for _, u := range unreached {
		for _, column := range strings.Split(u.columns, " | ") {
			listed[Cell{u.table, u.row, column}] = true
		}
	}
	reached, ended, not := 0, 0, len(listed)
	for _, c := range stateTables(t) {
		switch {
		case c.Column == "Gone" || c.Column == "Leaked":
			assert.False(t, seen[c], "%v: somebody steps a machine that has gone", c)
			ended++
		case listed[c]:
			assert.False(t, seen[c], "%v is reached now: take it off the list", c)
		default:
			assert.True(t, seen[c], "no world reaches %v", c)
			reached++
		}
		delete(seen, c)
		delete(listed, c)
	}
	assert.Empty(t, seen, "worlds reach what the tables do not have, or say cannot be")
	assert.Empty(t, listed, "the list has what the tables do not")
	t.Logf("%d cells reached, %d not, %d after the end", reached, not, ended)
}
