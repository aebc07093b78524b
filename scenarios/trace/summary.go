package trace

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"
	"time"
)

// Summary says what a trace holds.
type Summary struct {
	Jobs         int
	Skipped      int           // rows left out
	SkipReasons  []Count       // why they were, sorted by reason
	Span         time.Duration // from the first arrival to the last
	MeanDuration time.Duration // rounded down
	MaxDuration  time.Duration
	SumDuration  Seconds
	Busy         float64  // SumDuration over Span: jobs in progress if none waited; 0 when Span is
	Kinds        []Count  // sorted by name
	Warnings     []string // sentences for people
}

// Seconds is a length of time beyond what time.Duration can hold: a hundred jobs of three
// years are too much for its 292 years.
type Seconds float64

// Count is a name and how many rows carry it.
type Count struct {
	Name string
	Rows int
}

// Summarize reads the whole trace once, in constant memory. Its errors are those of
// [Open] and [Reader.Next].
func Summarize(path string) (Summary, error) { return Map{}.Summarize(path) }

// Summarize reads a trace whose columns the map names; see the function [Summarize].
func (m Map) Summarize(path string) (Summary, error) {
	r, err := m.Open(path)
	if err != nil {
		return Summary{}, err
	}
	defer r.Close() // Only read from: closing it cannot lose anything.
	return summarize(context.Background(), r, func(Job) {})
}

// summarize shows every job to look.
func summarize(ctx context.Context, r *Reader, look func(Job)) (Summary, error) {
	var s Summary
	var sum total
	kinds, instant := map[string]int{}, 0
	for {
		job, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return Summary{}, err
		}
		if err := ctx.Err(); err != nil {
			return Summary{}, err
		}
		look(job)
		s.Jobs++
		s.Span = job.Arrival
		s.MaxDuration = max(s.MaxDuration, job.Duration)
		sum.add(job.Duration)
		kinds[job.Kind]++
		if job.Duration == 0 {
			instant++
		}
	}
	s.Kinds, s.SkipReasons = counts(kinds), counts(r.tally.skipped)
	for _, reason := range s.SkipReasons {
		s.Skipped += reason.Rows
	}
	s.MeanDuration, s.SumDuration = sum.mean(s.Jobs), sum.seconds()
	if s.Span > 0 {
		s.Busy = float64(s.SumDuration) / s.Span.Seconds()
	}
	s.Warnings = warnings(s, r, instant)
	return s, nil
}

func warnings(s Summary, r *Reader, instant int) (w []string) {
	t := r.tally
	switch {
	case t.outOfOrder == 0:
	case r.rows.anyOrder():
		w = append(w, fmt.Sprintf("%s out of order and sorted", rowsWere(t.outOfOrder)))
	default:
		w = append(w, fmt.Sprintf("%s out of order and sorted within a window of %d rows", rowsWere(t.outOfOrder), windowRows))
	}
	if s.Skipped > 0 {
		w = append(w, fmt.Sprintf("%s skipped: %s", rowsWere(s.Skipped), listSkips(t.skipped)))
	}
	if instant > 0 {
		w = append(w, fmt.Sprintf("%d of %d jobs take no time at all", instant, s.Jobs))
	}
	if s.Span == 0 {
		w = append(w, "all jobs arrive at the same instant, so the trace has no rate of arrival")
	}
	return w
}

func rowsWere(n int) string {
	if n == 1 {
		return "1 row was"
	}
	return fmt.Sprintf("%d rows were", n)
}

// listSkips names the reasons in a fixed order: "2 with negative run time".
func listSkips(skipped map[string]int) string {
	var parts []string
	for _, reason := range counts(skipped) {
		parts = append(parts, fmt.Sprintf("%d with %s", reason.Rows, reason.Name))
	}
	return strings.Join(parts, ", ")
}

func counts(rows map[string]int) []Count {
	var list []Count
	for name, n := range rows {
		list = append(list, Count{name, n})
	}
	slices.SortFunc(list, func(a, b Count) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// total adds durations exactly in 128 bits: 18,000 jobs of two months each are already
// more nanoseconds than an int64 can count.
type total struct{ high, low uint64 }

func (t *total) add(d time.Duration) {
	var carry uint64
	t.low, carry = bits.Add64(t.low, uint64(d), 0)
	t.high += carry
}

func (t *total) seconds() Seconds {
	const wrap = 1 << 64
	return Seconds((float64(t.high)*wrap + float64(t.low)) / float64(time.Second))
}

// mean cannot overflow: no duration exceeds an int64, so neither does their mean.
func (t *total) mean(n int) time.Duration {
	if n == 0 {
		return 0
	}
	mean, _ := bits.Div64(t.high, t.low, uint64(n))
	return time.Duration(mean)
}
