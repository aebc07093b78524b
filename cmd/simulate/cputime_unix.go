//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpuTime is the processor time that this process has used. On a shared machine it says more
// than the time on the wall.
func cpuTime() (used time.Duration, ok bool) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err == nil
}
