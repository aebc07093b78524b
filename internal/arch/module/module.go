// Package module finds this module's folder, for tests that look at the module as a whole.
// It promises nothing to anybody else.
package module

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Path is the module's path, the beginning of every import path of ours.
const Path = "github.com/quiesce/quiesce"

// Root returns the folder of the module that the running test belongs to.
//
// It also looks at every file below. A test that hands the module to another program, such
// as go list or go build, depends on all of them, but go test does not know what other
// programs read, and would answer from its cache after a change. What the test itself has
// looked at it knows.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for !isFile(filepath.Join(dir, "go.mod")) {
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above this test; run it inside the module")
		}
		dir = parent
	}
	if err := filepath.WalkDir(dir, look); err != nil {
		t.Fatal(err)
	}
	return dir
}

// look leaves out what go list leaves out too: folders such as .git.
func look(path string, entry fs.DirEntry, err error) error {
	if entry != nil && entry.IsDir() && strings.HasPrefix(entry.Name(), ".") {
		return fs.SkipDir
	}
	if err != nil && !os.IsNotExist(err) { // another test may just have removed it
		return err
	}
	return nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
