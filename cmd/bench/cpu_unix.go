//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpuTime is the processor time that this process has used. On a shared machine it says
// more than the time on the wall.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return wallTime()
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
