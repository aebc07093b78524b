//go:build !unix

package main

import "time"

func cpuTime() time.Duration { return wallTime() }
