package protocol

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestStateTable compares every cell of the tables in the package comment with what the
// machine does. The comment is the specification: a cell that cannot be read, a row the
// test does not know, and a row the comment does not have are failures alike.
//
// With PRINT_TABLES=1 it prints the tables as the code has them instead.
func TestStateTable(t *testing.T) {
	written := readTables(t)
	for _, table := range []table{phaseTable(), requestTable(), slotTable("SLOT", heldColumns()), slotTable("LOST", lostColumns()), endingTable(), deadlineTable()} {
		t.Run(table.title, func(t *testing.T) {
			if os.Getenv("PRINT_TABLES") != "" {
				fmt.Println(table.print())
				return
			}
			table.compare(t, written[table.title])
		})
	}
}

// TestStateConstantsListTheirExits compares the exits in the comments of the constants with
// the moves in the tables.
func TestStateConstantsListTheirExits(t *testing.T) {
	moves := map[string]map[string]bool{}
	for _, table := range []table{phaseTable(), slotTable("SLOT", heldColumns()), slotTable("LOST", lostColumns())} {
		for c, column := range table.columns {
			from, _, _ := strings.Cut(table.title+" "+column, ",")
			from = strings.Replace(from, "LOST", "SLOT", 1)
			for r := range table.rows {
				if to, ok := strings.CutPrefix(table.cell(r, c), "→ "); ok {
					if moves[from] == nil {
						moves[from] = map[string]bool{}
					}
					moves[from][to] = true
				}
			}
		}
	}
	exits := map[string]map[string]bool{}
	for title, file := range map[string]string{"PHASE": "machine.go", "SLOT": "slot.go"} {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range constant.FindAllStringSubmatch(string(source), -1) {
			from := title + " " + m[1]
			exits[from] = map[string]bool{}
			for _, to := range strings.Split(m[2], ", ") {
				exits[from][to] = true
			}
		}
	}
	require.Equal(t, moves, exits)
}

// constant finds a state with its exits.
var constant = regexp.MustCompile(`(?m)^\t(?:Phase|Slot)([A-Z][a-z]+) .*→ (.*)$`)

// A table knows its rows and columns and can work out a cell by running the machine.
type table struct {
	title   string // the first word of its header
	columns []string
	rows    []string
	cell    func(row, column int) string
	remark  bool // the last column of the comment's table is prose
}

func (tb table) compare(t *testing.T, written [][]string) {
	require.NotEmpty(t, written, "the package comment has no table %s", tb.title)
	head := written[0]
	if tb.remark {
		head = head[:len(head)-1]
	}
	require.Equal(t, append([]string{tb.title}, tb.columns...), head, "columns")
	var rows []string
	for _, line := range written[1:] {
		rows = append(rows, line[0])
	}
	require.Equal(t, tb.rows, rows, "rows")
	for r, line := range written[1:] {
		if tb.remark {
			line = line[:len(line)-1]
		}
		require.Len(t, line, len(tb.columns)+1, "cells of row %q", line[0])
		for c, column := range tb.columns {
			require.Regexp(t, readable, line[c+1], "row %q, column %s: not a decision", line[0], column)
			assert.Equal(t, line[c+1], tb.cell(r, c), "row %q, column %s: the comment and the code disagree", line[0], column)
		}
	}
}

// readable is the language of cells.
var readable = regexp.MustCompile(`^(→ [A-Z][a-z]+|stay|·|✗|–|armed|ack|fail|release( [a-z-]+)?)$`)

var gap = regexp.MustCompile(`\s{2,}`)

// readTables finds the tables of the package comment: indented blocks whose first line
// begins with a word in capitals.
func readTables(t *testing.T) map[string][][]string {
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments)
	require.NoError(t, err)
	tables := map[string][][]string{}
	title := ""
	for _, line := range strings.Split(file.Doc.Text(), "\n") {
		body, indented := strings.CutPrefix(line, "\t")
		if !indented {
			title = ""
			continue
		}
		cells := gap.Split(strings.TrimSpace(body), -1)
		if title == "" && cells[0] != "" && cells[0] == strings.ToUpper(cells[0]) {
			title = cells[0]
		}
		if title != "" {
			tables[title] = append(tables[title], cells)
		}
	}
	return tables
}

func (tb table) print() string {
	lines := [][]string{append([]string{tb.title}, tb.columns...)}
	for r, row := range tb.rows {
		line := []string{row}
		for c := range tb.columns {
			line = append(line, tb.cell(r, c))
		}
		lines = append(lines, line)
	}
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		text := ""
		for i, cell := range line {
			text += cell + strings.Repeat(" ", widths[i]-len([]rune(cell))+2)
		}
		b.WriteString("//\t" + strings.TrimRight(text, " ") + "\n")
	}
	return b.String()
}

// decide runs act and says in a cell's words what it did. state names the part of the
// machine that the table is about, bytes is all of that part, and concerns picks the effects
// that are about it.
func (s *stage) decide(act func(), state func() string, bytes func() []byte, concerns func(Effect) bool) string {
	was, before := state(), bytes()
	s.fx.Reset()
	if panicked, message := impossibly(act); panicked {
		if text := fmt.Sprint(message); !strings.Contains(text, "is impossible in phase") {
			return text
		}
		return "✗"
	}
	if is := state(); is != was {
		name, _, _ := strings.Cut(is, " ")
		return "→ " + name
	}
	for _, e := range s.fx.All() {
		if concerns(e) {
			return "stay"
		}
	}
	if string(before) != string(bytes()) {
		return "stay"
	}
	return "·"
}
