package protocol

import "strconv"

// String formats d as Go writes durations, for example 1m30s or 250ms.
func (d Duration) String() string {
	if d == Forever {
		return "forever"
	}
	if d < 0 {
		return "-" + (-max(d, -Forever)).String()
	}
	switch {
	case d == 0:
		return "0s"
	case d < Microsecond:
		return strconv.FormatInt(int64(d), 10) + "ns"
	case d < Millisecond:
		return decimal(int64(d), int64(Microsecond)) + "µs"
	case d < Second:
		return decimal(int64(d), int64(Millisecond)) + "ms"
	}
	s := decimal(int64(d%Minute), int64(Second)) + "s"
	if h, m := d/Hour, d%Hour/Minute; h > 0 {
		s = strconv.FormatInt(int64(h), 10) + "h" + strconv.FormatInt(int64(m), 10) + "m" + s
	} else if m > 0 {
		s = strconv.FormatInt(int64(m), 10) + "m" + s
	}
	return s
}

// decimal writes n/unit exactly, without trailing zeros.
func decimal(n, unit int64) string {
	s := strconv.FormatInt(n/unit, 10)
	rest := strconv.FormatInt(n%unit+unit, 10)[1:]
	end := len(rest)
	for end > 0 && rest[end-1] == '0' {
		end--
	}
	if end == 0 {
		return s
	}
	return s + "." + rest[:end]
}

// String formats t as an offset from the start of the run.
func (t Instant) String() string {
	if t == Never {
		return "never"
	}
	return Duration(t).String()
}

func (p Phase) String() string        { return name(phaseNames[:], int(p)) }
func (s SlotState) String() string    { return name(slotNames[:], int(s)) }
func (s RequestState) String() string { return name(requestNames[:], int(s)) }
func (k EventKind) String() string    { return name(eventNames[:], int(k)) }
func (c Code) String() string         { return name(codeNames[:], int(c)) }
func (s Source) String() string       { return name(sourceNames[:], int(s)) }
func (k EffectKind) String() string   { return name(effectNames[:], int(k)) }
func (v Verb) String() string         { return name(verbNames[:], int(v)) }
func (r Reason) String() string       { return name(reasonNames[:], int(r)) }
func (c Cause) String() string        { return name(causeNames[:], int(c)) }
func (n NoteCode) String() string     { return name(noteNames[:], int(n)) }
func (o Outcome) String() string      { return name(outcomeNames[:], int(o)) }

// String returns the signal's usual name.
func (s Signal) String() string {
	switch s {
	case SIGINT:
		return "SIGINT"
	case SIGTERM:
		return "SIGTERM"
	default:
		return "signal " + strconv.Itoa(int(s))
	}
}

func name(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return strconv.Itoa(i)
}

var (
	phaseNames   = [phases]string{"Booting", "Serving", "Quiet", "Draining", "Cancelling", "Settling", "Gone"}
	slotNames    = [slotStates]string{"Free", "Running", "Cancelled", "Undoing", "Settling", "Zombie", "Leaked"}
	requestNames = [requestStates]string{"None", "Asked", "Withdrawing"}
	eventNames   = [eventKinds]string{"Tick", "Registered", "Granted", "ClaimAnswered", "WithdrawAnswered", "RenewAnswered", "SaveAnswered", "SettleAnswered", "HandlerReturned", "SaveAsked", "UndoReturned", "StopAsked", "KillAtMoved", "QuietAsked", "ResumeAsked", "CancelAsked", "Estimated", "Reconnected"}
	codeNames    = [codes]string{"-", "ok", "repeat", "expired", "closed", "stale", "refused", "unknown", "cancel", "nil", "yield", "error", "failed", "panic", "undone", "skipped", "undo-failed"}
	sourceNames  = [sources]string{"signal", "notice", "context", "supervisor", "self"}
	effectNames  = [effectKinds]string{"Register", "Going", "Claim", "Withdraw", "Renew", "Save", "Settle", "Start", "Soften", "Cancel", "Undo", "PrivateOnly", "CommitSegment", "RefuseSave", "Note", "Line", "Exit"}
	verbNames    = [verbs]string{"-", "ack", "release", "fail", "refuse", "quarantine"}
	reasonNames  = [Reasons]string{"-", "drain", "hurry", "yield", "late-claim", "withdrawn", "refused", "busy", "distrust", "cancelled", "expired", "cut"}
	causeNames   = [causes]string{"-", "draining", "hurry", "lease-lost", "timeout", "cancelled"}
	noteNames    = [noteCodes]string{"-", "finished-in-grace", "acked-after-cancel", "cancelled-by-drain", "cancelled-by-timeout", "undone", "lease-lost", "renewal-missed", "surplus-released", "jobs-withdrawn", "superseded", "unsettled", "leaking", "leaked", "wedged"}
	outcomeNames = [outcomes]string{"-", "finished", "failed", "handed-back", "released", "refused", "withdrawn", "answered", "quarantined", "superseded", "lost", "leaked", "unsettled"}
)
