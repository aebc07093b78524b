package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/internal/arch/module"
)

// pages are what people read, from the root of the module.
func pages(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "examples/*/*.md", "cmd/bench/peers/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			name, err := filepath.Rel(root, file)
			require.NoError(t, err)
			all[filepath.ToSlash(name)] = string(text)
		}
	}
	require.Contains(t, all, "docs/embedding.md")
	return all
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	noise   = regexp.MustCompile(`[^a-z0-9 -]`)
)

// TestPagesLinkToWhatIsThere follows the links that stay in the module, and sees that the README
// leads to every page of docs.
func TestPagesLinkToWhatIsThere(t *testing.T) {
	root := module.Root(t)
	all := pages(t, root)
	linked := map[string]bool{}
	for page, text := range all {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			to := page
			if file != "" {
				to = filepath.ToSlash(filepath.Join(filepath.Dir(page), file))
			}
			_, err := os.Stat(filepath.Join(root, to))
			assert.NoError(t, err, "%s: %s", page, m[1])
			if anchor != "" {
				assert.Contains(t, anchors(all[to]), anchor, "%s: %s", page, m[1])
			}
			if page == "README.md" {
				linked[to] = true
			}
		}
	}
	for page := range all {
		if strings.HasPrefix(page, "docs/") {
			assert.True(t, linked[page], "README.md does not lead to %s", page)
		}
	}
}

// anchors are the headings of a page as links name them.
func anchors(text string) (all []string) {
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		all = append(all, strings.ReplaceAll(noise.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}

var (
	code     = regexp.MustCompile("(?s)```.*?```|`[^`\n]+`")
	indented = regexp.MustCompile(`(?m)(?:^    .*\n)+`)
	name     = regexp.MustCompile(`\b([a-z]+)\.([A-Z]\w*)(?:\.([A-Z]\w*))?`)
)

// TestPagesNameWhatExists looks up every exported name of ours that code in a page has, in excerpts
// and within a line: worker.Versions, worker.Options.Grace.
func TestPagesNameWhatExists(t *testing.T) {
	root := module.Root(t)
	exported := exportedNames(t, root)
	seen := 0
	for page, text := range pages(t, root) {
		for _, excerpt := range code.FindAllString(text, -1) {
			for _, m := range name.FindAllStringSubmatch(excerpt, -1) {
				names, is := exported[m[1]]
				if !is {
					continue // of somebody else, or a variable
				}
				seen++
				assert.True(t, names[m[2]], "%s: %s", page, m[0])
				if m[3] != "" {
					assert.True(t, names[m[2]+"."+m[3]], "%s: %s", page, m[0])
				}
			}
		}
	}
	assert.Greater(t, seen, 100, "the pages are full of them")
}

// TestPagesHaveEveryOption: who embeds a worker reads the page and not the type.
func TestPagesHaveEveryOption(t *testing.T) {
	root := module.Root(t)
	exported, all := exportedNames(t, root), pages(t, root)
	for of, page := range map[string]string{
		"worker.Options":    "docs/embedding.md",
		"redis.Options":     "docs/redis.md",
		"redis.QueueConfig": "docs/redis.md",
		"redis.Job":         "docs/redis.md",
		"metrics.Options":   "docs/metrics.md",
		"record.Options":    "docs/recording.md",
	} {
		pkg, typ, _ := strings.Cut(of, ".")
		code := strings.Join(append(code.FindAllString(all[page], -1), indented.FindAllString(all[page], -1)...), "\n")
		fields := 0
		for member := range exported[pkg] {
			field, is := strings.CutPrefix(member, typ+".")
			if !is || !ast.IsExported(field) {
				continue
			}
			fields++
			assert.Regexp(t, `\b`+field+`\b`, code, "%s does not say what %s.%s is", page, of, field)
		}
		assert.Positive(t, fields, of)
	}
}

// exportedNames are those of the packages that others can import, by the name of the package:
// functions, types, constants and variables, and fields and methods behind their type.
func exportedNames(t *testing.T, root string) map[string]map[string]bool {
	t.Helper()
	all := map[string]map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if base == "internal" || base == "testdata" || base == "cmd" || base == "examples" || base != "." && strings.HasPrefix(base, ".") && path != root {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") || strings.HasSuffix(base, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		names := all[file.Name.Name]
		if names == nil {
			names = map[string]bool{}
			all[file.Name.Name] = names
		}
		for _, decl := range file.Decls {
			addNames(names, decl)
		}
		return nil
	}))
	return all
}

func addNames(names map[string]bool, decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		of := ""
		if d.Recv != nil {
			of = typeName(d.Recv.List[0].Type) + "."
		}
		names[of+d.Name.Name] = true
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names[n.Name] = true
				}
			case *ast.TypeSpec:
				names[s.Name.Name] = true
				for _, member := range members(s.Type) {
					names[s.Name.Name+"."+member] = true
				}
			}
		}
	}
}

// typeName is that of a receiver.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// members are the fields of a struct, or the methods of an interface.
func members(e ast.Expr) (all []string) {
	var fields *ast.FieldList
	switch e := e.(type) {
	case *ast.StructType:
		fields = e.Fields
	case *ast.InterfaceType:
		fields = e.Methods
	default:
		return nil
	}
	for _, f := range fields.List {
		for _, n := range f.Names {
			all = append(all, n.Name)
		}
	}
	return all
}
