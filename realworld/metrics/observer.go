package metrics

import (
	"strconv"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// observer looks on at one worker. Every series it counts in is looked up once, at the
// beginning or at the first use, so that a step costs a few atomic additions.
type observer struct {
	metrics *Metrics
	setup   worker.Setup
	seat    string // of the label; empty without it
	kinds   []*kindSeries
	unknown *kindSeries // of jobs whose kind is not registered; made when there is one
	series  lifeSeries

	claims  []claim // by slot
	undoing int     // slots whose undo hooks run
	phase   protocol.Phase
	killAt  atomic.Int64 // read by scrapes
	stopAt  protocol.Instant
	drains  bool // a drain has begun
	exited  bool // the machine has said that it exits
	longest []protocol.Duration
}

// kindSeries are the series of one kind.
type kindSeries struct {
	jobs                                  [protocol.WasUnsettled + 1]prometheus.Counter
	returned                              [protocol.ReturnedPanic + 1]prometheus.Counter
	seconds                               prometheus.Observer
	ackedAfterCancel, leaking, leasesLost prometheus.Counter
}

// lifeSeries are those of the worker as a whole.
type lifeSeries struct {
	slots          [protocol.SlotLeaked + 1]prometheus.Gauge
	phases         [protocol.PhaseGone + 1]prometheus.Gauge
	interruptions  [protocol.BecauseCancelled + 1]prometheus.Counter
	cancels        [protocol.ErrCancelled + 1]prometheus.Counter
	ledger         [protocol.WasUnsettled + 1]prometheus.Counter
	drains         [protocol.FromSelf + 1]prometheus.Counter
	brokerErrors   [protocol.SettleAnswered + 1]prometheus.Counter // nil for events that are no answers
	renewalsMissed prometheus.Counter
	drainSeconds   prometheus.Observer
}

// jobOutcomes are those that a claim can have; the others are of claim requests.
var jobOutcomes = []protocol.Outcome{
	protocol.WasFinished, protocol.WasFailed, protocol.WasHandedBack, protocol.WasReleased, protocol.WasRefused,
	protocol.WasQuarantined, protocol.WasSuperseded, protocol.WasLost, protocol.WasLeaked, protocol.WasUnsettled,
}

// calls are the broker's operations by the event that answers them.
var calls = map[protocol.EventKind]string{
	protocol.Registered: "register", protocol.ClaimAnswered: "claim", protocol.WithdrawAnswered: "withdraw",
	protocol.RenewAnswered: "renew", protocol.SaveAnswered: "save", protocol.SettleAnswered: "settle",
}

// exitStatuses are all that a life can end with.
var exitStatuses = []int{protocol.ExitClean, protocol.ExitRefused, protocol.ExitLeaked, protocol.ExitUnsettled, protocol.ExitAtOnce}

// Begin looks up every series, so that all of them are there, at zero, from the start:
// Prometheus cannot see a counter rise that appears with its first value.
func (o *observer) Begin(setup worker.Setup, state worker.State) {
	m := o.metrics
	o.setup = setup
	if m.bySeat {
		o.seat = setup.Life.Seat
	}
	o.series = o.newLifeSeries()
	for k, name := range setup.Kinds {
		o.kinds = append(o.kinds, o.newKindSeries(name))
		m.gapAllowed.WithLabelValues(o.values(name)...).Set(seconds(allowedGap(setup.Config, k)))
		m.looked(gapKey{o.seat, name}, 0)
	}
	for _, status := range exitStatuses {
		m.exits.WithLabelValues(o.values(strconv.Itoa(status))...)
	}
	m.grace.WithLabelValues(o.values()...).Set(seconds(setup.Config.Grace))
	m.reserve.WithLabelValues(o.values()...).Set(seconds(setup.Config.Reserve))
	o.longest = make([]protocol.Duration, len(setup.Kinds))
	o.claims = make([]claim, setup.Slots)
	o.series.slots[protocol.SlotFree].Add(float64(setup.Slots))
	o.phase = state.Phase()
	o.series.phases[o.phase].Inc()
	o.killAt.Store(int64(protocol.Never))
	m.mu.Lock()
	m.alive[o] = true
	m.mu.Unlock()
}

// allowedGap is what a kind declared, or else the longest gap that the grace has room for.
func allowedGap(cfg *protocol.Config, kind int) protocol.Duration {
	k := &cfg.Kinds[kind]
	switch {
	case k.Gap > 0:
		return k.Gap
	case cfg.Grace == 0:
		return protocol.Forever
	default:
		return cfg.Grace - cfg.Reserve - k.Undo
	}
}

// Step counts what a step is about.
func (o *observer) Step(now protocol.Instant, ev protocol.Event, effects []protocol.Effect, state worker.State) {
	if ev.Code == protocol.Unknown && int(ev.Kind) < len(o.series.brokerErrors) && o.series.brokerErrors[ev.Kind] != nil {
		o.series.brokerErrors[ev.Kind].Inc()
	}
	phase := state.Phase()
	if phase.Stopping() && !o.drains {
		o.beginDrain(now, ev, effects)
	}
	for i := range effects {
		o.effect(now, &effects[i])
	}
	if ev.Kind == protocol.SettleAnswered {
		o.settled(&ev)
	}
	o.follow(ev, effects, state)
	o.enter(phase)
	if at := int64(state.KillAt()); at != o.killAt.Load() {
		o.killAt.Store(at)
	}
	if phase == protocol.PhaseGone && o.exited {
		o.vacate()
	}
}

func (o *observer) enter(phase protocol.Phase) {
	if phase != o.phase {
		o.series.phases[o.phase].Dec()
		o.series.phases[phase].Inc()
		o.phase = phase
	}
}

// vacate takes the slots of a worker that is gone out of the count: nobody will use them.
func (o *observer) vacate() {
	for i := range o.claims {
		o.series.slots[o.claims[i].state].Dec()
	}
	o.claims = nil
}

// beginDrain counts a drain. A worker that was refused is gone without one.
func (o *observer) beginDrain(now protocol.Instant, ev protocol.Event, effects []protocol.Effect) {
	source := ev.Source
	for i := range effects {
		if effects[i].Kind == protocol.Note && effects[i].Note == protocol.EverySlotWedged {
			source = protocol.FromSelf
		}
	}
	if ev.Kind != protocol.StopAsked && source != protocol.FromSelf {
		return
	}
	o.drains, o.stopAt = true, now
	o.series.drains[source].Inc()
}

func (o *observer) effect(now protocol.Instant, e *protocol.Effect) {
	switch e.Kind {
	case protocol.Start:
		o.claims[e.Slot].begin(e)
	case protocol.Settle:
		o.settles(e)
	case protocol.Cancel:
		o.series.cancels[e.Cause].Inc()
	case protocol.Note:
		o.note(e)
	case protocol.Line:
		o.series.ledger[e.Outcome].Inc()
	case protocol.Exit:
		o.exited = true
		if o.drains {
			o.series.drainSeconds.Observe(seconds(now.Sub(o.stopAt)))
		}
	}
}

func (o *observer) note(e *protocol.Effect) {
	switch e.Note {
	case protocol.RenewalMissed:
		o.series.renewalsMissed.Inc()
	case protocol.JobsWithdrawn:
		o.series.interruptions[protocol.BecauseWithdrawn].Add(float64(e.Want))
	case protocol.LeaseLost:
		o.kind(e.JobKind).leasesLost.Inc()
	case protocol.AckedAfterCancel:
		o.kind(e.JobKind).ackedAfterCancel.Inc()
	case protocol.HandlerLeaking:
		o.kind(e.JobKind).leaking.Inc()
	case protocol.SettleSuperseded:
		o.ended(e.Slot, protocol.WasSuperseded)
	case protocol.HandlerLeaked:
		o.ended(e.Slot, protocol.WasLeaked)
	case protocol.LeftUnsettled:
		o.ended(e.Slot, protocol.WasUnsettled)
	}
}

// Executed counts how a handler came back.
func (o *observer) Executed(e worker.Execution) {
	k := o.kind(e.Kind)
	k.returned[e.Code].Inc()
	k.seconds.Observe(seconds(e.Took))
	if i := int(e.Kind); i < len(o.longest) && e.Gap > o.longest[i] {
		o.longest[i] = e.Gap
		o.metrics.looked(gapKey{o.seat, o.setup.Kinds[i]}, e.Gap)
	}
}

// End takes the worker out of what is worked out at scrapes. A machine that broke never said
// that it exits.
func (o *observer) End(e worker.Ending) {
	if o.setup.Config == nil {
		return // it never began
	}
	o.metrics.exits.WithLabelValues(o.values(strconv.Itoa(e.Status))...).Inc()
	o.exited = true
	o.enter(protocol.PhaseGone)
	o.vacate()
	o.metrics.mu.Lock()
	delete(o.metrics.alive, o)
	o.metrics.mu.Unlock()
}
