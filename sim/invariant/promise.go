package invariant

import (
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// Fault is something about a world under which part of the promises are not made. Crashes,
// pauses, partitions, lost and doubled messages, deaf handlers and clocks that run apart by
// less than declared are none: under them everything is promised, and the checkers leave
// undecided what they make impossible at the time.
type Fault uint8

// Faults and choices that take promises away.
const (
	BrokerForgets      Fault = iota // a failover loses the newest writes
	DriftBeyond                     // clocks run apart by more than the workers allow for
	NothingRescues                  // the broker never frees the jobs of the dead
	LostWithHolder                  // claiming deletes a job
	DiesAtStop                      // the policy is to die at the signal
	IgnoresStop                     // the policy notices no signal
	WaitsWithoutLimit               // the policy has no deadline, or one of its own
	RunsLateClaims                  // the policy runs what is granted after the stop
	Weighs                          // the policy hands back early what is expected to start over sooner elsewhere
	CancelsByPolicy                 // the policy is to cancel at the stop
	ChargesForClaims                // the queue counts attempts at the claim, by its settings
	BlamesForExpiry                 // the queue counts an expired lease as a failure, by its settings
	EndsWithConnection              // the queue ends claims with their connection
	SlowAnswers                     // answers may take longer than the lease leaves beside heartbeat and margin
	OverlapDeclared                 // heartbeat, margin and drift leave no time within the lease

	faults
)

// row is one line of the matrix.
type row struct {
	about string
	not   []ID // what is not promised
}

// matrix is the promises by fault: whatever is not named is promised.
var matrix = [faults]row{
	BrokerForgets: {"the broker forgets its last writes", []ID{
		NoJobLost, OneOpenClaim, ClaimEndsOnce, AckedOnlyIfFinished, ExitZeroHoldsNothing, NoStaleEffect,
		LeaseKeptWhileHandled, ToldBeforeLeaseEnds, SharedUndoWhileHeld, ReturnsToNewer,
	}},
	DriftBeyond: {"clocks drift by more than declared", []ID{
		ToldBeforeLeaseEnds, LeaseKeptWhileHandled, SharedUndoWhileHeld, ExitBeforeKill, ExitZeroHoldsNothing, SettledUntilAnswered,
	}},
	NothingRescues:     {"nothing frees the jobs of the dead", []ID{FreedInTime, DoneAfterFaults}},
	LostWithHolder:     {"claiming deletes a job", []ID{NoJobLost, FreedInTime, DoneAfterFaults, OneOpenClaim}},
	DiesAtStop:         {"the policy dies at the signal", []ID{DrainSpendsNoBudget, FinishWhatFits, ToldSoftly, LedgerComplete, ResourcesFreed, SettledUntilAnswered}},
	IgnoresStop:        {"the policy notices no signal", []ID{StopClaiming, NoStartAfterStop, ExitBeforeKill, DrainSpendsNoBudget, ToldSoftly, LedgerComplete}},
	WaitsWithoutLimit:  {"the policy has no deadline from the supervisor", []ID{ExitBeforeKill, FinishWhatFits}},
	RunsLateClaims:     {"the policy runs late claims", []ID{NoStartAfterStop}},
	Weighs:             {"the policy hands back early what should start over sooner elsewhere", []ID{FinishWhatFits}},
	CancelsByPolicy:    {"the policy cancels at the stop", []ID{FinishWhatFits}},
	ChargesForClaims:   {"the queue counts attempts at the claim", []ID{DrainSpendsNoBudget}},
	BlamesForExpiry:    {"the queue counts an expired lease as a failure", []ID{DrainSpendsNoBudget}},
	EndsWithConnection: {"the queue ends claims with their connection", []ID{OneOpenClaim, LeaseKeptWhileHandled, ToldBeforeLeaseEnds}},
	SlowAnswers:        {"answers take longer than the lease leaves beside heartbeat and margin", []ID{DoneAfterFaults}},
	OverlapDeclared:    {"heartbeat, margin and drift leave no time within the lease", []ID{ToldBeforeLeaseEnds, LeaseKeptWhileHandled, SharedUndoWhileHeld}},
}

// String says what the fault is.
func (f Fault) String() string { return matrix[f].about }

// Faults returns every fault of the matrix.
func Faults() []Fault {
	all := make([]Fault, faults)
	for i := range all {
		all[i] = Fault(i)
	}
	return all
}

// Excludes returns what is not promised under the fault.
func (f Fault) Excludes() []ID { return matrix[f].not }

// in reports whether a scenario under a policy has the fault.
func (f Fault) in(sc *model.Scenario, p *model.Preset) bool {
	q, pol := &sc.Queue, &p.Policy
	switch f {
	case BrokerForgets:
		return sc.Faults.Forget > 0
	case DriftBeyond:
		return sc.Faults.DriftPPM > q.DriftPPM
	case NothingRescues:
		return p.Rescue == model.NoRescue || p.Rescue == model.LostWithHolder
	case LostWithHolder:
		return p.Rescue == model.LostWithHolder
	case DiesAtStop:
		return pol.OnStop == protocol.DieOnStop
	case IgnoresStop:
		return pol.OnStop == protocol.IgnoreOnStop
	case WaitsWithoutLimit:
		return pol.Deadline != protocol.DeadlineFromBudget || pol.AtDeadline == protocol.DieAtDeadline
	case RunsLateClaims:
		return pol.LateClaim != protocol.ReturnLateClaim
	case Weighs:
		return pol.Estimates == protocol.Adaptive
	case CancelsByPolicy:
		return pol.OnStop == protocol.CancelOnStop
	case ChargesForClaims:
		return q.CountAtClaim
	case BlamesForExpiry:
		return q.ExpiryFails || q.OnExpiry != model.Redeliver
	case EndsWithConnection:
		return q.FreedByHangup
	case SlowAnswers:
		latency := sc.Faults.Network.Latency
		return latency != nil && 2*protocol.Duration(latency.Max()) >= q.Lease-q.Heartbeat-q.Margin
	default:
		c := protocol.Config{Lease: q.Lease, Heartbeat: q.Heartbeat, Margin: q.Margin}.WithDefaults()
		return c.Heartbeat+c.Margin >= c.Lease
	}
}

// NotPromised returns for each invariant why it is not promised in a scenario under a policy;
// where it is, nothing. Deviations take no promise away: they are there to break them.
func NotPromised(sc *model.Scenario, p model.Preset) [Count]string {
	var why [Count]string
	for f := range faults {
		if !f.in(sc, &p) {
			continue
		}
		for _, id := range matrix[f].not {
			if why[id] == "" {
				why[id] = matrix[f].about
			}
		}
	}
	return why
}
