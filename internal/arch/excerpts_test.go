package arch

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/internal/arch/module"
)

// surroundings are what the excerpts of the pages leave out: what a reader has of the page before
// them, or of the application's own.
const surroundings = `
var ctx = context.Background()
var broker *redis.Broker
var mux *worker.Mux
var w *worker.Worker
var stops *realworld.Stops
var payload []byte
var t *testing.T
var tick chan redis.Job
var leader application
const last = 3
type application struct{}
func (application) Resign(context.Context) error { return nil }
func (application) Enqueue(context.Context, redis.Job) {}
func start([]byte) int { return 0 }
func frame(int) string { return "" }
func encode(int) []byte { return nil }
func draw(context.Context, io.Writer, int) error { return nil }
func render(context.Context, *worker.Job) error { return nil }
`

// paths are the packages that excerpts speak of, by name.
var paths = map[string]string{
	"context": "", "errors": "", "io": "", "log": "", "os": "", "testing": "", "time": "",
	"http": "net/http", "slog": "log/slog", "synctest": "testing/synctest",
	"prometheus": "github.com/prometheus/client_golang/prometheus",
	"promhttp":   "github.com/prometheus/client_golang/prometheus/promhttp",
	"protocol":   module.Path + "/protocol",
	"worker":     module.Path + "/protocol/worker",
	"model":      module.Path + "/model",
	"memory":     module.Path + "/model/memory",
	"realworld":  module.Path + "/realworld",
	"metrics":    module.Path + "/realworld/metrics",
	"record":     module.Path + "/realworld/record",
	"redis":      module.Path + "/realworld/redis",
}

var excerpt = regexp.MustCompile("(?ms)^```go\n(.*?)^```")

// TestExcerptsCompile compiles what the pages show of Go.
func TestExcerptsCompile(t *testing.T) {
	root := module.Root(t)
	files, packages := map[string]string{}, []string{}
	dir := t.TempDir()
	for page, text := range pages(t, root) {
		for _, m := range excerpt.FindAllStringSubmatchIndex(text, -1) {
			name := fmt.Sprintf("excerpt%d", len(packages))
			file := filepath.Join(dir, name+".go")
			line := 1 + strings.Count(text[:m[2]], "\n")
			require.NoError(t, os.WriteFile(file, []byte(program(t, text[m[2]:m[3]], page, line)), 0o600))
			files[filepath.Join(root, "internal/arch", name, "x.go")] = file
			packages = append(packages, "./internal/arch/"+name)
		}
	}
	require.Greater(t, len(packages), 10)
	overlay, err := json.Marshal(map[string]any{"Replace": files})
	require.NoError(t, err)
	list := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(list, overlay, 0o600))
	cmd := exec.Command("go", append([]string{"build", "-overlay", list}, packages...)...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	assert.NoError(t, err, "%s", out)
}

// program makes a package of an excerpt: of declarations, or of statements.
func program(t *testing.T, code, page string, line int) string {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "", "package x\n"+code, 0)
	if err != nil {
		f, err = parser.ParseFile(set, "", "package x\nfunc _() {\n"+code+"\n}", 0)
		require.NoError(t, err, "%s:%d", page, line)
		code = "func _() {\n" + mark(page, line) + code + use(f) + "\n}"
	} else {
		code = mark(page, line) + code
	}
	rest := without(f)
	var b strings.Builder
	b.WriteString("package x\n")
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		if regexp.MustCompile(`\b` + name + `\.[A-Z]`).MatchString(rest + code) {
			path := paths[name]
			if path == "" {
				path = name
			}
			fmt.Fprintf(&b, "import %q\n", path)
		}
	}
	return b.String() + rest + code
}

// mark says where the lines after it are from.
func mark(page string, line int) string { return fmt.Sprintf("//line %s:%d\n", page, line) }

// use uses what the statements of an excerpt declare, for its reader will.
func use(f *ast.File) string {
	var b strings.Builder
	for _, s := range f.Decls[0].(*ast.FuncDecl).Body.List {
		a, ok := s.(*ast.AssignStmt)
		if !ok || a.Tok != token.DEFINE {
			continue
		}
		for _, x := range a.Lhs {
			fmt.Fprintf(&b, "\n_ = %s", x.(*ast.Ident).Name)
		}
	}
	return b.String()
}

// without is the surroundings but for what an excerpt declares itself.
func without(f *ast.File) string {
	rest := surroundings
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && d.Name.Name != "_" {
			rest = regexp.MustCompile(`(?m)^func `+d.Name.Name+`\(.*\n`).ReplaceAllString(rest, "")
		}
	}
	return rest
}
