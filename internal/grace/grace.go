// Package grace is the environment variable by which a worker is told how long it has between
// the stop and SIGKILL. Who reads it and who checks it in a manifest must agree on its syntax.
package grace

import (
	"strconv"
	"time"
)

// Variable is its name.
const Variable = "QUIESCE_GRACE"

// Parse reads its value: a duration such as 30s, or a whole number of seconds. It must be
// positive.
func Parse(text string) (d time.Duration, ok bool) {
	if s, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(s) * time.Second, s > 0
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d > 0
}
