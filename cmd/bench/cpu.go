package main

import "time"

var start = time.Now()

// wallTime stands in for processor time where the system does not tell it.
func wallTime() time.Duration { return time.Since(start) }
