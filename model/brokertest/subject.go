package brokertest

import (
	"context"
	"time"

	"pgregory.net/rapid"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// TB is what a check reports to: a *testing.T, a *rapid.T, or a recorder.
type TB interface {
	rapid.TB
	Cleanup(func())
	Context() context.Context
}

// Config is how the broker under test must be set up.
type Config struct {
	Start       time.Time      // what the broker's clock reads when it is opened
	Lease       time.Duration  // of every claim and renewal
	OnExpiry    model.OnExpiry // Redeliver or QuarantineExpired, for kinds of which requests do not say the latter
	MaxFailures int            // a job that failed so often is dead-lettered; 0 is never
	Poison      int            // a job whose lease ran out so often in a row is dead-lettered; 0 is never
	Starving    int            // a job interrupted so often without progress is reported; it goes on
	BackoffMin  time.Duration  // delay after the first failure; it doubles with each, without jitter
	BackoffMax  time.Duration  // and grows no further than this
	Keep        time.Duration  // how long a late repeat must be recognised, also of finished jobs
}

// Open opens an empty broker, set up as cfg says. What it opens is closed by t.Cleanup.
type Open func(t TB, cfg Config) Subject

// Subject is a broker under test and what its operator can do. The methods that are not
// worker.Broker's report trouble to the TB that the subject was opened with, by Fatal.
type Subject interface {
	worker.Broker

	// Enqueue adds a job behind those that the queue has, claimable at once, and returns its
	// key. A queue is made by its first use. Keys are different in all queues.
	Enqueue(queue string, job NewJob) protocol.JobKey
	// CancelJob carries out an operator's wish: a holder learns it at its next renewal; a job
	// that nobody holds, or no longer, is cancelled at once.
	CancelJob(job protocol.JobKey)
	// Advance moves the broker's clock, and returns when everything is done that is due.
	Advance(d time.Duration)
	// Job returns where a job stands; ok is false when the broker does not know it.
	Job(job protocol.JobKey) (info Job, ok bool)
}

// NewJob is a job to enqueue.
type NewJob struct {
	Kind    string
	Version uint16
	Payload []byte
}

// Job is what can be seen of a job at the broker. The counts are those of package model.
type Job struct {
	State      model.JobState
	Deliveries int // claims
	Failures   int
	Poison     int // expiries in a row
	Fruitless  int // interruptions in a row without progress
}

// Parker is a subject that says when its broker keeps claim requests waiting. Without it,
// long polls are not tested.
//
// The kit makes such a request in a goroutine and ends it by what it does next: a job comes
// back or is added, the request is withdrawn, its worker is going, or Advance moves the
// broker's clock past ClaimRequest.Park. A client that measures Park on a clock of its own
// must therefore be given one that Advance moves.
type Parker interface {
	// AwaitParked returns as soon as exactly n claim requests wait at the broker.
	AwaitParked(n int)
}

// Replica is a subject whose broker can be made to forget: it fails over to a replica that
// was cut off a while before. Without it, forgetting is not tested.
type Replica interface {
	// CutOff keeps a copy of everything the broker knows. FailOver makes the copy what the
	// broker knows; its clock goes on.
	CutOff() (failOver func())
}
