package explore

import (
	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// tick is the unit of a small world: every duration is a small number of them, so that
// instants coincide as often as they can. It is also the window in which repeats of SIGTERM
// count as one.
const tick = protocol.Second

// Limits of a world; the arrays of a state have these lengths.
const (
	maxWorkers = 4
	maxSlots   = 2
	maxJobs    = 6
)

// Nudge is one thing that a person or a platform tells a worker.
type Nudge uint8

// Nudges. The first of those that stop starts the supervisor's clock: SIGKILL follows a
// grace later.
const (
	Term       Nudge = iota // SIGTERM
	Int                     // SIGINT
	Notice                  // a preStop hook or a spot notice
	Context                 // the context given to the driver is done
	Supervisor              // a message of the supervisor: stop
	Sooner                  // the same, and SIGKILL will come one tick earlier than it said
	Nearer                  // SIGKILL will come one tick earlier
	Later                   // SIGKILL will come one tick later
	Quiet                   // claim nothing
	Resume                  // the end of quiet; also SIGCONT, which means nothing elsewhere
	Regain                  // the way to the broker was gone and is there again
)

// Returns are ways, beside nil, in which a handler may come back at any time.
type Returns uint8

// Ways to return.
const (
	Yields  Returns = 1 << iota // hands the job back of its own accord
	Errors                      // an error without having been told to stop
	Fails                       // a failure, whatever it was told
	Tidy                        // with nothing left to undo, beside those with something left
	Loose                       // finished, and something is left to commit, though the claim is held
	UndoErr                     // not the handler: an undo hook fails
)

// Replacing says who is replaced by a new process in its seat.
type Replacing uint8

// Who is replaced.
const (
	ReplaceNobody  Replacing = iota
	ReplaceStopped           // who was told to stop, by newer code, some time after it has gone
	ReplaceAtOnce            // the same, at the instant at which it goes
)

// Kind is what the handlers of a kind of job declare.
type Kind struct{ Gap, Undo, Timeout int }

// World is a small world to search completely. Durations are whole ticks; handlers and undo
// hooks take as long as they like, messages up to MessageLife.
type World struct {
	Name, About string
	Large       bool // takes minutes

	Workers int
	Slots   int // per worker; 0 is one
	Jobs    int // all there from the start, claimed in order
	Foreign int // how many of them, the last, are of a version that nobody understands
	Others  int // how many of them, the last, are of the kind Other

	Lease, Heartbeat, Park, Grace, Reserve int
	Retry                                  int  // between repetitions; 0 is the least that can matter
	Kind                                        // of the jobs; Undo 0 is nothing to undo
	Other                                  Kind // of the last of them, if the world says so
	MessageLife                            int  // a message arrives within it or is lost
	Prompt                                 bool // answers take no time; requests still do

	Returns    Returns
	Saves      bool // a handler saves its progress, once per execution
	Boots      bool // a life begins with Register on the wire, which may go wrong
	Replace    Replacing
	Scripts    [][]Nudge
	Stops      int // workers that are told one of Scripts, step by step
	Crashes    int
	Pauses     int  // times that a process is stopped by SIGSTOP
	Pause      int  // how long at most
	PauseWhole bool // exactly so long
	Losses     int  // messages that are lost
	Duplicates int  // messages that arrive twice
	Errors     int  // calls of the broker that fail: carried out or not, the driver reports Unknown
	Cancels    int  // jobs that an operator cancels
	Estimates  int  // buckets of durations that a worker is told
	Lies       int  // answers that the broker never gave; what it says is then not compared any more

	NoWithdraw bool
	Limit      int // claims that are open at once; 0 is no limit
	Sweep      int // between two sweeps of a broker that frees nothing at the end of its lease
	Failovers  int // times that the broker goes on from a copy that lacks its last write
	Skew       int // by which the clocks of workers are behind the broker's
	Policy     protocol.Policy
	Deviations deviation.Set
}

// slots returns the slots of a worker.
func (w *World) slots() int { return max(w.Slots, 1) }

// kindOf returns the kind of a job.
func (w *World) kindOf(job protocol.JobKey) protocol.Kind {
	if int(job) > w.Jobs-w.Others {
		return 1
	}
	return 0
}

// declared returns what the handlers of a job declare.
func (w *World) declared(job protocol.JobKey) *Kind {
	if w.kindOf(job) == 1 {
		return &w.Other
	}
	return &w.Kind
}

func (k Kind) config() protocol.KindConfig {
	return protocol.KindConfig{Gap: ticks(k.Gap), Undo: ticks(k.Undo), Timeout: ticks(k.Timeout)}
}

func ticks(n int) protocol.Duration { return protocol.Duration(n) * tick }

// machine returns what the machines are told.
func (w *World) machine() protocol.Config {
	retry := ticks(max(w.Retry, 2*w.MessageLife, 1))
	kinds := []protocol.KindConfig{w.Kind.config()}
	if w.Others > 0 {
		kinds = append(kinds, w.Other.config())
	}
	return protocol.Config{
		Policy: w.Policy, Queues: 1, NoWithdraw: w.NoWithdraw,
		Kinds: kinds,
		Lease: ticks(w.Lease), Heartbeat: ticks(w.Heartbeat), Margin: tick,
		Park: ticks(w.Park), Reply: ticks(max(2*w.MessageLife, 1)),
		Poll: protocol.Backoff{Min: tick, Max: tick}, Retry: protocol.Backoff{Min: retry, Max: retry},
		RefuseDelay: tick, BusyDelay: tick, Grace: ticks(w.Grace), Reserve: ticks(w.Reserve), Deviations: w.Deviations,
	}
}

// broker returns what the broker is told. Rows stay: a job that is done is part of the state.
func (w *World) broker() model.BrokerConfig {
	cfg := model.BrokerConfig{
		Lease: ticks(w.Lease), Park: ticks(w.Park), MaxFailures: 2, Poison: 3,
		Backoff:       protocol.Backoff{Min: tick, Max: tick},
		MaxMessageAge: protocol.Forever, Deviations: w.Deviations,
		Habits: model.Habits{MaxClaims: w.Limit},
	}
	if w.Sweep > 0 {
		cfg.Rescue, cfg.SweepPeriod, cfg.SweepSlack = model.RescueBySweep, ticks(w.Sweep), tick
	}
	if w.Failovers > 0 {
		cfg.Journal = tick
	}
	return cfg
}
