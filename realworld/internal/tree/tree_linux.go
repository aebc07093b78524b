package tree

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

func becomeReaper() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

func bind(attr *syscall.SysProcAttr, s Spec) {
	attr.Pdeathsig = s.Orphaned
	if s.Cgroup != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(s.Cgroup.Fd())
	}
}

// killGroup: descendants are found by their parents here, so the group does not matter.
func killGroup(int) {}

// process is a line of /proc/PID/stat.
type process struct {
	parent  int
	started string // in ticks since the boot: with the number it names a process for good
}

// killDescendants kills everything below this process. A number may have gone to another
// process since /proc was read; so a handle is taken first and the process is looked at again.
func killDescendants() {
	all := processes()
	self := os.Getpid()
	for pid := range all {
		if !descends(all, pid, self) {
			continue
		}
		handle, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		if now, ok := look(pid); ok && now.started == all[pid].started {
			_ = handle.Kill() // gone already is as good
		}
		_ = handle.Release()
	}
}

// descends follows parents upwards. Parents change while /proc is read, so there may be rings.
func descends(all map[int]process, pid, ancestor int) bool {
	for range len(all) {
		parent := all[pid].parent
		if parent == ancestor {
			return true
		}
		if parent <= 1 {
			return false
		}
		pid = parent
	}
	return false
}

func processes() map[int]process {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is well formed
	all := make(map[int]process, len(dirs))
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		if p, ok := look(pid); ok {
			all[pid] = p
		}
	}
	return all
}

func look(pid int) (process, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	// The name stands in parentheses and may hold some itself.
	end := bytes.LastIndexByte(b, ')')
	if end < 0 {
		return process{}, false
	}
	fields := bytes.Fields(b[end+1:])
	const state, parent, started = 0, 1, 19
	if len(fields) <= started || fields[state][0] == 'Z' {
		return process{}, false
	}
	ppid, err := strconv.Atoi(string(fields[parent]))
	if err != nil {
		return process{}, false
	}
	return process{ppid, string(fields[started])}, true
}
