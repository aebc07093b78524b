package meter

import (
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// Window says which part of a run is measured.
type Window struct {
	From     protocol.Instant  // the end of the warm-up
	Until    protocol.Instant  // the end of the run
	Cooldown protocol.Duration // interruptions this close to the end are left out of stall: most could not end
	Keep     protocol.Duration // how long an ended job may still be heard of
}

// Meter computes the metrics of one run from its records.
type Meter struct {
	window  Window
	row     Row
	jobs    model.Pages[job]
	stalled level      // jobs that wait for their next execution after an interruption
	begun   level      // jobs that were started and are not finished
	ended   []endedJob // in order of time, kept for a while
	gone    int        // of those, dropped already

	troubles model.Slab[trouble]
}

type endedJob struct {
	at  protocol.Instant
	job protocol.JobKey
}

// New returns a meter for a run.
func New(w Window) *Meter {
	return &Meter{window: w}
}

// level integrates a count over time.
type level struct {
	n    int64
	at   protocol.Instant
	area protocol.Duration // n times time, in job-microseconds
}

// add changes the count by d as of an instant, which may lie in the past: an interruption
// can be known later than it began.
func (l *level) add(w *Window, at protocol.Instant, d int64) {
	if at >= l.at {
		l.area += area(w, l.at, at, l.n)
		l.at = at
	} else {
		l.area += area(w, at, l.at, d)
	}
	l.n += d
}

func area(w *Window, from, to protocol.Instant, n int64) protocol.Duration {
	from, to = max(from, w.From), min(to, w.Until)
	if to <= from {
		return 0
	}
	// Instants are rounded, not what lies between them: so the parts of a stretch add up to it.
	return protocol.Duration(n) * (protocol.Duration(to)/protocol.Microsecond - protocol.Duration(from)/protocol.Microsecond)
}

// measured reports whether what happens at an instant counts.
func (m *Meter) measured(at protocol.Instant) bool {
	return at >= m.window.From && at <= m.window.Until
}

func (m *Meter) count(at protocol.Instant, c Count, n int64) {
	if m.measured(at) {
		m.row.Counts[c] += n
	}
}

// Add takes in one record. Records come in order of time.
func (m *Meter) Add(r Record) {
	m.forget(r.At)
	switch r.Kind {
	case JobEnqueued:
		m.jobs.Put(uint64(r.Job)).enqueued = r.At
		m.count(r.At, JobsEnqueued, 1)
	case HandlerNoted:
		m.noted(r)
	case LedgerLine:
		m.count(r.At, LedgerLines, 1)
	case StopAsked:
		m.count(r.At, Stops, 1)
	case ProcessExited, ProcessKilled:
		m.endedProcess(r)
	case ProcessCrashed:
		m.count(r.At, Crashes, 1)
	case RolloutBegan:
		m.count(r.At, Rollouts, 1)
	case RolloutFinished:
		if m.measured(r.At) {
			m.row.Counts[RolloutsFinished]++
			m.row.Sums[RolloutTime] += micros(r.Span)
		}
	default:
		if j := m.jobs.Get(uint64(r.Job)); j != nil {
			m.jobRecord(j, r)
		}
	}
}

// Foresee has the memory fetched that Add will need for a record about a job, in two steps a
// while apart, 0 and 1.
func (m *Meter) Foresee(key protocol.JobKey, step int) { m.jobs.Foresee(uint64(key), step) }

// forget drops jobs that ended long enough ago.
func (m *Meter) forget(now protocol.Instant) {
	for m.gone < len(m.ended) && m.ended[m.gone].at.Add(m.window.Keep) < now {
		e := m.ended[m.gone]
		m.gone++
		for step, next := range m.ended[m.gone:min(m.gone+2, len(m.ended))] {
			m.jobs.Foresee(uint64(next.job), 1-step) // in two steps each
		}
		switch j := m.jobs.Get(uint64(e.job)); {
		case j == nil || !j.ended || j.endedAt > e.at: // gone, or it has ended anew since
		case j.running+j.paused > 0: // a zombie still works on it
			m.ended = append(m.ended, endedJob{now, e.job})
		default:
			m.drop(e.job, j)
		}
	}
	if m.gone > 1024 && m.gone > len(m.ended)/2 {
		m.ended = append(m.ended[:0], m.ended[m.gone:]...)
		m.gone = 0
	}
}

func (m *Meter) noted(r Record) {
	c, ok := noteCounts[r.Note]
	if ok {
		n := int64(1)
		if r.Note == protocol.JobsWithdrawn {
			n = int64(r.Count)
		}
		m.count(r.At, c, n)
	}
}

// endedProcess takes in the end of a process that had been asked to stop.
func (m *Meter) endedProcess(r Record) {
	if !m.measured(r.At) {
		return
	}
	m.row.ExitTime.record(r.Span)
	if r.Kind == ProcessKilled {
		m.row.Counts[KilledAtGrace]++
	}
}

// Ending says what the broker and the fleet know of a job at the end of the run.
type Ending struct {
	Known   bool  // the broker has a row of it
	Claimed bool  // under a claim that was not settled
	Alive   bool  // whose holder lives
	Rescued bool  // an open claim of a dead holder ends by itself sooner or later
	Cause   Cause // of the holder's death
}

// Finish ends the run: what is open is counted to the end. ending is asked for every job
// that has not ended; live is how far a live execution of it has come.
func (m *Meter) Finish(ending func(protocol.JobKey) (e Ending, live protocol.Duration)) *Row {
	end := m.window.Until
	m.jobs.Each(func(n uint64, j *job) {
		e, live := ending(protocol.JobKey(n))
		switch {
		case !e.Known && !j.ended:
			m.row.Counts[JobsLost]++
		case e.Claimed && !e.Alive && !e.Rescued:
			m.row.Counts[JobsStuck]++
		}
		if e.Claimed && !e.Alive {
			m.neverRan(j, end)
			if !j.open {
				m.interrupt(j, j.since(end), e.Cause, 0)
			}
		}
		if j.open && !j.ended {
			m.closeStall(j, end, true)
		}
		// A dead-lettered job waits as long as the run, or its policy would look good by it.
		if d := end.Sub(j.enqueued) - max(live, 0); !j.served {
			m.row.DelayOverTime.add(&m.window, j.enqueued, d, 1)
			if m.measured(j.enqueued) {
				m.delay(d, 1)
			}
		}
	})
	m.stalled.add(&m.window, end, 0)
	m.begun.add(&m.window, end, 0)
	m.row.Sums[StalledTime] = int64(m.stalled.area)
	m.row.Sums[BegunTime] = int64(m.begun.area)
	return &m.row
}

// delay counts the delay of n jobs, or takes it back.
func (m *Meter) delay(d protocol.Duration, n int64) {
	m.row.Counts[JobsDelayed] += n
	m.row.Sums[DelayTime] += n * micros(max(d, 0))
}

func micros(d protocol.Duration) int64 { return int64(d / protocol.Microsecond) }
