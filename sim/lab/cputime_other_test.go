//go:build !unix

package lab

import "time"

var started = time.Now()

// cpuTime is wall time where nothing better is at hand.
func cpuTime() time.Duration { return time.Since(started) }
