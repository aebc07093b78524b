// Package realdata finds what tests read of real systems: job traces and supervisor manifests
// that are others' and so are no part of this module.
package realdata

import (
	"os"
	"path/filepath"
	"testing"
)

// Folder returns a folder below shared/data, which is kept beside the module or above it. The
// test is skipped, and says so, when it is not there.
func Folder(t testing.TB, below string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		folder := filepath.Join(dir, "shared", "data", below)
		if info, err := os.Stat(folder); err == nil && info.IsDir() {
			return folder
		}
		if dir == filepath.Dir(dir) {
			t.Skipf("no folder %s beside the module or above it", filepath.ToSlash(filepath.Join("shared", "data", below)))
		}
		dir = filepath.Dir(dir)
	}
}
