package excerpt

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAroundKeepsTheCaretUnderItsColumn(t *testing.T) {
	for name, c := range map[string]struct {
		line   string
		column int
		want   string
		caret  int
	}{
		"tabs become spaces":             {"\ta: b", 5, " a: b", 4},
		"escape codes are not passed on": {"a\x1b[31m: b", 9, "a?[31m: b", 8},
		"letters of two bytes":           {"é: x", 4, "é: x", 3},
		"a column behind the line":       {"ab", 9, "ab", 2},
		"a minified file":                {strings.Repeat("x", 500) + "!" + strings.Repeat("y", 500), 501, strings.Repeat("x", 50) + "!" + strings.Repeat("y", 49), 50},
	} {
		t.Run(name, func(t *testing.T) {
			text, caret := Around(c.line, c.column)
			assert.Equal(t, c.want, text)
			assert.Equal(t, c.caret, caret)
		})
	}
}
