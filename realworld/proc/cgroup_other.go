//go:build unix && !linux

package proc

import "os"

// cgroup: there are none here.
type cgroup struct{}

func newCgroup() cgroup      { return cgroup{} }
func (cgroup) dir() *os.File { return nil }
func (cgroup) path() string  { return "" }
func (cgroup) kill()         {}
func (cgroup) remove()       {}

func killCgroup(string)   {}
func removeCgroup(string) {}
