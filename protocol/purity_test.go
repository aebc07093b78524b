package protocol

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// allowed is all that the machine may import.
var allowed = map[string]bool{
	"fmt": true, "errors": true, "math": true, "math/bits": true, "encoding/binary": true, "strconv": true,
	"github.com/quiesce/quiesce/internal/deviation": true,
}

// forbidden says why, for the imports that somebody will want one day.
var forbidden = map[string]string{
	"time":         "the driver says what time it is; Duration converts by a plain conversion",
	"context":      "a cancel is an effect; contexts are the driver's",
	"os":           "a machine has no environment; the budget comes in as configuration and events",
	"os/signal":    "signals arrive as events",
	"sync":         "one driver steps a machine; there is nothing to lock",
	"sync/atomic":  "one driver steps a machine; there is nothing to share",
	"math/rand":    "jitter is a hash of a seed and a counter, so that a replay agrees",
	"math/rand/v2": "jitter is a hash of a seed and a counter, so that a replay agrees",
	"crypto/rand":  "equal machines given equal events agree",
	"net":          "what goes over a wire is an effect",
	"log":          "what is worth logging is a Note",
	"log/slog":     "what is worth logging is a Note",
	"maps":         "the order of a map is random",
	"reflect":      "events and effects are plain values",
	"unsafe":       "there is no need",
}

// TestPurity keeps the machine a value: no I/O, no clock, no goroutine, no random order.
func TestPurity(t *testing.T) {
	for path := range forbidden {
		_, err := build.Import(path, ".", build.FindOnly)
		require.NoError(t, err, "the list forbids %q, which does not exist", path)
	}
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	read := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		read++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, f.Name(), nil, parser.ParseComments)
		require.NoError(t, err)
		for _, complaint := range impurities(set, file) {
			t.Error(complaint)
		}
	}
	require.Greater(t, read, 15, "the files of the package were not found")
}

// impurities lists what a pure package must not have.
func impurities(set *token.FileSet, file *ast.File) (complaints []string) {
	complain := func(at token.Pos, what string) {
		complaints = append(complaints, set.Position(at).String()+": "+what)
	}
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		switch reason, known := forbidden[path]; {
		case known:
			complain(spec.Pos(), "imports "+path+": "+reason)
		case !allowed[path]:
			complain(spec.Pos(), "imports "+path+", which nobody has thought about")
		}
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//go:build") {
				complain(c.Pos(), "has a build tag: every platform and every driver runs the same machine")
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			complain(n.Pos(), "starts a goroutine")
		case *ast.ChanType, *ast.SendStmt, *ast.SelectStmt:
			complain(n.Pos(), "uses a channel")
		case *ast.MapType:
			complain(n.Pos(), "has a map, whose order is random")
		case *ast.Ident:
			if n.Name == "float32" || n.Name == "float64" {
				complain(n.Pos(), "computes in floating point, which differs between machines")
			}
		}
		return true
	})
	return complaints
}

// The check itself is seen to fail.
func TestPurityNoticesImpurities(t *testing.T) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "impure.go", `//go:build linux

package impure

import (
	"time"
	"encoding/json"
)

func f(m map[int]float64, c chan int) {
	go f(m, c)
	c <- 1
	select {}
}
`, parser.ParseComments)
	require.NoError(t, err)
	require.Equal(t, []string{
		"impure.go:6:2: imports time: the driver says what time it is; Duration converts by a plain conversion",
		"impure.go:7:2: imports encoding/json, which nobody has thought about",
		"impure.go:1:1: has a build tag: every platform and every driver runs the same machine",
		"impure.go:10:10: has a map, whose order is random",
		"impure.go:10:18: computes in floating point, which differs between machines",
		"impure.go:10:29: uses a channel",
		"impure.go:11:2: starts a goroutine",
		"impure.go:12:2: uses a channel",
		"impure.go:13:2: uses a channel",
	}, impurities(set, file))
}
