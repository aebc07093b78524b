package trace_test

import (
	"fmt"
	"io"
	"strings"

	"github.com/quiesce/quiesce/scenarios/trace"
)

// Rows need not be sorted, and arrivals become offsets from the first one.
func ExampleNewReader() {
	r, err := trace.NewReader("jobs.csv", strings.NewReader(`arrival,duration,kind
2024-11-15T16:57:52Z,1m30s,report
2024-11-15T16:57:50Z,0.8,mail
2024-11-15T18:57:51+02:00,1.2,
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	for {
		job, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%v after the first: %s for %v (line %d)\n", job.Arrival, job.Kind, job.Duration, job.Line)
	}
	// Output:
	// 0s after the first: mail for 800ms (line 3)
	// 1s after the first: job for 1.2s (line 4)
	// 2s after the first: report for 1m30s (line 2)
}

func ExampleError() {
	_, err := trace.NewReader("jobs.csv", strings.NewReader("arrival,duration,kind\n0,3,mail\n0.5,-3,mail\n"))
	fmt.Println(err)
	// Output:
	// jobs.csv:3:5: duration "-3" is negative; write the execution time in seconds, for example 3
	// 	0.5,-3,mail
	// 	    ^
}

func ExampleSummarize() {
	s, err := trace.Summarize("testdata/batch.swf")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d jobs over %v, %.1f at work on average\n", s.Jobs, s.Span, s.Busy)
	for _, warning := range s.Warnings {
		fmt.Println(warning)
	}
	// Output:
	// 9 jobs over 5m0s, 14.9 at work on average
	// 3 rows were skipped: 1 with negative run time, 1 with unknown run time, 1 with unknown submit time
	// 1 of 9 jobs take no time at all
}
