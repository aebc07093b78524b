package handlertest

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// tree is what lies under some directories: a digest of each file, by its path.
type tree map[string]string

// look takes in what lies under directories, the directories themselves excepted. What goes
// away meanwhile is not there.
func look(dirs []string) tree {
	t := tree{}
	for _, dir := range dirs {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil || path == dir:
			case d.Type().IsRegular():
				if content, err := os.ReadFile(path); err == nil {
					t[path] = fmt.Sprintf("%x", sha256.Sum256(content))
				}
			default:
				t[path] = d.Type().String()
			}
			return nil
		})
	}
	return t
}

// paths lists what is there.
func (t tree) paths() []string { return slices.Sorted(maps.Keys(t)) }

// changes lists what is new, gone or different afterwards, except what lies at or under some
// paths.
func (t tree) changes(after tree, except []string) []string {
	var all []string
	for _, path := range after.paths() {
		switch old, was := t[path]; {
		case !was:
			all = append(all, path+" (new)")
		case old != after[path]:
			all = append(all, path+" (changed)")
		}
	}
	for _, path := range t.paths() {
		if _, is := after[path]; !is {
			all = append(all, path+" (gone)")
		}
	}
	return slices.DeleteFunc(all, func(path string) bool {
		return slices.ContainsFunc(except, func(e string) bool {
			return strings.HasPrefix(path, e+" ") || strings.HasPrefix(path, e+string(filepath.Separator))
		})
	})
}
