package scenarios

import (
	"errors"
	"io"
	"math/big"

	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/scenarios/trace"
)

// fullest is how busy a fleet is made at most, in percent: above it queues grow of
// themselves, and a deploy would be blamed for waits it has no part in.
const fullest = 70

// readTrace takes jobs from a trace and gives the workers slots enough for them.
func (in *input) readTrace(path string, columns trace.Map) error {
	if problem, remedy := unreadable(path); problem != "" {
		return &Error{File: path, Problem: problem, Remedy: remedy}
	}
	t, err := newJobTrace(path, columns)
	if err != nil {
		return foreign(err)
	}
	s := in.scenario
	like := s.Jobs[0]
	like.Arrivals, like.Work = nil, nil // Both come with every row.
	s.Trace, s.Jobs = t, t.jobs(like)
	in.notes = append(in.notes, t.notes...)
	in.span = protocol.Duration(t.summary.Span)
	switch {
	case in.span > longestSpan:
		in.note("trace: the first %v of %v are simulated", longestSpan, in.span)
		in.span = longestSpan
	case in.span == 0:
		in.atOnce = true
		in.span = min(max(protocol.Duration(t.summary.MaxDuration), s.Queue.Lease), longestSpan)
	case in.span > protocol.Minute:
		// Timestamps of nanoseconds make spans that nobody wants to read in every heading.
		in.span += (protocol.Second - in.span%protocol.Second) % protocol.Second
	}
	busy, err := busyTime(t, in.span)
	if err != nil {
		return foreign(err)
	}
	s.Fleet.Slots = slotsFor(busy, in.span, s.Fleet.Workers)
	jobs, _ := new(big.Rat).SetFrac(busy, big.NewInt(int64(in.span))).Float64()
	in.note("assumed %d slots on each of %d workers: the trace has %.1f jobs at work on average, which is %.0f%% of the slots",
		s.Fleet.Slots, s.Fleet.Workers, jobs, 100*jobs/float64(s.Fleet.Slots*s.Fleet.Workers))
	return nil
}

// busyTime adds up the work that arrives within span, each job up to the end of the span. The
// sum of a few thousand long jobs exceeds an int64 of nanoseconds.
func busyTime(t *jobTrace, span protocol.Duration) (*big.Int, error) {
	rows, err := t.columns.Open(t.path)
	if err != nil {
		return nil, err
	}
	defer rows.Close() // Only read from: closing it cannot lose anything.
	sum := new(big.Int)
	for {
		job, err := rows.Next()
		if errors.Is(err, io.EOF) || err == nil && protocol.Duration(job.Arrival) >= span {
			return sum, nil
		}
		if err != nil {
			return nil, err
		}
		sum.Add(sum, big.NewInt(int64(min(protocol.Duration(job.Duration), span-protocol.Duration(job.Arrival)))))
	}
}

// slotsFor returns the least number of slots per worker that keeps busy/span at or below the
// fullest share of all slots.
func slotsFor(busy *big.Int, span protocol.Duration, workers int) int {
	need := new(big.Int).Mul(busy, big.NewInt(100))
	perSlot := new(big.Int).Mul(big.NewInt(int64(span)), big.NewInt(int64(fullest*workers)))
	slots, rest := need.QuoRem(need, perSlot, new(big.Int))
	if rest.Sign() > 0 {
		slots.Add(slots, big.NewInt(1))
	}
	return max(int(slots.Int64()), 1)
}

// inventJobs takes the job mix of the default scenario, as many as keep three quarters of the
// workers busy.
func (in *input) inventJobs() error {
	like, err := Load(DefaultName)
	if err != nil {
		return err
	}
	s, mix := in.scenario, like.Jobs[0]
	mean := int64(mix.Work.Moments().Mean)
	gaps, err := dist.Exponential(max(4*mean/(3*int64(s.Fleet.Workers)), 1))
	if err != nil {
		return &Error{File: DefaultName, Problem: err.Error()}
	}
	s.Jobs[0].Name, s.Jobs[0].Work, s.Jobs[0].Arrivals = mix.Name, mix.Work, gaps
	in.span = assumedSpan
	in.note("no trace: assumed the jobs of %s, %v, so many that 75%% of %d workers are busy", DefaultName, mix.Work, s.Fleet.Workers)
	return nil
}
