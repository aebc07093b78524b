package sim

import (
	"fmt"
	"math/bits"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim/agenda"
	"github.com/quiesce/quiesce/sim/invariant"
)

// eventKind tags an event. The order is the order in which events of one instant fire.
type eventKind uint8

const (
	evArrival eventKind = iota
	evDeploy
	evCrash
	evPause
	evResume
	evPartition
	evSlow
	evFailover
	evEvict
	evPreempt
	evScaleIn
	evScaleBack
	evNodeFault
	evUp
	evTerm
	evContinue
	evNotice
	evKill
	evRequest
	evHangup
	evBroker
	evAnswer
	evHandler
	evOutOfMemory
	evSave
	evUndo
	evTick
	evReconnect // from here on the last, so that the others keep their numbers in trace hashes
	evServe
	evBeat
	evCount
)

// event is one pending event. One for an earlier life of a seat is void, and so is one for an
// earlier turn of a slot. It has no more than four fields: with more of them it is not kept in
// registers, and every time it is handed on costs a round through memory.
type event struct {
	whom
	// what says more: of a slot's events its turn; evRequest, evHangup, evAnswer: the place of
	// the content, as of evServe, evBeat and evCount; evArrival: the kind; evTerm: the signal; evScaleBack: how many;
	// evNodeFault: its number in the scenario.
	what uint32
	slot int16
	kind eventKind
}

// whom says for whom an event is: a life of a seat.
type whom struct {
	seat int32
	life uint32
}

// turn returns the turn of a slot that an event is for, or 0 when it is for none.
func (e *event) turn() uint32 {
	if e.kind >= evHandler && e.kind <= evUndo {
		return e.what
	}
	return 0
}

// answerNode is one event of an answer on its way to a worker; next is the place plus one of
// what is delivered right after it, or 0.
type answerNode struct {
	event protocol.Event
	next  uint32
}

// World is one run of a scenario under one policy with one seed.
type World struct {
	sc       *model.Scenario
	preset   model.Preset
	rnd      Random
	now      protocol.Instant
	end      protocol.Instant
	queue    agenda.Agenda[event]
	requests wire[model.Request]
	answers  wire[answerNode]

	broker     *model.Broker
	brokerTick protocol.Instant // of the one tick that counts
	brokerFree protocol.Instant // when the last call in line will have been served
	out        model.Outbox
	fx         *protocol.Effects
	slowUntil  protocol.Instant

	configs [2]protocol.Config // of generation 0, and of all later ones
	fleet   fleet
	arrival arrivals
	batches batches
	faults  nodeFaults
	calm    bool             // nothing goes wrong any more
	forkAt  protocol.Instant // from here on chance is another
	fork    uint64           // the seed of it
	learned []uint32         // finished executions by kind and bucket, for adaptive drains

	meter    *meter.Meter
	count    int64
	hash     uint64
	large    bool // it pays to foresee
	observer func(Observation)
	check    *invariant.Checker
	cut      func(*process, *protocol.Effect) bool // tests: the process dies instead of carrying this out
}

// NewWorld returns a world at its beginning. overrides may be nil.
func NewWorld(sc *model.Scenario, preset model.Preset, seed uint64, overrides map[Address]uint64) (*World, error) {
	w := &World{
		sc: sc, preset: preset, rnd: NewRandom(seed, overrides),
		end: protocol.Instant(sc.Duration), brokerTick: protocol.Never,
		fx:      protocol.NewEffects(sc.Fleet.Claims(), 1),
		learned: make([]uint32, len(sc.Jobs)*protocol.BucketsPerKind),
		hash:    seed,
		forkAt:  protocol.Never,
	}
	w.configure()
	w.fleet.init(sc)
	w.large = w.fleet.seats >= vast
	bc := brokerConfig(sc, preset, w.configs[0].Park)
	w.broker = model.NewBroker(&bc, w.fleet.seats, sc.Fleet.Claims())
	w.meter = meter.New(meter.Window{
		From: protocol.Instant(sc.Warmup), Until: w.end, Cooldown: cooldown(sc),
		Keep: bc.MaxMessageAge + bc.Journal,
	})
	if err := w.arrival.open(w); err != nil {
		return nil, err
	}
	if err := w.faults.open(w); err != nil {
		w.arrival.close()
		return nil, err
	}
	w.scheduleFaults()
	w.scheduleGivenFaults()
	w.scheduleDeploys()
	for range sc.Fleet.Workers {
		w.startProcess()
	}
	return w, nil
}

// Observe makes f see everything that happens from now on. It must not keep what it is
// shown.
func (w *World) Observe(f func(Observation)) { w.observer = f }

// Run runs the world to its end and returns what was measured. stop is asked now and then
// whether to give up; it may be nil.
func (w *World) Run(stop func() bool) (*meter.Row, error) {
	defer w.arrival.close()
	defer w.faults.close()
	if err := w.runTo(w.end, stop); err != nil {
		return nil, err
	}
	return w.finish(), nil
}

// runTo runs every event up to an instant.
func (w *World) runTo(until protocol.Instant, stop func() bool) error {
	for w.queue.Len() > 0 {
		if w.queue.Turn() && w.large {
			w.foresee(w.queue.Near())
		}
		if w.queue.Peek() > until {
			break
		}
		next := w.queue.Pop()
		w.now = next.At
		e := next.What
		w.count++
		if w.now >= w.forkAt {
			w.rnd.Reseed(w.fork)
			w.forkAt = protocol.Never
		}
		if err := w.dispatch(e); err != nil {
			return err
		}
		if w.count&0xffff == 0 && stop != nil && stop() {
			return ErrStopped
		}
	}
	w.now = until
	return nil
}

// TraceHash identifies everything that happened so far.
func (w *World) TraceHash() uint64 { return w.hash }

// Pending returns how many events are queued.
func (w *World) Pending() int { return w.queue.Len() }

// Now returns the simulated instant.
func (w *World) Now() protocol.Instant { return w.now }

func (w *World) at(t protocol.Instant, e event) {
	w.queue.Push(max(t, w.now), uint8(e.kind), e)
}

// stir mixes what happened into the trace hash.
func (w *World) stir(a, b, c uint64) {
	h := w.hash
	h = bits.RotateLeft64(h^a, 25) * 0x9fb21c651e98df25
	h = bits.RotateLeft64(h^b, 29) * 0x9e3779b97f4a7c15
	w.hash = bits.RotateLeft64(h^c, 31) * 0xd6e8feb86659fd93
}

func (w *World) dispatch(e event) error {
	w.stir(uint64(w.now), uint64(e.kind)<<48|uint64(uint32(e.seat))<<8|uint64(uint8(e.slot)), uint64(e.life)<<32|uint64(e.turn()))
	if w.calm && beginsTrouble(e.kind) {
		return nil
	}
	switch e.kind {
	case evArrival:
		return w.arrive(e)
	case evDeploy:
		w.deploy()
	case evCrash:
		w.onCrash(e)
	case evPause:
		w.onPause(e)
	case evPartition:
		w.onPartition(e)
	case evSlow:
		w.onSlow(e)
	case evFailover:
		w.onFailover(e)
	case evEvict:
		w.onEvict(e)
	case evPreempt:
		w.onPreempt(e)
	case evScaleIn:
		w.onScaleIn()
	case evScaleBack:
		w.onScaleBack(int(e.what))
	case evNodeFault:
		return w.onNodeFault(e)
	case evRequest:
		w.onRequest(e)
	case evServe:
		w.serve(e)
	case evHangup:
		w.onHangup(e)
	case evCount:
		w.onCount(e)
	case evBroker:
		w.onBrokerTick()
	default:
		w.dispatchToProcess(e)
	}
	return nil
}

// dispatchToProcess hands an event to the life it is for. A process that stands still, or
// that is kept busy, takes it in when it runs again; only SIGKILL and the like do not wait.
func (w *World) dispatchToProcess(e event) {
	p := w.fleet.at(e.seat)
	if p.life != e.life || p.state == seatEmpty {
		w.drop(e)
		return
	}
	w.deliver(p, e)
	if p.life == e.life && p.state == seatUp {
		w.attend(p)
	}
}

func (w *World) deliver(p *process, e event) {
	switch e.kind {
	case evUp:
		w.onUp(p)
		return
	case evKill:
		w.kill(p)
		return
	case evResume:
		w.onResume(p)
		return
	case evHandler:
		w.onHandler(p, e)
		return
	case evOutOfMemory:
		w.onOutOfMemory(p, e)
		return
	}
	if until := p.busyUntil(w.now); until > w.now {
		w.at(until, e)
		p.expect(w.now, until)
		return
	}
	switch e.kind {
	case evTerm:
		w.onTerm(p, protocol.Signal(e.what))
	case evContinue:
		w.onContinue(p)
	case evNotice:
		w.onNotice(p)
	case evAnswer:
		w.onAnswer(p, e)
	case evSave:
		w.onSave(p, e)
	case evUndo:
		w.onUndo(p, e)
	case evTick:
		w.onTick(p)
	case evBeat:
		req := w.requests.take(e.what)
		w.transmit(p, &req.Effect)
	case evReconnect:
		w.step(p, protocol.Event{Kind: protocol.Reconnected})
	}
}

// drop gives back what a void event carried.
func (w *World) drop(e event) {
	switch e.kind {
	case evBeat:
		w.requests.drop(e.what)
	case evAnswer:
		for place := e.what; place != 0; {
			place = w.answers.take(place - 1).next
		}
	}
}

func (w *World) finish() *meter.Row {
	live := w.fleet.progress(w.now)
	row := w.meter.Finish(func(job protocol.JobKey) (meter.Ending, protocol.Duration) {
		if w.large {
			w.foreseeEnding(job, live)
		}
		r := w.broker.Job(job)
		if r == nil {
			return meter.Ending{}, 0
		}
		done := protocol.Duration(r.Cursor)
		if here := live.Get(uint64(job)); here != nil {
			done = max(done, *here)
		}
		claimed, alive := r.State == model.JobClaimed, w.alive(r.Owner)
		return meter.Ending{
			Known:   w.preset.Rescue != model.LostWithHolder || !claimed || alive,
			Claimed: claimed,
			Alive:   alive,
			Rescued: w.preset.Rescue != model.NoRescue && r.Leased(),
			Cause:   w.causeOfSilence(r.Owner.Seat, r.Owner.Nonce),
		}, done
	})
	row.Counts[meter.Events] = w.count
	until := w.end.Add(-cooldown(w.sc))
	w.batches.measure(row, protocol.Instant(w.sc.Warmup), until)
	if w.observer != nil {
		w.tellUncounted(until)
	}
	row.TraceHash = w.hash
	row.Broken = w.breaches()
	return row
}

// cooldown is how long before the end interruptions are left out of stall.
func cooldown(sc *model.Scenario) protocol.Duration {
	if sc.Cooldown > 0 {
		return sc.Cooldown
	}
	return 2 * sc.Queue.Lease
}

// configure derives the workers' configurations from the scenario and the policy.
func (w *World) configure() {
	sc := w.sc
	base := sc.Queue.Timing()
	base.Policy, base.Deviations = w.preset.Policy, w.preset.Deviations
	base.Grace, base.Reserve = sc.Supervisor.WorkerGrace(), w.preset.Reserve
	base = base.WithDefaults()
	base.Park = max(base.Park, 0) // NoLongPoll
	if sc.Queue.InStep {
		base.Reply += sc.Queue.Poll                                                  // a claim waits that long for its tick
		base.Poll = protocol.Backoff{Min: sc.Queue.Poll / 2, Max: sc.Queue.Poll / 2} // and misses none
	}
	for generation := range w.configs {
		cfg := base
		cfg.Kinds = make([]protocol.KindConfig, len(sc.Jobs))
		for k := range sc.Jobs {
			j := &sc.Jobs[k]
			cfg.Kinds[k] = protocol.KindConfig{
				MinVersion: j.Version, MaxVersion: j.Version, Gap: j.Declared, Timeout: j.Timeout,
				Undo: j.Undo + j.Undo/4, // a careful author declares more than the hooks take
			}
			if generation > 0 {
				cfg.Kinds[k].MaxVersion = max(j.Version, j.NewVersion)
			}
		}
		w.configs[generation] = cfg
	}
}

func brokerConfig(sc *model.Scenario, p model.Preset, park protocol.Duration) model.BrokerConfig {
	q := &sc.Queue
	return model.BrokerConfig{
		Lease: q.Lease, Park: park, Rescue: p.Rescue,
		SweepPeriod: q.SweepPeriod, SweepSlack: q.SweepSlack, OnExpiry: q.OnExpiry,
		MaxFailures: q.MaxFailures, Poison: q.Poison, Starving: q.Starving,
		CountAtClaim: q.CountAtClaim, MaxAttempts: q.MaxAttempts, Backoff: q.Backoff,
		MaxMessageAge: q.MaxMessageAge, Journal: sc.Faults.ForgetFor, Habits: q.Habits, Deviations: p.Deviations,
	}
}

// ErrStopped reports a run that was given up before its end.
var ErrStopped = fmt.Errorf("sim: stopped before the end of the run")
