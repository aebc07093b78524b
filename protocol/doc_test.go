package protocol

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ruleEnd finds the functions that the package comment names at the end of a rule.
var ruleEnd = regexp.MustCompile(`\(((?:[a-z][A-Za-z]*)(?:, [a-z][A-Za-z]*)*)\)$`)

// TestRulesNameFunctionsThatExist keeps the package comment from naming what was renamed.
func TestRulesNameFunctionsThatExist(t *testing.T) {
	declared := map[string]bool{}
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	var doc string
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, parser.ParseComments)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				declared[fn.Name.Name] = true
			}
		}
		if f.Name() == "doc.go" {
			doc = file.Doc.Text()
		}
	}
	_, rules, _ := strings.Cut(doc, "# The nineteen rules")
	rules, _, _ = strings.Cut(rules, "# The state table")
	named := 0
	for _, line := range strings.Split(rules, "\n") {
		if m := ruleEnd.FindStringSubmatch(line); m != nil {
			named++
			for _, fn := range strings.Split(m[1], ", ") {
				require.True(t, declared[fn], "the rules name %s, which does not exist", fn)
			}
		}
	}
	require.Equal(t, 17, named, "every rule but 12 and 15 names its functions")
}
