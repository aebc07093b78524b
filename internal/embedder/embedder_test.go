package embedder

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/internal/arch/module"
)

// stubs are the packages that people embed. The folder of each under testdata has main.go,
// a small program around it, and its output and dependencies as they should be.
var stubs = []string{
	"protocol",
	"protocol/worker",
}

func TestEmbeddingPullsInNothing(t *testing.T) {
	root := module.Root(t)
	for _, name := range stubs {
		t.Run(name, func(t *testing.T) {
			require.DirExists(t, filepath.Join(root, name), "the package is gone; remove its stub")
			golden := filepath.Join("testdata", name)
			s := newStub(t, filepath.Join(golden, "main.go"), map[string]string{module.Path: root})
			copyFile(t, filepath.Join(root, "go.sum"), filepath.Join(s.dir, "go.sum"))

			assert.Equal(t, read(t, filepath.Join(golden, "output.txt")), s.run())
			assert.Equal(t, read(t, filepath.Join(golden, "dependencies.txt")), s.dependencies(),
				"a program that embeds %s now depends on other modules than before. Everybody who embeds it will:\n"+
					"their go.mod, their build, their licence list, their security scanner. Find a way without, or write\n"+
					"the new line into %s/dependencies.txt and say in the commit why it is worth that.", name, golden)
		})
	}
}

// The check itself is seen to notice a module that comes along.
func TestStubNoticesADependency(t *testing.T) {
	heavy := t.TempDir()
	write(t, heavy, "go.mod", "module example.com/heavy\n\ngo 1.25\n")
	write(t, heavy, "heavy.go", "package heavy\n\nconst Weight = 7\n")
	light := t.TempDir()
	write(t, light, "go.mod", "module example.com/light\n\ngo 1.25\n\nrequire example.com/heavy v0.0.0\n")
	write(t, light, "light.go", "package light\n\nimport \"example.com/heavy\"\n\nconst Weight = heavy.Weight\n")
	main := write(t, t.TempDir(), "main.go", "package main\n\nimport \"example.com/light\"\n\nfunc main() { println(light.Weight) }\n")

	s := newStub(t, main, map[string]string{"example.com/light": light, "example.com/heavy": heavy})
	s.run()
	assert.Equal(t, "links example.com/heavy\nlinks example.com/light\nrequires example.com/heavy\nrequires example.com/light\n", s.dependencies())
}

// stub is a program in a module of its own, in a folder of its own.
type stub struct {
	t   *testing.T
	dir string
}

// newStub requires the modules where they are; whatever else the program turns out to need,
// the go command adds to its go.mod.
func newStub(t *testing.T, main string, modules map[string]string) *stub {
	s := &stub{t: t, dir: t.TempDir()}
	gomod := "module example.com/embedder\n\ngo 1.25.0\n"
	for path, dir := range modules {
		gomod += fmt.Sprintf("\nrequire %s v0.0.0\n\nreplace %s => %q\n", path, path, filepath.ToSlash(dir))
	}
	write(t, s.dir, "go.mod", gomod)
	copyFile(t, main, filepath.Join(s.dir, "main.go"))
	return s
}

// run builds the stub and returns what it prints.
func (s *stub) run() string {
	s.t.Helper()
	binary := filepath.Join(s.dir, "stub.exe")
	s.command("go", "build", "-o", binary, ".")
	return s.command(binary)
}

// dependencies lists the modules that are linked into the stub, and those that its go.mod
// asks for.
func (s *stub) dependencies() string {
	s.t.Helper()
	var lines []string
	for _, m := range strings.Fields(s.command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", ".")) {
		lines = append(lines, "links "+m)
	}
	for line := range strings.Lines(read(s.t, filepath.Join(s.dir, "go.mod"))) {
		words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(words) > 1 && strings.HasPrefix(words[1], "v") {
			lines = append(lines, "requires "+words[0])
		}
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n") + "\n"
}

// command runs offline: what the stub needs beyond our own dependencies is not to be found.
func (s *stub) command(words ...string) string {
	s.t.Helper()
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOSUMDB=off", "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(s.t, err, "%s\n%s", strings.Join(words, " "), &stderr)
	return string(out)
}

func write(t *testing.T, dir, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	write(t, filepath.Dir(to), filepath.Base(to), read(t, from))
}
