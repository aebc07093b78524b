package protocol

import "github.com/quiesce/quiesce/internal/deviation"

// RulesVersion is raised whenever a golden trace changes, or the instants at which something is
// repeated, so that a recording says under which rules it was made.
const RulesVersion = 4

// Phase is where the life of a worker stands.
type Phase uint8

// Phases with their exits.
const (
	PhaseBooting    Phase = iota // → Serving, Quiet, Gone
	PhaseServing                 // → Quiet, Draining, Cancelling, Gone
	PhaseQuiet                   // → Serving, Draining, Cancelling, Gone
	PhaseDraining                // → Cancelling, Settling, Gone
	PhaseCancelling              // → Settling, Gone
	PhaseSettling                // → Gone
	PhaseGone                    // final

	phases
)

// Stopping reports whether a stop has begun and the machine has not gone yet.
func (p Phase) Stopping() bool { return p >= PhaseDraining && p <= PhaseSettling }

// Machine is the drain protocol of one worker process, from its registration to its exit.
// Build one with Init; a zero Machine must not be stepped.
type Machine struct {
	// What nearly every step looks at comes first and lies together: a simulator steps another
	// machine each time, and waits for its memory.
	cfg *Config

	phase       Phase
	retries     uint8 // attempts at Register so far
	settleTries uint8 // rounds of settling since a slot first needed one
	status      uint8 // of the exit
	wantsQuiet  bool  // Booting: quiet was asked for
	more        bool  // another event follows at once
	termGroups  uint8 // groups of SIGTERM so far
	interrupts  uint8 // SIGINTs

	wake     Instant // what Deadline returns
	renewAt  Instant // the next round of renewals
	settleAt Instant // the next round of settling
	slots    []Slot
	requests []Request
	census   census
	present  *Present

	incarnation uint64
	seed        uint64 // of the jitter; 0 is no jitter
	draws       uint32 // jitters drawn so far

	surplus    uint32  // releases of jobs for which there was no slot that are not answered
	surplusTo  Instant // until then the broker may hold the newest of them
	doubtTo    Instant // until then the broker may hold what was given up while serving
	againAt    Instant // Booting: the next Register; in a drain: the next weighing of going on against handing back
	stopAt     Instant // the first stop; Never before it
	termAt     Instant // first SIGTERM of the newest group
	budget     budget
	histograms *Histograms
}

// Init makes m a machine at the beginning of its life: its first Step asks the driver to
// register. mem is the machine's until it is gone and is cleared. seed makes its jitter its
// own; zero means no jitter. cfg must be valid and must not change.
func (m *Machine) Init(cfg *Config, mem Memory, seed uint64) {
	clear(mem.Slots)
	clear(mem.Requests)
	clear(mem.Histograms.all())
	*m = Machine{
		cfg: cfg, slots: mem.Slots, requests: mem.Requests, histograms: mem.Histograms, present: mem.Present, seed: seed,
		renewAt: Never, settleAt: Never, stopAt: Never,
		budget: budget{Never, Never, Never, Never}, termAt: Never,
	}
}

// CopyTo makes dst an equal machine that works in mem, which must be at least as large.
func (m *Machine) CopyTo(dst *Machine, mem Memory) {
	*dst = *m
	dst.slots = mem.Slots[:len(m.slots)]
	dst.requests = mem.Requests[:len(m.requests)]
	dst.histograms = mem.Histograms
	if dst.present = mem.Present; dst.present != nil {
		dst.forget() // it is filled when the slots are counted
	}
	copy(dst.slots, m.slots)
	copy(dst.requests, m.requests)
	copy(dst.histograms.all(), m.histograms.all())
}

// Deadline returns when the machine next wants to be stepped, or Never. After a Step it
// lies in the future.
func (m *Machine) Deadline() Instant { return m.wake }

// Phase returns where the worker's life stands.
func (m *Machine) Phase() Phase { return m.phase }

// Incarnation returns the number the broker gave this life, 0 before it did.
func (m *Machine) Incarnation() uint64 { return m.incarnation }

// Memory returns the memory the machine works in, to be used again by a later life.
func (m *Machine) Memory() Memory {
	return Memory{Slots: m.slots, Requests: m.requests, Histograms: m.histograms, Present: m.present}
}

// Slots returns the slots, to look at.
func (m *Machine) Slots() []Slot { return m.slots }

// Requests returns the claim requests by queue, to look at.
func (m *Machine) Requests() []Request { return m.requests }

// KillAt returns when SIGKILL is expected: Never before a stop or without a deadline.
func (m *Machine) KillAt() Instant { return m.budget.killAt }

// ExitBy returns when the exit hooks must be done: Never before a stop.
func (m *Machine) ExitBy() Instant { return m.budget.exitBy }

// Status returns the exit status as far as it is known.
func (m *Machine) Status() int { return int(m.status) }

func (m *Machine) deviates(id deviation.ID) bool { return m.cfg.Deviations.Has(id) }

// free counts the slots that could take a job when a request that is sent now is answered.
func (m *Machine) free() int32 {
	if m.counts() {
		return m.counted().free
	}
	n := int32(0)
	for i := range m.slots {
		if m.comesFree(&m.slots[i]) {
			n++
		}
	}
	return n
}

// comesFree reports whether a slot is free, or will be before a claim request that is sent now
// is answered. A settling that was repeated, or answered by an error, promises nothing.
func (m *Machine) comesFree(s *Slot) bool {
	return s.state == SlotFree || m.cfg.SettlesFirst && s.state == SlotSettling && s.has(fresh) && !s.has(undoRuns)
}

// worsen raises the exit status if st is worse: 5, 3, 4, 1, 0.
func (m *Machine) worsen(st uint8) {
	rank := [...]uint8{ExitClean: 0, ExitRefused: 1, 2: 0, ExitLeaked: 3, ExitUnsettled: 2, ExitAtOnce: 4}
	if rank[st] > rank[m.status] {
		m.status = st
	}
}

// jitter shortens d by up to half. What it takes off is a hash of the machine's seed and a
// counter, so equal machines agree and no random source is read.
func (m *Machine) jitter(d Duration) Duration {
	if m.seed == 0 || d < 2 {
		return d
	}
	m.draws++
	x := m.seed + uint64(m.draws)*0x9e3779b97f4a7c15 // splitmix64, Steele et al. 2014
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	return d - Duration(x%uint64(d/2))
}

// backoff returns the wait before repetition number tries (from 0).
func (m *Machine) backoff(b Backoff, tries uint8) Duration {
	d := b.Min
	for ; tries > 0 && d < b.Max; tries-- {
		d += min(d, b.Max-d) // doubled, without passing Max or wrapping around
	}
	return m.jitter(d)
}

func increment(n *uint8) {
	if *n < 255 {
		*n++
	}
}
