package invariant

import (
	"fmt"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// Verdict is what a run says of an invariant.
type Verdict uint8

// Verdicts.
const (
	Undecided Verdict = iota // no occasion to break it came, or it is not promised in this run
	Held
	Broken
)

func (v Verdict) String() string { return [...]string{"undecided", "held", "broken"}[v] }

// Finding is one invariant seen to be broken.
type Finding struct {
	Invariant ID
	At        protocol.Instant
	Step      int64           // of the checker: events given to machines so far
	Job       protocol.JobKey // 0 when it is about none
	Seat      int32           // -1 when it is about no worker
	Text      string
}

func (f Finding) String() string { return fmt.Sprintf("%v at %v: %s", f.Invariant, f.At, f.Text) }

// Setup is the world that is watched.
type Setup struct {
	Scenario     *model.Scenario
	Preset       model.Preset
	Seats, Slots int
	Broker       *model.Broker // to look at
}

// Checker watches one run. The world tells it, in the order in which things happen, what is
// given to each machine and what that asks for, what the broker is asked and what it does,
// and what befalls processes. It believes nothing else: no state of a machine.
type Checker struct {
	policy  protocol.Policy
	lease   protocol.Duration
	queue   *model.Queue
	broker  *model.Broker
	reasons [Count]string // why an invariant is not promised in this run; empty: it is

	occasions [Count]int64 // at which it might have been broken
	broken    [Count]int64
	findings  []Finding

	procs   []process
	slots   []slot // of all processes
	perProc int
	jobs    model.Pages[job]
	ended   fifo[endedJob]
	keep    protocol.Duration

	leases   fifo[leaseEnd] // of claims, some of which are over or were renewed since
	patience protocol.Duration

	waiting []generationCount
	asking  bool // the broker handles request; otherwise it acts by itself
	request question
	steps   int64
	now     protocol.Instant
	local   protocol.Instant // of the process that is stepped
	event   protocol.Event   // that is given to it
	sent    uint16           // what it asked for in this step, see step.go
	grant   protocol.JobKey  // Granted: to the request that is out
	ending  int32            // the slot in which something came to its end in this step, or NoSlot
}

// New returns a checker for a world at its beginning.
func New(s Setup) *Checker {
	c := &Checker{
		policy: s.Preset.Policy, lease: s.Scenario.Queue.Lease, queue: &s.Scenario.Queue, broker: s.Broker,
		procs: make([]process, s.Seats), slots: make([]slot, s.Seats*s.Slots), perProc: s.Slots,
		keep:    s.Scenario.Queue.MaxMessageAge + s.Scenario.Faults.ForgetFor,
		reasons: NotPromised(s.Scenario, s.Preset), patience: patience(&s.Scenario.Queue, s.Preset.Rescue),
	}
	return c
}

// Verdict returns what was seen of an invariant so far.
func (c *Checker) Verdict(id ID) Verdict {
	switch {
	case c.broken[id] > 0:
		return Broken
	case c.occasions[id] > 0 && c.reasons[id] == "":
		return Held
	default:
		return Undecided
	}
}

// NotPromised returns why an invariant is not promised in this run, or nothing.
func (c *Checker) NotPromised(id ID) string { return c.reasons[id] }

// Occasions returns how often an invariant could have been broken.
func (c *Checker) Occasions(id ID) int64 { return c.occasions[id] }

// Times returns how often an invariant was seen to be broken.
func (c *Checker) Times(id ID) int64 { return c.broken[id] }

// Findings returns the first finding of each invariant, in order of time.
func (c *Checker) Findings() []Finding { return c.findings }

// Steps returns how many events were given to machines so far.
func (c *Checker) Steps() int64 { return c.steps }

// must counts an occasion of an invariant and reports whether it is broken there. What is
// said of it is made by the caller, who knows the case, with breaks.
func (c *Checker) must(id ID, holds bool) bool {
	c.occasions[id]++
	return !holds && c.reasons[id] == ""
}

// breaks takes down that an invariant is broken. The first time is kept.
func (c *Checker) breaks(id ID, job protocol.JobKey, seat int32, format string, args ...any) {
	c.broken[id]++
	if c.broken[id] == 1 {
		c.findings = append(c.findings, Finding{Invariant: id, At: c.now, Step: c.steps, Job: job, Seat: seat, Text: fmt.Sprintf(format, args...)})
	}
}

// question is what the broker was asked, as far as it is looked at.
type question struct {
	kind  protocol.EffectKind
	token protocol.Token
	seat  int32
	life  uint32
}
