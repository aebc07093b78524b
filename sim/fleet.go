package sim

import (
	"cmp"
	"slices"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
)

// fleet is the seats, and the rollout that replaces what is in them.
type fleet struct {
	seats  int                 // how many there may be
	taken  int                 // seats that have had a process: those from 0 on
	procs  model.Slab[process] // by seat; those that something has happened to
	empty  []int32             // seats that have had a process and have none, the next one to be taken last
	upAt   []protocol.Instant  // when the process in a seat began to run, where workers poll in step
	slots  int                 // for claims, of each process
	nobody body
	idle   []*body // of processes that have ended, or that have not come up
	bodies int     // made so far

	generation uint32 // of newly started processes
	deploys    int32  // rollouts begun
	rolling    bool
	began      protocol.Instant
	wanted     int // processes, less those that were scaled in
	scaled     uint64
	pods       model.Pods
	order      []int32 // seats in the order in which the rollout stops them
	first      int     // of order that may still have to be stopped

	gaps        [seatFaults]*dist.Table // between faults of a seat, by kind
	struck      [][seatFaults]uint32    // faults drawn so far, by seat and kind
	slowGap     *dist.Table
	failoverGap *dist.Table
	slowed      uint64
	failovers   uint64
}

func (f *fleet) init(sc *model.Scenario) {
	n := sc.Fleet.Workers
	// Processes that are being stopped keep their seats, so a rollout may need as many again.
	f.seats = 2*n + sc.Supervisor.Rollout.Surge(n)
	f.slots, f.wanted = sc.Fleet.Claims(), n
	if sc.Queue.InStep {
		f.upAt = make([]protocol.Instant, f.seats)
	}
}

// at returns a seat that is used.
func (f *fleet) at(seat int32) *process { return f.procs.At(uint32(seat)) }

// used returns how many seats are: those from 0 on.
func (f *fleet) used() int32 { return int32(f.procs.Places()) }

// use makes so many seats that may be used.
func (f *fleet) use(seats int) {
	for f.procs.Places() < seats {
		seat := f.procs.New()
		*f.procs.At(seat) = process{body: &f.nobody, seat: int32(seat), termAt: protocol.Never}
	}
}

// body returns a body for a process that comes up, with memory for its machine.
func (f *fleet) body(cfg *protocol.Config) *body {
	if len(f.idle) == 0 {
		f.makeBodies(cfg)
	}
	b := f.idle[len(f.idle)-1]
	f.idle = f.idle[:len(f.idle)-1]
	clear(b.execs)
	b.tickAt, b.visitAt, b.pausedUntil, b.blockedUntil = 0, 0, 0, 0
	return b
}

// singleSlot is a body with one slot.
type singleSlot struct {
	body
	slot [1]protocol.Slot
	exec [1]execution
}

// makeBodies makes a number of bodies that lie side by side: so many, unless the fleet is small, that
// the allocator gives them pages of their own, where those with one slot each begin with a line, and
// of which next to nothing is left over. A fleet that no rollout has doubled has no body too many.
func (f *fleet) makeBodies(cfg *protocol.Config) {
	const most = 1024
	many := min(128, f.seats)
	if missing := f.wanted - f.bodies; missing > 0 {
		many = min(most, missing)
	} else if f.seats >= vast {
		many = most
	}
	f.bodies += many
	if f.slots == 1 {
		all := make([]singleSlot, many)
		for i := range all {
			f.makeBody(cfg, &all[i].body, all[i].slot[:], all[i].exec[:])
		}
		return
	}
	bodies := make([]body, many)
	slots := make([]protocol.Slot, many*f.slots)
	execs := make([]execution, many*f.slots)
	for i := range bodies {
		from, to := i*f.slots, (i+1)*f.slots
		f.makeBody(cfg, &bodies[i], slots[from:to:to], execs[from:to:to])
	}
}

func (f *fleet) makeBody(cfg *protocol.Config, b *body, slots []protocol.Slot, execs []execution) {
	b.execs = execs
	b.machine.Init(cfg, protocol.Memory{Slots: slots, Requests: b.requests[:], Histograms: protocol.NewHistograms(cfg)}, 0)
	f.idle = append(f.idle, b)
}

// bury takes the body of a process that has ended.
func (f *fleet) bury(p *process) {
	if p.body != &f.nobody {
		f.idle = append(f.idle, p.body)
		p.body = &f.nobody
	}
}

// vacant returns the seat for a new process: the last that was left, or one that has had none yet.
// It returns nil when there is none.
func (f *fleet) vacant() *process {
	if last := len(f.empty) - 1; last >= 0 {
		seat := f.empty[last]
		f.empty = f.empty[:last]
		return f.at(seat)
	}
	if f.taken == f.seats {
		return nil
	}
	f.taken++
	f.use(f.taken)
	return f.at(int32(f.taken - 1))
}

// startProcess puts a new process of the present generation into an empty seat; it reports
// false when there is none left.
func (w *World) startProcess() bool {
	f := &w.fleet
	p := f.vacant()
	if p == nil {
		return false
	}
	p.stopping, p.termAt = false, protocol.Never
	w.beginLife(p, f.generation)
	return true
}

// beginLife starts a process in its seat.
func (w *World) beginLife(p *process, generation uint32) {
	if w.sc.Supervisor.Rollout.Strategy == model.OnDelete {
		generation = w.fleet.generation // whatever restarts is new
	}
	p.life++
	p.state = seatStarting
	p.sent, p.answered = 0, 0
	p.cause = meter.ByDeploy
	p.generation = generation
	w.recount(p)
	w.at(w.now.Add(startOf(w.sc, &w.rnd, p.seat, p.life)), event{kind: evUp, whom: p.whom()})
}

// gone empties a seat whose process ended for good.
func (w *World) gone(p *process, cause meter.Cause) {
	w.endLife(p, cause)
	if !p.stopping {
		w.beginLife(p, p.generation) // it left by itself: its supervisor starts it again
		return
	}
	p.stopping = false
	w.fleet.pods.Stopping--
	w.fleet.empty = append(w.fleet.empty, p.seat)
	w.advanceRollout()
	w.topUp()
}

// topUp starts what is missing from the fleet while no rollout does so: after the node, not
// the rollout, stopped a process. A StatefulSet waits until the seat is free.
func (w *World) topUp() {
	f := &w.fleet
	if f.rolling {
		return
	}
	there := f.pods.OldReady + f.pods.OldStarting + f.pods.NewReady + f.pods.NewStarting
	if w.sc.Supervisor.Rollout.Strategy == model.OneByOne {
		there += f.pods.Stopping
	}
	for ; there < f.wanted && w.startProcess(); there++ {
	}
}

// The rollout's view of the fleet changes with every change of a process: it is taken out
// of the count before and put in again after.

func (w *World) uncount(p *process) { w.tally(p, -1) }
func (w *World) recount(p *process) { w.tally(p, +1) }

func (w *World) tally(p *process, d int) {
	pods := &w.fleet.pods
	switch {
	case p.stopping || p.state == seatEmpty:
	case p.generation == w.fleet.generation && p.ready:
		pods.NewReady += d
	case p.generation == w.fleet.generation:
		pods.NewStarting += d
	case p.ready:
		pods.OldReady += d
	default:
		pods.OldStarting += d
	}
}

func (w *World) becomeReady(p *process) {
	w.uncount(p)
	p.ready = true
	w.recount(p)
	w.advanceRollout()
}

func (w *World) scheduleDeploys() {
	d := &w.sc.Deploys
	if d.Every > 0 {
		for k := 1; (d.Count == 0 || k <= d.Count) && protocol.Instant(d.Every)*protocol.Instant(k) < w.end; k++ {
			w.at(protocol.Instant(d.Every)*protocol.Instant(k), event{kind: evDeploy})
		}
	}
	for _, at := range d.At {
		if at < w.end {
			w.at(at, event{kind: evDeploy})
		}
	}
}

// deploy begins a rollout of a new generation. One that has not finished is overtaken.
func (w *World) deploy() {
	f := &w.fleet
	f.generation++
	f.deploys++
	f.pods = model.Pods{Stopping: f.pods.Stopping}
	f.order = f.order[:0]
	for i := range f.used() {
		p := f.at(i)
		w.recount(p)
		if p.state != seatEmpty && !p.stopping {
			f.order = append(f.order, p.seat)
		}
	}
	f.first = 0
	if w.sc.Supervisor.Rollout.Strategy == model.OneByOne {
		slices.SortFunc(f.order, func(a, b int32) int { return cmp.Compare(b, a) })
	} else {
		w.shuffle(f.order, StreamVictim, uint64(f.deploys))
	}
	f.rolling, f.began = true, w.now
	w.record(meter.Record{Kind: meter.RolloutBegan})
	w.advanceRollout()
}

// shuffle puts seats into the order that chance gives them.
func (w *World) shuffle(seats []int32, s Stream, n uint64) {
	type lot struct {
		drawn uint64
		seat  int32
	}
	lots := make([]lot, len(seats))
	for i, seat := range seats {
		lots[i] = lot{w.rnd.Draw(s, n, uint64(seat)), seat}
	}
	slices.SortFunc(lots, func(a, b lot) int { return cmp.Or(cmp.Compare(a.drawn, b.drawn), cmp.Compare(a.seat, b.seat)) })
	for i := range lots {
		seats[i] = lots[i].seat
	}
}

// advanceRollout makes the moves that the rollout's rules allow now.
func (w *World) advanceRollout() {
	f := &w.fleet
	n := f.wanted
	r := &w.sc.Supervisor.Rollout
	for f.rolling {
		if r.Done(n, f.pods) {
			f.rolling = false
			w.record(meter.Record{Kind: meter.RolloutFinished, Span: w.now.Sub(f.began)})
			return
		}
		move := r.Next(n, f.pods)
		moved := false
		for ; move.Start > 0 && w.startProcess(); move.Start-- {
			moved = true
		}
		for ; move.StopStarting > 0 && w.stopNext(false); move.StopStarting-- {
			moved = true
		}
		for ; move.StopReady > 0 && w.stopNext(true); move.StopReady-- {
			moved = true
		}
		if !moved {
			return
		}
	}
}

// stopNext stops the next old process that is ready, or that is not.
func (w *World) stopNext(ready bool) bool {
	f := &w.fleet
	for i := f.first; i < len(f.order); i++ {
		p := f.at(f.order[i])
		if p.stopping || p.state == seatEmpty || p.generation == f.generation {
			if i == f.first {
				f.first++
			}
			continue
		}
		if p.ready == ready {
			if w.large {
				w.foreseeSeats(f.order[i+1:]) // they are told at once
			}
			w.stopProcess(p)
			return true
		}
	}
	return false
}

// stopProcess lets the supervisor stop a process by its documented sequence, as far as
// nobody cuts it short.
func (w *World) stopProcess(p *process) {
	w.stopBy(p, w.cutShort(p, w.sc.Supervisor.Stop(w.now)), meter.ByDeploy)
}

// stopBy carries out a plan. From now on the process is not part of the fleet any more.
func (w *World) stopBy(p *process, plan model.StopPlan, cause meter.Cause) {
	w.uncount(p)
	p.stopping, p.cause = true, cause
	w.fleet.pods.Stopping++
	for _, at := range [...]protocol.Instant{plan.Term, plan.Again} {
		if at == protocol.Never {
			continue
		}
		w.at(at, event{kind: evTerm, whom: p.whom(), what: uint32(plan.Signal)})
		if plan.Continue {
			w.at(at, event{kind: evContinue, whom: p.whom()})
		}
	}
	if s := &w.sc.Supervisor; s.Tells && s.PreStop > 0 && plan.Term != protocol.Never {
		p.killAt = w.now.Add(s.Allowed()) // whatever may cut it short, nobody is told of it
		w.at(w.now, event{kind: evNotice, whom: p.whom()})
	}
	if plan.Kill != protocol.Never {
		w.at(plan.Kill, event{kind: evKill, whom: p.whom()})
	}
}

// alive reports whether the life behind a claim still runs.
func (w *World) alive(owner model.Member) bool {
	return w.fleet.at(owner.Seat).is(owner)
}

// progress returns how far the executions that run now have come, by job.
func (f *fleet) progress(now protocol.Instant) *model.Pages[protocol.Duration] {
	live := new(model.Pages[protocol.Duration])
	for i := range f.used() {
		if f.seats >= vast {
			f.foresee(f.at(min(i+ahead, f.used()-1)).body)
		}
		p := f.at(i)
		for k := range p.execs {
			if x := &p.execs[k]; x.runs() {
				job, done := uint64(p.slot(k).Job()), x.progress(p.worksAt(now))
				if other := live.Get(job); other == nil {
					*live.Put(job) = done
				} else {
					*other = max(*other, done)
				}
			}
		}
	}
	return live
}
