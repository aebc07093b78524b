//go:build !linux

package worker

import "time"

func bootTime() time.Duration { return sinceStart() }
