package protocol

import (
	"errors"
	"fmt"

	"github.com/quiesce/quiesce/internal/deviation"
)

// Config is what a machine is told once. Machines share it and never write to it.
type Config struct {
	Policy Policy
	Kinds  []KindConfig // by Kind; a job of a kind beyond them is refused
	Queues int          // queues claimed from; at least 1

	Lease     Duration // length of a lease, as granted by the broker
	Heartbeat Duration // interval between two rounds of renewal
	Margin    Duration // trust ends this much before the lease does
	DriftPPM  int64    // how far the two clocks may run apart, in parts per million

	Park        Duration // how long the broker may keep a claim request waiting
	Reply       Duration // how long any other answer may take before it counts as silence
	Poll        Backoff  // between claim requests that came back empty
	Retry       Backoff  // between repetitions of Register, Withdraw and Settle
	RefuseDelay Duration // before a refused job may be claimed again
	BusyDelay   Duration // before a job may be claimed again of which an execution still runs here
	NoWithdraw  bool     // the broker cannot take a claim request back

	// SettlesFirst: what is settled before a claim request is sent is carried out and answered
	// before that request. Jobs are then asked for also for the slots that settle, and both
	// travel together.
	SettlesFirst bool

	Grace   Duration // time from the stop to SIGKILL when the stop does not say it
	Reserve Duration // the part of the grace kept for settling, flush and exit

	Deviations deviation.Set // empty outside of checks
}

// KindConfig is what a machine knows of one job kind.
type KindConfig struct {
	MinVersion, MaxVersion uint16   // payload versions understood, both included
	Gap                    Duration // longest time between two checks for cancellation
	Undo                   Duration // time the undo hooks may take
	Timeout                Duration // limit of one execution; 0 is none
}

// Backoff is an exponential backoff: Min, doubled with every repetition, at most Max, each
// shortened by up to half by jitter.
type Backoff struct{ Min, Max Duration }

// Defaults of Config, as WithDefaults fills them in.
const (
	DefaultLease     = 5 * Minute
	DefaultPark      = 20 * Second // the longest long poll of common brokers
	DefaultReply     = 1 * Second
	DefaultBusyDelay = 5 * Second
	DefaultRefuse    = 5 * Second

	// Reserve: a sixth of the grace, bounded so that a short grace keeps some and a long
	// one does not waste it.
	MinReserve = 500 * Millisecond
	MaxReserve = 5 * Second
)

// WithDefaults returns a copy in which every zero that has a default is filled in: queues
// 1, lease 5 m, heartbeat a third of the lease, margin a fiftieth of the lease but at most
// 1 s, long poll 20 s, reply 1 s, polling 100 ms to 2 s, retrying 200 ms to 2 s, refusals
// and busy jobs back after 5 s, reserve a sixth of the grace within 0.5 s and 5 s. Grace has
// none: nobody but the supervisor knows it.
func (c Config) WithDefaults() Config {
	set := func(d *Duration, v Duration) {
		if *d == 0 {
			*d = v
		}
	}
	if c.Queues == 0 {
		c.Queues = 1
	}
	set(&c.Lease, DefaultLease)
	set(&c.Heartbeat, c.Lease/3)
	set(&c.Margin, min(c.Lease/50, Second))
	set(&c.Park, DefaultPark)
	set(&c.Reply, DefaultReply)
	set(&c.Poll.Min, 100*Millisecond)
	set(&c.Poll.Max, max(c.Poll.Min, 2*Second))
	set(&c.Retry.Min, 200*Millisecond)
	set(&c.Retry.Max, max(c.Retry.Min, 2*Second))
	set(&c.RefuseDelay, DefaultRefuse)
	set(&c.BusyDelay, DefaultBusyDelay)
	set(&c.Reserve, min(max(c.Grace/6, MinReserve), MaxReserve))
	return c
}

// Validate reports everything about c that cannot work, joined.
func (c Config) Validate() error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("protocol: "+format, args...))
		}
	}
	refuse(c.Queues < 1 || c.Queues > 255, "queues %d must be between 1 and 255", c.Queues)
	refuse(c.Lease <= 0, "lease %v must be positive", c.Lease)
	refuse(c.Heartbeat <= 0, "heartbeat %v must be positive", c.Heartbeat)
	refuse(c.Heartbeat >= c.Lease, "heartbeat %v must be shorter than lease %v; a third of the lease survives one lost renewal", c.Heartbeat, c.Lease)
	refuse(c.DriftPPM < 0 || c.DriftPPM >= 500_000, "drift %d ppm must be between 0 and 499999", c.DriftPPM)
	refuse(c.Margin < 0 || c.Trusted() <= 0, "margin %v must be within lease %v less a drift of %d ppm; no lease would be trusted for an instant", c.Margin, c.Lease, c.DriftPPM)
	refuse(c.Reply <= 0, "reply timeout %v must be positive", c.Reply)
	refuse(c.Park < 0, "long poll %v must not be negative", c.Park)
	refuse(c.Poll.Min <= 0 || c.Poll.Max < c.Poll.Min, "poll backoff %v to %v must be positive and rising", c.Poll.Min, c.Poll.Max)
	refuse(c.Retry.Min <= 0 || c.Retry.Max < c.Retry.Min, "retry backoff %v to %v must be positive and rising", c.Retry.Min, c.Retry.Max)
	refuse(c.RefuseDelay < 0 || c.BusyDelay < 0, "delays of refused jobs %v and busy jobs %v must not be negative", c.RefuseDelay, c.BusyDelay)
	refuse(c.Reserve < 0, "reserve %v must not be negative", c.Reserve)
	p := &c.Policy
	refuse(p.OnStop > IgnoreOnStop || p.LateClaim > RunLateClaimIfShort || p.Deadline > DeadlineFromConstant || p.AtDeadline > DieAtDeadline || p.Estimates > Adaptive,
		"policy %+v has a choice that does not exist; take the constants of this package", *p)
	if c.Policy.Deadline == DeadlineFromBudget && c.Policy.OnStop != DieOnStop && c.Policy.OnStop != IgnoreOnStop {
		refuse(c.Grace <= 0, "grace is not known; give what the supervisor allows between SIGTERM and SIGKILL")
		refuse(c.Grace > 0 && c.Reserve >= c.Grace, "grace %v must exceed reserve %v; raise grace or lower reserve", c.Grace, c.Reserve)
		for k, kind := range c.Kinds {
			need := c.Closing(kind)
			refuse(c.Grace > c.Reserve && need > c.Grace, "kind %d needs gap %v + undo %v + reserve %v = %v, more than grace %v; check for cancellation more often, undo faster, or raise grace",
				k, kind.Gap, kind.Undo, c.Reserve, need, c.Grace)
		}
	}
	refuse(c.Policy.Deadline == DeadlineFromConstant && c.Policy.Constant <= 0, "the constant deadline %v must be positive", c.Policy.Constant)
	for k, kind := range c.Kinds {
		refuse(kind.Gap < 0 || kind.Undo < 0 || kind.Timeout < 0, "kind %d: gap %v, undo %v and timeout %v must not be negative", k, kind.Gap, kind.Undo, kind.Timeout)
	}
	return errors.Join(errs...)
}

// Closing returns the part of a grace that handlers of a kind cannot use: it is theirs to
// notice the cancellation and to undo, and the reserve (rule 5). A grace must hold it, and what
// it holds beyond is what a job may still run after the stop.
func (c *Config) Closing(kind KindConfig) Duration {
	return Duration(Instant(kind.Gap).Add(kind.Undo).Add(c.Reserve)) // saturated
}

// Trusted returns how long a lease is trusted after the instant from which it counts: to its end
// by a clock that may run apart, less the margin (rule 10).
func (c *Config) Trusted() Duration { return c.Lease.less(c.DriftPPM) - c.Margin }

// OverlapPossible reports whether two executions of a kind may run at once although every
// rule is kept: its handler may look for cancellation too seldom for the lease (rule 10).
func (c *Config) OverlapPossible(kind Kind) bool {
	return c.Heartbeat+c.Kinds[kind].Gap >= c.Trusted()
}
