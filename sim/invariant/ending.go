package invariant

import "github.com/quiesce/quiesce/protocol"

// Return is how a handler came back, and what it had been told by then.
type Return struct {
	Code  protocol.Code
	Clean bool           // it left nothing to undo or to commit
	Lost  bool           // its worker knew that the claim was lost
	Told  bool           // it was cancelled
	Cause protocol.Cause // Told: why
}

// Ending returns how the claim is to end (rule 17). Undo that fails may make a quarantine of it.
func (r Return) Ending() (protocol.Verb, protocol.Reason) {
	switch {
	case r.Code == protocol.ReturnedNil && (r.Clean || !r.Lost):
		return protocol.Ack, protocol.NoReason
	case r.Code == protocol.ReturnedNil:
		return protocol.Release, protocol.BecauseDistrust
	case r.Code == protocol.ReturnedFailed || r.Code == protocol.ReturnedPanic || r.Told && r.Cause == protocol.ErrTimeout:
		return protocol.Fail, protocol.NoReason
	case !r.Told && r.Code == protocol.ReturnedYield:
		return protocol.Release, protocol.BecauseYield
	case !r.Told:
		return protocol.Fail, protocol.NoReason
	}
	switch r.Cause {
	case protocol.ErrHurry:
		return protocol.Release, protocol.BecauseHurry
	case protocol.ErrLeaseLost:
		return protocol.Release, protocol.BecauseDistrust
	case protocol.ErrCancelled:
		return protocol.Release, protocol.BecauseCancelled
	default:
		return protocol.Release, protocol.BecauseDrain
	}
}
