// Package kin keeps the files that every child of this process holds open until it is gone,
// so that a lock of the kernel tells not only that a process is dead, but its children too.
package kin

import (
	"os"
	"slices"
	"sync"
)

var (
	mu    sync.Mutex
	files []*os.File
)

// Add has children that are started from now on hold f. Remove ends that for later ones.
func Add(f *os.File) (remove func()) {
	mu.Lock()
	defer mu.Unlock()
	files = append(files, f)
	return func() {
		mu.Lock()
		defer mu.Unlock()
		files = slices.DeleteFunc(slices.Clone(files), func(g *os.File) bool { return g == f })
	}
}

// Files are those that a child that is started now holds.
func Files() []*os.File {
	mu.Lock()
	defer mu.Unlock()
	return slices.Clone(files)
}
