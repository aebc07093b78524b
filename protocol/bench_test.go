package protocol

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// cycle drives the life of one job through a warm machine: grant, return, settle. It
// returns the instant after it.
func cycle(m *Machine, now Instant, token Token, fx *Effects) Instant {
	step := func(ev Event) {
		fx.Reset()
		m.Step(now, ev, fx)
	}
	seq := m.requests[0].seq
	step(GrantedJob(0, seq, JobKey(token), token, 0, 1, 0))
	step(ClaimClosed(0, seq, OK, 0))
	now = now.Add(Millisecond)
	step(Returned(0, ReturnedNil, true))
	step(Settled(0, JobKey(token), token, OK))
	return now.Add(Millisecond)
}

// warm returns a serving machine with all its slots free and a request out.
func warm(slots int) (*Machine, *Effects, Instant) {
	cfg := Config{Kinds: []KindConfig{{MinVersion: 1, MaxVersion: 3, Gap: Second, Undo: Second}}, Grace: 30 * Second}.WithDefaults()
	m, fx := new(Machine), NewEffects(slots, cfg.Queues)
	m.Init(&cfg, NewMemory(&cfg, slots), 7)
	m.Step(0, Event{}, fx)
	m.Step(1, RegisteredAs(1, OK), fx)
	return m, fx, 1
}

func TestStepAllocatesNothing(t *testing.T) {
	m, fx, now := warm(4)
	token := Token(0)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		token++
		now = cycle(m, now, token, fx)
	}), "a job's cycle")

	require.Zero(t, testing.AllocsPerRun(1000, func() {
		now = max(m.Deadline(), now)
		fx.Reset()
		m.Step(now, Event{}, fx)
	}), "ticks")

	var clone Machine
	mem := NewMemory(m.cfg, 4)
	require.Zero(t, testing.AllocsPerRun(1000, func() { m.CopyTo(&clone, mem) }), "a clone")
}

func TestAWholeDrainAllocatesNothing(t *testing.T) {
	m, fx, now := warm(4)
	for i := range 4 {
		m.Step(now, GrantedJob(0, m.requests[0].seq, JobKey(i+1), 1, 0, 1, 0), fx)
	}
	var clone Machine
	mem := NewMemory(m.cfg, 4)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		m.CopyTo(&clone, mem)
		at := now
		fx.Reset()
		clone.Step(at, StopBySignal(SIGTERM, Never), fx)
		for clone.Deadline() != Never {
			at = clone.Deadline()
			fx.Reset()
			clone.Step(at, Event{}, fx)
		}
	}))
	require.Equal(t, PhaseGone, clone.Phase())
}

// BenchmarkStepCycle is one whole job: four steps.
func BenchmarkStepCycle(b *testing.B) {
	for _, slots := range []int{1, 10} {
		b.Run(map[int]string{1: "slots=1", 10: "slots=10"}[slots], func(b *testing.B) {
			m, fx, now := warm(slots)
			b.ReportAllocs()
			token := Token(0)
			for b.Loop() {
				token++
				now = cycle(m, now, token, fx)
			}
		})
	}
}

// BenchmarkStepBusy is one whole job while all the other slots are taken.
func BenchmarkStepBusy(b *testing.B) {
	for _, slots := range []int{1, 10, 100, 1000} {
		b.Run("slots="+strconv.Itoa(slots), func(b *testing.B) {
			m, fx, now := warm(slots)
			step := func(ev Event) {
				fx.Reset()
				m.Step(now, ev, fx)
			}
			for i := range slots {
				step(GrantedJob(0, m.requests[0].seq, JobKey(i+1), 1, 0, 1, 0))
			}
			step(ClaimClosed(0, m.requests[0].seq, OK, 0))
			b.ReportAllocs()
			for job := JobKey(slots); b.Loop(); job++ {
				now = now.Add(Microsecond)
				step(Returned(slots-1, ReturnedNil, true))
				step(Settled(slots-1, job, 1, OK))
				step(GrantedJob(0, m.requests[0].seq, job+1, 1, 0, 1, 0))
				step(ClaimClosed(0, m.requests[0].seq, OK, 0))
			}
		})
	}
}

// BenchmarkStepTick is a tick with nothing due: the price of looking.
func BenchmarkStepTick(b *testing.B) {
	m, fx, now := warm(1)
	b.ReportAllocs()
	for b.Loop() {
		fx.Reset()
		m.Step(now, Event{}, fx)
	}
}

// BenchmarkStepDrain is a stop with ten running jobs and everything that follows it when
// nobody answers.
func BenchmarkStepDrain(b *testing.B) {
	m, fx, now := warm(10)
	for i := range 10 {
		m.Step(now, GrantedJob(0, m.requests[0].seq, JobKey(i+1), 1, 0, 1, 0), fx)
	}
	var clone Machine
	mem := NewMemory(m.cfg, 10)
	b.ReportAllocs()
	for b.Loop() {
		m.CopyTo(&clone, mem)
		at := now
		fx.Reset()
		clone.Step(at, StopBySignal(SIGTERM, Never), fx)
		for clone.Deadline() != Never {
			at = clone.Deadline()
			fx.Reset()
			clone.Step(at, Event{}, fx)
		}
	}
}
