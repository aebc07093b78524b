package arch

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/internal/arch/module"
)

// pure are the packages that every driver, processor and process must agree on: a run is
// its scenario, its seed and its policy.
var pure = []string{
	"internal/deviation",
	"model",
	"model/dist",
	"protocol",
	"sim",
	"sim/agenda",
	"sim/explore",
	"sim/invariant",
}

// exemption lets one declaration break one rule.
type exemption struct {
	pkg, rule, in string
	why           string
}

const forTheory = "exact moments, rounded once, are what theory is compared with; no instant is made of them"

var exemptions = []exemption{
	{"model/dist", ruleFloat, "Moments", forTheory},
	{"model/dist", ruleFloat, "Moments.ResidualMean", forTheory},
	{"model/dist", ruleFloat, "Table.gridMoments", forTheory},
	{"model/dist", ruleFloat, "stepMoments", forTheory},
	{"model/dist", ruleFloat, "rangeMoments", forTheory},
	{"model/dist", ruleFloat, "ratio", forTheory},
}

func TestPurity(t *testing.T) {
	args := []string{"-export"}
	for _, p := range pure {
		args = append(args, "./"+p)
	}
	all := goList(t, args...)
	used := make([]bool, len(exemptions))
	for _, name := range pure {
		p := all[module.Path+"/"+name]
		require.NotNil(t, p, "%s does not exist any more: remove it from the list", name)
		require.Nil(t, p.Error, "%s", name)
		assert.Empty(t, slices.Concat(p.IgnoredGoFiles, p.CgoFiles, p.SFiles),
			"%s has files that are not compiled everywhere: every platform and every driver runs the same code", name)
		for _, v := range inspect(t, all, p.ImportPath, p.Dir, p.GoFiles) {
			i := slices.IndexFunc(exemptions, func(e exemption) bool {
				return e.pkg == name && e.rule == v.rule && e.in == v.in
			})
			if i < 0 {
				t.Error(v)
				continue
			}
			used[i] = true
		}
	}
	for i, e := range exemptions {
		assert.True(t, used[i], "nothing needs the exemption of %s in %s.%s any more (%s): remove it", e.rule, e.pkg, e.in, e.why)
	}
}

// inspect type-checks the files of one package and returns what is impure. What it imports is
// read from what the go command has compiled, all of which are in all.
func inspect(t *testing.T, all packages, path, dir string, names []string) []violation {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, f)
	}
	lookup := func(path string) (io.ReadCloser, error) {
		p := all[path]
		if p == nil || p.Export == "" {
			return nil, fmt.Errorf("%s was not compiled; go build ./... says why", path)
		}
		return os.Open(p.Export)
	}
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{},
		Defs:  map[*ast.Ident]types.Object{},
		Uses:  map[*ast.Ident]types.Object{},
	}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", lookup)}
	pkg, err := conf.Check(path, fset, files, info)
	require.NoError(t, err)
	return check(fset, pkg, info, files)
}

var wanted = regexp.MustCompile(`// want: (.+)$`)

// The checker itself is seen to find each impurity: the fixtures say what is wrong on which
// line, and every rule and every table has a line.
func TestPurityFindsEachViolation(t *testing.T) {
	fixtures, err := filepath.Glob("testdata/purity/*.go")
	require.NoError(t, err)
	require.NotEmpty(t, fixtures)
	all := goList(t, append([]string{"-export"}, importsOf(t, fixtures)...)...)

	rules := map[string]bool{}
	what := map[string]bool{}
	for _, path := range fixtures {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".go"), func(t *testing.T) {
			got := map[int][]string{}
			for _, v := range inspect(t, all, "fixture", ".", []string{path}) {
				got[v.at.Line] = append(got[v.at.Line], v.rule)
				rules[v.rule] = true
				what[strings.Split(v.what, ":")[0]] = true
				if v.rule == ruleImport {
					what[v.in] = true
				}
			}
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			want := map[int][]string{}
			for i, line := range strings.Split(string(text), "\n") {
				if m := wanted.FindStringSubmatch(line); m != nil {
					want[i+1] = strings.Split(m[1], ", ")
				}
			}
			for _, lines := range []map[int][]string{got, want} {
				for i := range lines {
					slices.Sort(lines[i])
				}
			}
			assert.Equal(t, want, got)
		})
	}
	for _, rule := range []string{ruleImport, ruleCall, ruleGoroutine, ruleChannel, ruleMapOrder, ruleFloat, ruleGlobal} {
		assert.True(t, rules[rule], "no fixture breaks the rule %q", rule)
	}
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(forbiddenCalls)), slices.Sorted(maps.Keys(forbiddenImports))) {
		if name != "C" && name != "plugin" { // need a C compiler, or cannot be everywhere
			assert.True(t, what[name], "no fixture uses %s", name)
		}
	}
}

func importsOf(t *testing.T, files []string) []string {
	paths := map[string]bool{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, s := range f.Imports {
			paths[strings.Trim(s.Path.Value, `"`)] = true
		}
	}
	delete(paths, "unsafe") // has nothing to compile
	return slices.Sorted(maps.Keys(paths))
}
