package protocol

// SlotState is where the execution of one job stands.
type SlotState uint8

// Slot states with their exits. The package comment has the whole table.
const (
	SlotFree      SlotState = iota // → Running, Settling
	SlotRunning                    // → Settling, Undoing, Cancelled, Zombie, Leaked
	SlotCancelled                  // told to stop, not back yet → Settling, Undoing, Zombie, Leaked
	SlotUndoing                    // handler back, undo hooks run → Settling, Free, Zombie, Leaked
	SlotSettling                   // the broker is told how the claim ends → Free, Zombie, Leaked
	SlotZombie                     // handler or undo runs on, claim gone → Settling, Undoing, Free, Leaked
	SlotLeaked                     // left behind by a worker that is gone; final

	slotStates
)

// Slot is one place for a job. Its memory belongs to the driver, its content to the machine.
type Slot struct {
	job      JobKey
	token    Token
	progress Instant // of the last stored cursor, or the start
	trust    Instant // the end of the trust in the lease
	asked    Instant // renewing: when the oldest unanswered renewal was sent
	mark     Instant // Running: its start; Undoing: its limit; Cancelled, Zombie: the cancel
	cursor   Cursor  // waiting to be stored; 0 is none
	kind     Kind
	queue    uint8
	state    SlotState
	verb     Verb   // Undoing: what follows; Settling and after: what was sent
	reason   Reason // with verb
	cause    Cause  // Cancelled, Zombie
	missed   uint8  // renewals in a row without a good answer
	flags    slotFlags
}

type slotFlags uint16

const (
	lost       slotFlags = 1 << iota // Undoing, Settling: the claim is not trusted any more; no renewals
	superseded                       // a newer token is known: nothing is offered
	undoRuns                         // Settling: the undo hooks still run
	renewing                         // a renewal is out
	fresh                            // Settling: sent since the last retry round
	inLedger                         // open at the stop: owes a line
	late                             // granted after the stop
	leaking                          // the end of its undo slice was noted
	answered                         // Zombie: its settling was; NoVerb: its claim had ended elsewhere
)

func (s *Slot) has(f slotFlags) bool { return s.flags&f != 0 }
func (s *Slot) set(f slotFlags)      { s.flags |= f }
func (s *Slot) clear(f slotFlags)    { s.flags &^= f }

// State returns where the slot's execution stands.
func (s *Slot) State() SlotState { return s.state }

// Job returns the job in the slot; it means nothing in a Free slot.
func (s *Slot) Job() JobKey { return s.job }

// Token returns the fencing token of the slot's claim, 0 in a Free slot.
func (s *Slot) Token() Token { return s.token }

// Kind returns the kind of the slot's job.
func (s *Slot) Kind() Kind { return s.kind }

// TrustEnd returns the instant at which the machine stops trusting the lease.
func (s *Slot) TrustEnd() Instant { return s.trust }

// handlerRuns reports whether a handler that was started here has not returned.
func (s *Slot) handlerRuns() bool {
	return s.state == SlotRunning || s.state == SlotCancelled || s.state == SlotZombie && !s.has(undoRuns)
}

// undoTrusts reports whether undo hooks that outlived their slice run on under shared names,
// which is theirs to do only while the claim is held (rule 7).
func (s *Slot) undoTrusts() bool {
	return s.state == SlotSettling && s.has(undoRuns) && !s.has(lost)
}

// renewable reports whether the claim is to be kept alive (rules 4 and 9): from the grant
// until it is settled or lost, whatever the handler does.
func (s *Slot) renewable() bool {
	switch s.state {
	case SlotRunning, SlotCancelled, SlotUndoing, SlotSettling:
		return !s.has(lost)
	default:
		return false
	}
}

// Request is one queue's claim request. Its memory belongs to the driver.
type Request struct {
	seq     uint64  // of the newest request; ids never repeat within an incarnation
	sent    Instant // of its first attempt
	due     Instant // None: not before; Asked: the timeout; Withdrawing: the next attempt
	want    int32
	granted int32
	state   RequestState
	tries   uint8 // attempts made in this state
	empties uint8 // empty answers in a row

	handedBack bool // a job it was granted was not run
	inLedger   bool // open at the stop: owes a line
}

// RequestState is where a queue's claim request stands.
type RequestState uint8

// Request states.
const (
	RequestNone        RequestState = iota // nothing is out
	RequestAsked                           // its answer counts
	RequestWithdrawing                     // its answer does not count any more (rule 3)

	requestStates
)

// State returns where the request stands.
func (r *Request) State() RequestState { return r.state }

// Seq returns the number of the newest request.
func (r *Request) Seq() uint64 { return r.seq }

// Memory is what a machine works in. The driver owns it, so that the machines of a whole
// world can lie in one arena and be cloned by a copy.
type Memory struct {
	Slots      []Slot
	Requests   []Request   // one per queue
	Histograms *Histograms // may be nil unless estimates are used

	// Present is for machines with many slots, which then need not look through all of them for
	// each grant. It says nothing that the slots do not say, and may be nil.
	Present *Present
}

// manySlots is from where on looking through all slots costs more than keeping Present.
const manySlots = 64

// NewMemory allocates memory for one machine.
func NewMemory(cfg *Config, slots int) Memory {
	mem := Memory{Slots: make([]Slot, slots), Requests: make([]Request, cfg.Queues), Histograms: NewHistograms(cfg)}
	if slots >= manySlots {
		mem.Present = NewPresent(slots)
	}
	return mem
}
