package proc

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cgroup is the control group of one child, of version 2, below the worker's own. The zero
// value is none: where the group is not delegated, making one is not this process's to do.
type cgroup struct{ folder *os.File }

func newCgroup() cgroup {
	own := ownCgroup()
	if own == "" || !delegated(own) {
		return cgroup{}
	}
	path := filepath.Join(own, "quiesce-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(path, 0o755); err != nil {
		return cgroup{}
	}
	f, err := os.Open(path)
	if err != nil {
		_ = os.Remove(path)
		return cgroup{}
	}
	return cgroup{f}
}

func (g cgroup) dir() *os.File { return g.folder }

func (g cgroup) path() string {
	if g.folder == nil {
		return ""
	}
	return g.folder.Name()
}

func (g cgroup) kill()   { killCgroup(g.path()) }
func (g cgroup) remove() { removeCgroup(g.path()) }

// killCgroup kills all members at once. Kernels before 5.14 have no such file.
func killCgroup(path string) {
	if path != "" {
		_ = os.WriteFile(filepath.Join(path, "cgroup.kill"), []byte("1"), 0)
	}
}

// removeCgroup removes a group whose members are dead; they leave it a moment later.
func removeCgroup(path string) {
	if path == "" {
		return
	}
	for pause := time.Millisecond; pause < time.Second; pause *= 2 {
		if err := os.Remove(path); err == nil || os.IsNotExist(err) {
			return
		}
		time.Sleep(pause)
	}
}

// ownCgroup is the folder of this process's control group, or empty.
func ownCgroup() string {
	below := ""
	if !lines("/proc/self/cgroup", func(line string) bool {
		var ok bool
		below, ok = strings.CutPrefix(line, "0::")
		return ok
	}) {
		return ""
	}
	mount := ""
	if !lines("/proc/self/mountinfo", func(line string) bool {
		before, after, _ := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if !strings.HasPrefix(after, "cgroup2 ") || len(fields) < 5 {
			return false
		}
		// A part of the hierarchy may be mounted; then the path is below that part.
		rest, ok := strings.CutPrefix(below, strings.TrimSuffix(fields[3], "/"))
		mount, below = fields[4], rest
		return ok
	}) {
		return ""
	}
	return filepath.Join(mount, below)
}

// lines reads a file until found says so, and returns whether it did.
func lines(path string, found func(line string) bool) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if found(s.Text()) {
			return true
		}
	}
	return false
}

// delegated reports whether a folder, or the one above it, carries the mark by which systemd
// says that what is below belongs to the service.
func delegated(path string) bool {
	for _, dir := range []string{path, filepath.Dir(path)} {
		for _, mark := range []string{"user.delegate", "trusted.delegate"} {
			value := make([]byte, 8)
			if n, err := syscall.Getxattr(dir, mark, value); err == nil && string(value[:n]) == "1" {
				return true
			}
		}
	}
	return false
}
