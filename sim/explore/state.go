package explore

import (
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// handState is what the code in a slot does.
type handState uint8

const (
	idle handState = iota
	working
	told // cancelled, not back yet
	undoing
	back   // it has just returned and left something
	undone // its undo has just ended
)

// hand is the code in a slot: a handler, or the undo hooks after it.
type hand struct {
	job      protocol.JobKey
	token    protocol.Token
	state    handState
	shared   bool           // undoing: also what other claims of the job may touch
	saved    bool           // it has saved its progress
	softened bool           // it was told of the drain
	excused  bool           // its process was paused, so that its lease may have ended
	pending  bool           // what it saved waits to be stored
	lost     bool           // its worker noted that it lost the claim
	cause    protocol.Cause // told: why
	way      int8           // it has just returned like that, counted from 1
	due      ending         // undoing: how its claim is to end after it
}

// worker is a seat: the life in it, and its machine with what that works in.
type worker struct {
	life
	machine    protocol.Machine
	slots      [maxSlots]protocol.Slot
	request    [1]protocol.Request
	histograms *protocol.Histograms
}

// life is what the world knows of a process, and what runs in it.
type life struct {
	hands       [maxSlots]hand
	member      model.Member
	killAt      protocol.Instant // the supervisor's SIGKILL
	pausedUntil protocol.Instant // when SIGCONT comes at the latest
	script      int8             // from 1 on; 0 is none
	next        int8             // the nudge of the script that comes next
	waiting     int8             // nudges before next that came while it was paused
	lives       uint8            // in this seat so far
	told        bool             // somebody stops it
	stopped     bool             // it was told to stop, and does
	owed        int8             // lines of the ledger that are still to come
	signalled   bool             // by an OS signal
	hurried     bool             // an OS signal was repeated
	shaken      bool             // it was paused, or SIGKILL was moved nearer
	tardy       bool             // a handler or its undo came back when it was too late to settle
	quiet       bool
	dead        bool
	clean       bool // dead: it exited by itself and said that it holds nothing
	paused      bool
}

// messageKind is which way a message goes.
type messageKind uint8

const (
	toBroker messageKind = iota
	toWorker
	hangup // the end of a connection
)

// message is on its way. What it is about is an effect's or an event's, by its kind.
type message struct {
	due    protocol.Instant // it arrives by then or never
	at     protocol.Instant // when the effect was asked for
	span   protocol.Duration
	seq    uint64
	job    protocol.JobKey
	token  protocol.Token
	cursor protocol.Cursor
	from   model.Member // toBroker, hangup
	grants [maxSlots + 1]grant
	want   int32
	slot   int32
	worker int8
	n      int8  // grants
	tag    uint8 // protocol.EffectKind or protocol.EventKind
	verb   protocol.Verb
	reason protocol.Reason
	code   protocol.Code
	kind   messageKind
	copied bool // it has been doubled

	// Where in the form that was read last it is, and in how many bytes. None says that it came
	// or changed since.
	place, size uint16
}

// grant is a job of a claim's answer.
type grant struct {
	job     protocol.JobKey
	token   protocol.Token
	version uint16
}

// The parts of a world's faults that are used up, by what they are.
const (
	stops = iota
	crashes
	pauses
	losses
	doubles
	failures
	cancels
	estimates
	lies
	failovers

	budgets
)

// jobSet is a set of jobs, one bit each.
type jobSet uint8

func setOf(job protocol.JobKey) jobSet        { return 1 << job }
func (s jobSet) has(job protocol.JobKey) bool { return s&setOf(job) != 0 }

// past is what happened so far, as far as invariants ask for it. It only grows, and decides nothing
// else.
type past struct {
	finished jobSet // a handler finished them
	failed   jobSet // a handler failed
	undone   jobSet // undo hooks ran for them
	ordered  jobSet // an operator cancelled them
	hurt     bool   // a crash, a pause, or a lost message may cost an expiry
}

func (p *past) add(q past) {
	p.finished |= q.finished
	p.failed |= q.failed
	p.undone |= q.undone
	p.ordered |= q.ordered
	p.hurt = p.hurt || q.hurt
}

// state is one state of a world.
type state struct {
	now      protocol.Instant
	broker   model.Broker
	workers  []worker
	messages []message
	used     [budgets]uint8
	past     past

	broken   Broken // what the last action broke
	news     past   // what it added to the past, or would have if that had not happened before
	touched  uint8  // workers whose process it changed, or reading
	wired    uint8  // workers whose messages it changed
	answered bool   // it changed the broker
	asked    bool   // what it did to a worker depends on what the broker knows
	unread   []byte // alone: the form of that, before it is looked at
}

// clean forgets what an action changed.
func (st *state) clean() {
	st.broken, st.news, st.touched, st.wired, st.answered, st.asked = Broken{}, past{}, 0, 0, false, false
}

// happens adds to the past.
func (st *state) happens(news past) {
	st.past.add(news)
	st.news.add(news)
}

// differs notes that st, which was a copy of from, is not in what reading has changed there.
func (st *state) differs(from *state) {
	st.touched |= from.touched
	st.wired |= from.wired
	st.answered = st.answered || from.answered
	from.clean()
}

// base is the instant at which every state begins that is read back. The clock of the broker
// is then far ahead of every token, so that tokens grow whatever it forgot.
const base = protocol.Instant(1000 * tick)

// memory is what a worker's machine works in.
func (e *engine) memory(w *worker) protocol.Memory {
	return protocol.Memory{Slots: w.slots[:e.slots], Requests: w.request[:], Histograms: w.histograms}
}

// histograms returns memory for what a machine is told of how long jobs take, if it is told.
func (e *engine) histograms() *protocol.Histograms {
	if e.world.Estimates == 0 {
		return nil
	}
	return protocol.NewHistograms(&e.cfg)
}

// copyWorker copies one worker of a state to another.
func (e *engine) copyWorker(from, to *worker) {
	to.life = from.life
	from.machine.CopyTo(&to.machine, e.memory(to))
}

// restore makes c equal to st again after one action.
func (e *engine) restore(st, c *state) {
	for i := range st.workers {
		if c.touched&(1<<i) != 0 {
			e.copyWorker(&st.workers[i], &c.workers[i])
		}
	}
	if c.answered {
		st.broker.CopyTo(&c.broker)
	}
	c.now = st.now
	if c.wired != 0 {
		c.messages = append(c.messages[:0], st.messages...)
	}
	e.parts.said, e.parts.calls = e.parts.said[:0], 0
	c.used, c.past = st.used, st.past
	c.clean()
}

// copyAll makes c an independent copy of st.
func (e *engine) copyAll(st, c *state) {
	c.touched, c.wired, c.answered = ^uint8(0), ^uint8(0), true
	e.restore(st, c)
}

// empty returns a state with room for a world, whose broker has the payloads of its jobs.
func (e *engine) empty() *state {
	b := model.NewBroker(&e.brokerCfg, e.world.Workers, e.slots)
	for j := range e.world.Jobs {
		version := uint16(0)
		if j >= e.world.Jobs-e.world.Foreign {
			version = 1
		}
		b.Enqueue(base, protocol.JobKey(j+1), e.world.kindOf(protocol.JobKey(j+1)), version, 0, &e.out)
	}
	e.out.Reset()
	st := &state{workers: make([]worker, e.world.Workers)}
	for i := range st.workers {
		st.workers[i].histograms = e.histograms()
	}
	b.CopyTo(&st.broker) // which is no larger than it has to be
	return st
}

// initial returns the state in which a world begins: every worker has just started.
func (e *engine) initial() *state {
	st := e.empty()
	st.now = base
	st.past.hurt = e.world.tolerated() < 0 // leases end by themselves
	for i := range st.workers {
		e.boot(st, i, 1)
	}
	return st
}

// boot begins a life in a seat. Unless the world says otherwise registration is over at
// once: it has no interesting orders.
func (e *engine) boot(st *state, i int, generation uint32) {
	w := &st.workers[i]
	st.touched |= 1 << i
	// The broker remembers two lives of a seat. Of an older one it has forgotten that it was
	// going, so that the end of its leases counts as poison (package model, what is left out).
	st.happens(past{hurt: w.lives >= 2})
	w.life = life{lives: w.lives + 1, killAt: protocol.Never, pausedUntil: protocol.Never}
	w.machine.Init(&e.cfg, e.memory(w), 0)
	w.member = model.Member{Seat: int32(i), Nonce: uint64(w.lives), Generation: generation}
	e.step(st, i, protocol.Event{Kind: protocol.Tick})
	if e.world.Estimates > 0 {
		e.step(st, i, e.estimate())
	}
	if e.world.Boots {
		return
	}
	e.arrive(st, st.last())
	if !e.world.Prompt { // or it has heard the answer by now
		e.arrive(st, st.last())
	}
}

// last takes the message off the wire that was put there last.
func (st *state) last() message { return st.take(len(st.messages) - 1) }
