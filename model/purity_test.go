package model

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// allowed is all that the model may import, with the reason for each.
var allowed = map[string]string{
	"fmt":                                   "errors",
	"sort":                                  "names in errors",
	"strings":                               "names in errors",
	"github.com/quiesce/quiesce/protocol":   "the words of the wire",
	"github.com/quiesce/quiesce/model/dist": "distributions as integer tables",
	"github.com/quiesce/quiesce/internal/deviation": "mutants",
	"github.com/quiesce/quiesce/internal/prefetch":  "memory that is fetched early, which changes nothing",
}

// The model is a value: what it answers depends on what it was told and on nothing else.
func TestTheModelIsPure(t *testing.T) {
	files := token.NewFileSet()
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	imported := map[string]bool{}
	refuse := func(n ast.Node, what string) {
		t.Errorf("%v: %s", files.Position(n.Pos()), what)
	}
	inspect := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			path, _ := strconv.Unquote(n.Path.Value)
			imported[path] = true
			if allowed[path] == "" {
				refuse(n, "imports "+path)
			}
		case *ast.GoStmt:
			refuse(n, "starts a goroutine: order would be the scheduler's")
		case *ast.ChanType, *ast.SendStmt, *ast.SelectStmt, *ast.CommClause:
			refuse(n, "uses a channel: order would be the scheduler's")
		case *ast.MapType:
			refuse(n, "uses a map: ranging over it has no order")
		case *ast.BasicLit:
			if n.Kind == token.FLOAT || n.Kind == token.IMAG {
				refuse(n, "uses a float: its last bit depends on the machine")
			}
		case *ast.Ident:
			switch n.Name {
			case "float32", "float64", "complex64", "complex128":
				refuse(n, "uses a float: its last bit depends on the machine")
			}
		}
		return true
	}
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") {
			file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			ast.Inspect(file, inspect)
		}
	}
	for path := range allowed {
		require.True(t, imported[path], "%s is allowed and not used any more", path)
	}
}
