package invariant

import (
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// This file is what a checker remembers of the world: no more than what can be seen from
// outside of the machines.

// process is one seat and the life in it.
type process struct {
	cfg   *protocol.Config
	life  uint32
	gen   uint32
	drift int64
	up    bool

	quietSince  protocol.Instant // since when it has been scheduled without a gap
	standsUntil protocol.Instant // it stands still, or is kept busy, until then
	stood       bool             // since its stop
	asked       uint64           // the newest claim request
	askedAt     protocol.Instant // local: its first attempt
	withdrawn   uint64           // the newest request that was withdrawn
	open        bool             // asked was neither answered nor withdrawn
	closing     bool             // its withdrawing is not answered
	gaveBack    bool             // a job that it brought was not run
	parked      bool             // the broker keeps asked waiting
	holds       int32            // claims that are open at the broker
	stopping    bool             // its machine was told to stop, or stopped by itself
	going       bool             // it told the broker
	ledger      bool             // a ledger was begun
	owed        int32            // lines of the ledger that are to come, for requests
	tight       bool             // less than the reserve was left when SIGKILL was last heard of
	stopAt      protocol.Instant // local
	killAt      protocol.Instant // local: as it was told
	termAt      protocol.Instant // local: the first SIGTERM of the newest group
	terms, ints uint8            // groups of SIGTERM, and SIGINTs
	nth         uint8            // which of its kind the signal of this step is; 0 is a repeat that does not count
	signal      protocol.Signal  // of this step
	exited      bool
	status      uint8 // of the exit
	past        [2]pastLife
}

// pastLife is what must be known of a life when it is over.
type pastLife struct {
	life   uint32
	gen    uint32
	silent bool // it drained and did not say that it was going
	clean  bool // it exited with status 0
}

// slot is one place for a job, as its handler and the wire show it.
type slot struct {
	job       protocol.JobKey
	token     protocol.Token
	started   beat             // of the handler
	renewed   beat             // when the last renewal was sent, and
	before    beat             // the one before it
	trust     protocol.Instant // local: until when a careful worker trusts the lease, by the answers it got in time
	settled   protocol.Instant // when its settling was last sent
	until     protocol.Instant // local: the end of its undo's slice
	pending   protocol.Cursor  // what its handler saved last, until it is stored
	kind      protocol.Kind
	cause     protocol.Cause
	code      protocol.Code   // how its handler returned, and
	clean     bool            // whether it left nothing behind
	verb      protocol.Verb   // its settling, as it was last sent
	reason    protocol.Reason // with verb
	judged    protocol.Code   // how its settling was answered, or a renewal that ended it
	returned  bool            // its handler
	undone    bool            // its undo has begun
	lost      bool            // the worker noted that it lost the claim
	runs      bool            // its handler
	undoes    bool            // its undo hooks run
	settles   bool            // its settling was sent and is not answered
	offered   bool            // its settling was sent
	told      bool            // its handler was cancelled
	softly    bool            // its handler was told that the worker drains
	shared    bool            // its undo may still begin shared hooks
	taken     bool            // the worker was told that the claim is somebody else's, or ended
	failedAll bool            // undo failed
	owed      bool            // a line of the ledger is to come
}

func (s *slot) free() bool { return !s.runs && !s.undoes && !s.settles }

// job is one job as the broker's facts show it.
type job struct {
	token    protocol.Token   // of the newest claim
	lease    protocol.Instant // its end, counted here
	ended    protocol.Instant // over: when it came to its end, of several the last
	finished protocol.Token   // the newest under which a handler returned nil
	blamed   protocol.Token   // the newest under which a handler failed by itself
	seat     int32
	life     uint32
	gen      uint32
	failures uint16 // that its handlers made
	open     bool
	over     bool // it came to an end
}

// endedJob is a job that may be forgotten some time after.
type endedJob struct {
	at  protocol.Instant
	job protocol.JobKey
}

// generationCount is how many claim requests of workers of a generation wait.
type generationCount struct {
	gen uint32
	n   int32
}

// beat is an instant by the broker's clock, and by that of the process.
type beat struct{ at, local protocol.Instant }

// trustFrom returns until when a careful worker trusts a lease that was surely not granted
// before an instant of its clock (rule 10).
func (p *process) trustFrom(since protocol.Instant) protocol.Instant {
	k := p.cfg
	return since.Add(k.Lease - k.Lease/1_000_000*protocol.Duration(k.DriftPPM) - k.Lease%1_000_000*protocol.Duration(k.DriftPPM)/1_000_000 - k.Margin)
}

func (c *Checker) slotsOf(seat int32) []slot {
	return c.slots[int(seat)*c.perProc : (int(seat)+1)*c.perProc]
}

// slotAt returns a slot of a process, or nil when there is no such one.
func (c *Checker) slotAt(seat, i int32) *slot {
	if i < 0 || int(i) >= c.perProc {
		return nil
	}
	return &c.slots[int(seat)*c.perProc+int(i)]
}

// running returns the slot of a process in which something is done under a claim.
func (c *Checker) running(seat int32, key protocol.JobKey, token protocol.Token) *slot {
	all := c.slotsOf(seat)
	for i := range all {
		if s := &all[i]; s.job == key && s.token == token && (s.runs || s.undoes) {
			return s
		}
	}
	return nil
}

// Up begins the life of a process. cfg is its machine's and drift that of its clock, in parts
// per million.
func (c *Checker) Up(now protocol.Instant, m model.Member, cfg *protocol.Config, drift int64) {
	c.now = now
	p := &c.procs[m.Seat]
	*p = process{
		cfg: cfg, life: uint32(m.Nonce), gen: m.Generation, drift: drift, up: true, quietSince: now,
		stopAt: protocol.Never, killAt: protocol.Never, past: p.past,
	}
	clear(c.slotsOf(m.Seat))
}

// StandsStill says that a process takes nothing in until an instant, and that its timers do
// not fire: it is paused, or kept busy.
func (c *Checker) StandsStill(now protocol.Instant, seat int32, until protocol.Instant) {
	p := &c.procs[seat]
	p.standsUntil = max(p.standsUntil, until)
	p.quietSince = max(p.quietSince, p.standsUntil)
	p.stood = true
}

// scheduled reports whether a process has been running all the time since an instant.
func (p *process) scheduled(since, now protocol.Instant) bool {
	return p.up && p.quietSince <= since && p.standsUntil < now
}

// HowEnded is the way in which a process ended.
type HowEnded uint8

// Ways to end.
const (
	Exited HowEnded = iota // by itself
	Killed                 // by its supervisor
	Crashed
)

// Ended ends the life of a process. local is its clock.
func (c *Checker) Ended(now, local protocol.Instant, seat int32, how HowEnded) {
	c.now = now
	p := &c.procs[seat]
	if !p.up {
		return
	}
	if how == Killed {
		c.killed(local, seat, p)
	}
	p.past[1] = p.past[0]
	p.past[0] = pastLife{life: p.life, gen: p.gen, silent: p.stopping && !p.going, clean: how == Exited && c.exitedClean(seat)}
	c.unpark(p)
	p.up, p.holds = false, 0
	clear(c.slotsOf(seat))
}

// lifeOf returns what is known of a life that is over, or nil.
func (p *process) lifeOf(life uint32) *pastLife {
	for i := range p.past {
		if p.past[i].life == life && life != 0 {
			return &p.past[i]
		}
	}
	return nil
}

// Enqueued adds a job.
func (c *Checker) Enqueued(now protocol.Instant, key protocol.JobKey) {
	c.now = now
	c.forget(now)
	c.jobs.Put(uint64(key))
}

// forget drops jobs that ended long enough ago.
func (c *Checker) forget(now protocol.Instant) {
	for !c.ended.empty() && c.ended.first().at.Add(c.keep) < now {
		e := c.ended.first()
		c.ended.drop()
		if j := c.jobs.Get(uint64(e.job)); j != nil && j.over && j.ended == e.at { // it may have ended again since
			c.jobs.Drop(uint64(e.job))
		}
	}
}

func (c *Checker) end(key protocol.JobKey, j *job) {
	j.over, j.ended = true, c.now
	c.ended.push(endedJob{c.now, key})
}

// park and unpark keep count of who waits, by generation; there are never more than a few.
func (c *Checker) park(p *process) {
	if p.parked {
		return
	}
	p.parked = true
	for i := range c.waiting {
		if c.waiting[i].gen == p.gen {
			c.waiting[i].n++
			return
		}
	}
	for i := range c.waiting {
		if c.waiting[i].n == 0 {
			c.waiting[i] = generationCount{p.gen, 1}
			return
		}
	}
	c.waiting = append(c.waiting, generationCount{p.gen, 1})
}

func (c *Checker) unpark(p *process) {
	if !p.parked {
		return
	}
	p.parked = false
	for i := range c.waiting {
		if c.waiting[i].gen == p.gen {
			c.waiting[i].n--
			return
		}
	}
}

func (c *Checker) somebodyWaits() bool {
	for i := range c.waiting {
		if c.waiting[i].n > 0 {
			return true
		}
	}
	return false
}

func (c *Checker) waitsNewer(than uint32) bool {
	for i := range c.waiting {
		if c.waiting[i].gen > than && c.waiting[i].n > 0 {
			return true
		}
	}
	return false
}
