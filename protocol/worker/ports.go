package worker

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/quiesce/quiesce/protocol"
)

// Clock is where a worker's time comes from. It must count through suspend and need not
// agree with anybody else's clock.
type Clock interface {
	// Now returns the time since an arbitrary instant before the worker was made.
	Now() protocol.Instant
	// NewTimer returns a timer that fires once, at or after an instant of this clock.
	NewTimer(at protocol.Instant) Timer
}

// Timer is a timer of a Clock.
type Timer interface {
	C() <-chan time.Time
	Stop()
}

// ErrRefused is what a broker returns when it certainly did nothing and will not: an unknown
// or superseded incarnation, a schema it does not speak. Every other error counts as "it may
// have been done", and the protocol repeats, withdraws, or leaves it to the lease.
var ErrRefused = errors.New("worker: refused by the broker")

// Broker is what a worker needs of a job queue. Every method is one attempt: retries are the
// protocol's, so those of a client library must be off. Methods are called concurrently and
// must return soon after ctx is done; one that does not is waited for by nobody.
//
// A broker keeps the rules of package model's reference broker: leases on its own clock,
// tokens that grow with every claim of a job, settling guarded by the token. Package
// model/brokertest checks it.
type Broker interface {
	// Register makes a life of a worker known and returns its incarnation, which grows with
	// every life of a seat. The same Life is answered with the same incarnation.
	Register(ctx context.Context, life Life) (incarnation uint64, err error)
	// Going says once that an incarnation will stop. It is not repeated.
	Going(ctx context.Context, incarnation uint64, queue string) error
	// Claim asks for jobs. It may keep the request waiting for up to req.Park. The same
	// (incarnation, queue, seq) is answered with what it was granted before.
	Claim(ctx context.Context, req ClaimRequest) (ClaimAnswer, error)
	// Withdraw takes a claim request back: what was granted under it becomes claimable, and
	// should the request arrive later it is refused. It returns how many jobs went back.
	Withdraw(ctx context.Context, incarnation uint64, queue string, seq uint64) (jobs int, err error)
	// Renew extends leases and returns one code per renewal, in order: OK, CancelOrder,
	// Expired, Closed or Stale.
	Renew(ctx context.Context, renewals []Renewal) ([]protocol.Code, error)
	// Save stores a cursor without extending the lease; codes as for Renew.
	Save(ctx context.Context, save Renewal) (protocol.Code, error)
	// Settle ends claims and returns one code per settlement, in order: OK, Repeat, Closed or Stale.
	Settle(ctx context.Context, settlements []Settlement) ([]protocol.Code, error)
	// Capabilities says what this broker cannot do.
	Capabilities() Capabilities
}

// Poster is a Broker to which settlements and claim requests can be handed without waiting for
// their answers. A worker hands over what has gathered and then claims, so that both travel
// together; and it claims for the slots that settle already, which saves a round trip per job.
//
// answered is called once, from another goroutine: with what the method without Post would
// return. When ctx is done that may be late, or never: a worker that waits has its own deadlines.
type Poster interface {
	Broker
	// Post is Settle that returns at once.
	Post(ctx context.Context, settlements []Settlement, answered func([]protocol.Code, error))
	// PostClaim is Claim that returns at once. What was posted before it is carried out before
	// it, and answered has come back with it before the claim is answered.
	PostClaim(ctx context.Context, req ClaimRequest, answered func(ClaimAnswer, error))
}

// Reconnector is a Broker that knows when the way to it was gone and is there again. What answers
// then may be another server than the one that granted the claims, and may have forgotten some,
// so a worker has all of them verified soon after, instead of at the next heartbeat.
type Reconnector interface {
	Broker
	// OnReconnect has heard called, from any goroutine, whenever the way is there again: when
	// calls are answered, not when a connection is open. heard returns at once. forget ends it; a
	// call that has begun by then may still come.
	OnReconnect(heard func()) (forget func())
}

// Debtor is a Broker that may answer a claim request without knowing all that it was granted: a part
// of it was silent, and the worker was not to wait for that. It takes back what that part granted
// as soon as it can; until then nobody works on it, and its lease runs.
type Debtor interface {
	Broker
	// Repay takes back now what requests of an incarnation may have been granted in this way. An
	// error says what may be held still, and where. It is called at the end of a life, and at once
	// when nothing is owed; a worker whose debts are not paid does not exit with status 0.
	Repay(ctx context.Context, incarnation uint64, queue string) error
}

// Capabilities of a broker. The zero value can do everything.
type Capabilities struct {
	NoWithdraw bool          // claim requests cannot be taken back
	Lease      time.Duration // what the broker grants; 0 when it does not know
}

// Life is one run of a process in a seat.
type Life struct {
	Seat       string    // configured identity, for example the pod's name and an index
	Nonce      uuid.UUID // made by the process
	Generation uint32    // of the code it runs
}

// ClaimRequest asks for jobs.
type ClaimRequest struct {
	Incarnation uint64
	Queue       string
	Seq         uint64
	Want        int
	Park        time.Duration
	Kinds       []KindVersions // what this worker understands
}

// KindVersions is a job kind, the payload versions understood, both ends included, and what
// the broker is to do when the lease of a claim granted to this request runs out. That is
// settled with the grant: what others say of the kind later changes nothing about it.
type KindVersions struct {
	Kind     string
	Min, Max uint16
	OnExpiry Expiry
}

// Expiry is what becomes of a job whose lease ran out under its holder.
type Expiry uint8

// Answers to an expiry.
const (
	Redeliver          Expiry = iota // it is claimable again, or what the queue's own setting says
	QuarantineOnExpiry               // it is parked: nobody knows how much of it was done
)

// ClaimAnswer is what a request was granted.
type ClaimAnswer struct {
	Grants []Grant
	Parked time.Duration // how long the request waited, on the broker's clock
}

// Grant is one claim.
type Grant struct {
	Job     protocol.JobKey
	Token   protocol.Token
	Kind    string
	Version uint16
	Payload []byte
	Cursor  []byte // saved by an earlier execution; nil is none
	Prior   Prior
}

// Prior is the execution before this one, so that its leavings can be found. Claims that
// were handed back before their handler started (late, withdrawn, refused, busy) are none.
type Prior struct {
	Token  protocol.Token  // 0 when there was none
	Reason protocol.Reason // why it was interrupted; NoReason when it failed
}

// Renewal extends the lease of a claim. Cursor is stored with it unless it is nil.
type Renewal struct {
	Job    protocol.JobKey
	Token  protocol.Token
	Cursor []byte
}

// Settlement ends a claim. Cursor is stored with it unless it is nil.
type Settlement struct {
	Job    protocol.JobKey
	Token  protocol.Token
	Verb   protocol.Verb
	Reason protocol.Reason
	Delay  time.Duration // before the job may be claimed again
	Cursor []byte
	Cause  error // of a Fail: what the handler returned
}
