package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/internal/arch/module"
)

// pack is what go list says about one package.
type pack struct {
	ImportPath string
	Dir        string
	Name       string
	Standard   bool
	Export     string // file with its type information; only with -export
	Module     *struct{ Path string }

	GoFiles        []string
	IgnoredGoFiles []string // left out on this platform
	CgoFiles       []string
	SFiles         []string // assembly

	Imports []string
	Deps    []string // all that it reaches

	Error *struct{ Err string }
}

// packages are all packages of ours and what they reach, by import path.
type packages map[string]*pack

const fields = "-json=ImportPath,Dir,Name,Standard,Export,Module,GoFiles,IgnoredGoFiles,CgoFiles,SFiles,Imports,Deps,Error"

// goList asks the go command, so that the answer is what a build would do.
func goList(t *testing.T, args ...string) packages {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-pgo=off", "-e", "-deps", fields}, args...)...)
	cmd.Dir = module.Root(t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", &stderr)
	all := packages{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(pack)
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			return all
		} else {
			require.NoError(t, err)
		}
		all[p.ImportPath] = p
	}
}

// short returns how the tables call a package: ours by the folder, others' by their module,
// the standard library's by the import path.
func (all packages) short(path string) string {
	if path == module.Path {
		return "."
	}
	if below, ours := strings.CutPrefix(path, module.Path+"/"); ours {
		return below
	}
	if p := all[path]; p != nil && p.Module != nil {
		return p.Module.Path
	}
	return path
}

func ours(path string) bool {
	return path == module.Path || strings.HasPrefix(path, module.Path+"/")
}
