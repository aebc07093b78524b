package trace

import (
	"context"
	"math/bits"
	"slices"
	"time"
)

// Profile is a summary with what can be drawn of it.
type Profile struct {
	Summary
	PerHour       float64 // arrivals: one less than there are jobs, over the span; 0 when that is
	P50, P90, P99 time.Duration
	Busiest       Minute
	Durations     []Bar
	Arrivals      Series
}

// Minute is one minute of a trace.
type Minute struct {
	Start time.Duration // since the first arrival, a whole number of minutes
	Jobs  int
}

// Bar counts the durations that are From or longer and shorter than To; the first bar begins
// at zero and the last one, with To zero, has no end. Bars at both ends have jobs.
type Bar struct {
	From, To time.Duration
	Jobs     int
}

// Series counts arrivals in equal steps from the first arrival on.
type Series struct {
	Step time.Duration
	Jobs []int
}

// Profile reads the whole trace once, in memory that does not grow with it. The quantiles are
// nearest rank: exact as long as durations that share their first four digits are equal, and
// else too large by less than 1/4096. It ends early, with the context's error, when ctx is done.
func (m Map) Profile(ctx context.Context, path string) (Profile, error) {
	r, err := m.Open(path)
	if err != nil {
		return Profile{}, err
	}
	defer r.Close() // Only read from: closing it cannot lose anything.
	return profile(ctx, r)
}

func profile(ctx context.Context, r *Reader) (Profile, error) {
	var p Profile
	var arrivals series
	var minute Minute
	durations := quantiles{}
	bars := make([]int, len(edges)+1)
	s, err := summarize(ctx, r, func(j Job) {
		durations.add(j.Duration)
		bars[barOf(j.Duration)]++
		arrivals.add(j.Arrival)
		if start := j.Arrival.Truncate(time.Minute); start != minute.Start {
			minute = Minute{Start: start}
		}
		minute.Jobs++
		if minute.Jobs > p.Busiest.Jobs {
			p.Busiest = minute
		}
	})
	if err != nil {
		return Profile{}, err
	}
	p.Summary = s
	if s.Span > 0 {
		p.PerHour = float64(s.Jobs-1) / s.Span.Hours()
	}
	of := durations.ranks()
	p.P50, p.P90, p.P99 = of(50), of(90), of(99)
	p.Durations = trimmed(bars)
	p.Arrivals = Series{arrivals.step(), arrivals.jobs[:arrivals.index(s.Span)+1]}
	return p, nil
}

// edges between the bars of durations, about three for each power of ten, at round numbers.
var edges = []time.Duration{
	time.Millisecond, 3 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond,
	time.Second, 3 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 3 * time.Minute, 10 * time.Minute, 30 * time.Minute,
	time.Hour, 3 * time.Hour, 10 * time.Hour, 24 * time.Hour, 3 * 24 * time.Hour, 10 * 24 * time.Hour, 30 * 24 * time.Hour, 100 * 24 * time.Hour,
}

func barOf(d time.Duration) int {
	at, equal := slices.BinarySearch(edges, d)
	if equal {
		at++
	}
	return at
}

func trimmed(bars []int) []Bar {
	var list []Bar
	for i, n := range bars {
		b := Bar{Jobs: n}
		if i > 0 {
			b.From = edges[i-1]
		}
		if i < len(edges) {
			b.To = edges[i]
		}
		list = append(list, b)
	}
	for list[0].Jobs == 0 {
		list = list[1:]
	}
	for list[len(list)-1].Jobs == 0 {
		list = list[:len(list)-1]
	}
	return list
}

// series counts arrivals without knowing how long the trace is: when it gets too long, it
// goes on to the next longer step and adds up what falls together.
type series struct {
	at   int // in steps
	jobs [60]int
}

// steps of a series; each is a multiple of the one before, and sixty of the last are more
// than a trace may span.
var steps = []time.Duration{
	time.Second, 2 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 48 * time.Hour, 240 * time.Hour, 720 * time.Hour, 2160 * time.Hour, 4320 * time.Hour, 17280 * time.Hour,
}

func (s *series) step() time.Duration             { return steps[s.at] }
func (s *series) index(arrival time.Duration) int { return int(arrival / s.step()) }

func (s *series) add(arrival time.Duration) {
	for s.index(arrival) >= len(s.jobs) {
		s.at++
		longer := int(steps[s.at] / steps[s.at-1])
		for i, n := range s.jobs {
			s.jobs[i] = 0
			s.jobs[i/longer] += n
		}
	}
	s.jobs[s.index(arrival)]++
}

// quantiles counts durations by their highest 13 bits, and keeps the longest of each count.
type quantiles map[uint32]*group

type group struct {
	jobs    int
	longest time.Duration
}

func (q quantiles) add(d time.Duration) {
	const kept = 13
	shift := max(bits.Len64(uint64(d))-kept, 0)
	// Above 13 bits the highest is always set, so keys of different shifts do not meet.
	key := uint32(shift)<<kept | uint32(uint64(d)>>shift)
	g := q[key]
	if g == nil {
		g = new(group)
		q[key] = g
	}
	g.jobs++
	g.longest = max(g.longest, d)
}

// ranks returns a function that finds the quantile of a percentage by nearest rank.
func (q quantiles) ranks() func(percent int) time.Duration {
	keys := make([]uint32, 0, len(q))
	total := 0
	for key, g := range q {
		keys = append(keys, key)
		total += g.jobs
	}
	slices.Sort(keys)
	return func(percent int) time.Duration {
		rank := (total*percent + 99) / 100
		for _, key := range keys {
			if rank -= q[key].jobs; rank <= 0 {
				return q[key].longest
			}
		}
		return 0
	}
}
