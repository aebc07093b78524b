package sim

import (
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
)

// ObservationKind tags an Observation.
type ObservationKind uint8

// Observations.
const (
	SawEvent     ObservationKind = iota // an event given to a machine
	SawEffect                           // an effect a machine asked for
	SawRecord                           // something the meter was told
	SawFault                            // a fault began or ended
	SawCount                            // a worker counted a job down, in its batch
	SawUncounted                        // at the end: a job that is done was never counted down
)

// Observation is one thing that happened in a world, for those who look on.
type Observation struct {
	At     protocol.Instant
	Kind   ObservationKind
	Seat   int32
	Life   uint32
	Event  protocol.Event
	Effect protocol.Effect
	Record meter.Record
	Count  Count
	Text   string
}

// Count is what became of the counter of a batch.
type Count struct {
	Job    protocol.JobKey
	Left   int32 // what the counter says
	Undone int32 // jobs of the batch whose work is not done, or that have not come
	Again  bool  // the job had been counted before
}

func (w *World) note(what string, p *process) {
	if w.observer != nil {
		w.observer(Observation{At: w.now, Kind: SawFault, Seat: p.seat, Life: p.life, Text: what})
	}
}

// record tells the meter.
func (w *World) record(r meter.Record) {
	r.At, r.Deploy = w.now, w.fleet.deploys
	w.stir(uint64(r.Kind)<<8|uint64(r.How), uint64(r.Job), uint64(r.Work))
	if w.observer != nil {
		w.observer(Observation{At: w.now, Kind: SawRecord, Seat: r.Seat, Life: w.fleet.at(r.Seat).life, Record: r})
	}
	w.meter.Add(r)
}

// recordFact translates what the broker did, adding what only the fleet knows: why.
func (w *World) recordFact(f *model.Fact) {
	r := meter.Record{Job: f.Job, Token: f.Token, Verb: f.Verb, Reason: f.Reason, Eroded: f.Eroded, Seat: f.Seat}
	switch f.Kind {
	case model.Claimed:
		r.Kind = meter.ClaimGranted
	case model.LeaseRanOut:
		r.Kind = meter.LeaseExpired
		r.Cause = w.causeOfSilence(f.Seat, f.Nonce)
	case model.ClaimSettled:
		r.Kind = meter.ClaimEnded
		r.Cause = w.causeOfRelease(f)
	case model.Finished:
		r.Kind = meter.JobFinished
		w.batches.acked(f.Job, w.now)
	case model.DeadLettered:
		r.Kind = meter.JobDead
	case model.Quarantined:
		r.Kind = meter.JobQuarantined
	case model.JobCancelled:
		r.Kind = meter.JobCancelled
	case model.GrewStarving:
		r.Kind = meter.JobStarving
	case model.Forgotten:
		r.Kind = meter.JobForgotten
	}
	w.record(r)
}

// causeOfSilence says why a holder does not renew its claim any more.
func (w *World) causeOfSilence(seat int32, life uint64) meter.Cause {
	p := w.fleet.at(seat)
	switch {
	case life != uint64(p.life):
		return *p.causeOf(life)
	case p.stopping:
		return p.cause
	default:
		return meter.ByLease
	}
}

// causeOfStop says who stopped the life that settled a claim, be it over by now or not.
func (w *World) causeOfStop(f *model.Fact) meter.Cause {
	p := w.fleet.at(f.Seat)
	switch ended := *p.causeOf(f.Nonce); {
	case f.Nonce == uint64(p.life):
		return p.cause
	case ended == meter.ByCrash: // It crashed in its drain; most drains are those of deploys.
		return meter.ByDeploy
	default:
		return ended
	}
}

func (w *World) causeOfRelease(f *model.Fact) meter.Cause {
	switch {
	case f.Verb == protocol.Refuse:
		return meter.ByRefusal
	case f.Reason == protocol.BecauseDistrust:
		return meter.ByLease
	case f.Reason == protocol.BecauseDrain || f.Reason == protocol.BecauseHurry || f.Reason == protocol.BecauseLate:
		return w.causeOfStop(f)
	case w.fleet.at(f.Seat).stopping:
		return w.causeOfStop(f)
	default:
		return meter.ByOther
	}
}
