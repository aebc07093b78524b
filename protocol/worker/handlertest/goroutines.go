package handlertest

import (
	"bytes"
	"context"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"
)

// label marks the goroutines of an execution: whatever a goroutine starts inherits its label.
const label = "quiesce-rehearsal"

var executions atomic.Uint64

// newLabel returns a value that no other execution of this process has.
func newLabel() string { return strconv.FormatUint(executions.Add(1), 10) }

// labelled runs f, and whatever it starts, under a label.
func labelled(value string, f func()) {
	pprof.Do(context.Background(), pprof.Labels(label, value), func(context.Context) { f() })
}

// running returns the stacks of the goroutines that bear the label of an execution.
func running(value string) []string {
	var buf bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&buf, 1); err != nil {
		return nil
	}
	mark := strconv.Quote(label) + ":" + strconv.Quote(value)
	var stacks []string
	for _, block := range strings.Split(buf.String(), "\n\n") {
		if strings.Contains(block, mark) {
			stacks = append(stacks, block)
		}
	}
	return stacks
}
