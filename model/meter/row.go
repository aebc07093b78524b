package meter

import (
	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/quiesce/quiesce/protocol"
)

// Count is the index of a counter in a Row.
type Count uint8

// Counters.
const (
	JobsEnqueued Count = iota
	JobsCompleted
	JobsDeadLettered
	JobsDeadByInterruptions
	JobsStuck
	JobsStarving
	JobsLost
	JobsCancelled
	JobsDelayed // jobs whose delay was summed
	Interruptions
	DeployInterruptions
	JobDeployPairs // pairs of a job and a rollout that interrupted it
	Released
	ReclaimedByExpiry
	Failures
	ExecutionsStarted
	RedoneExecutions
	OverlappingExecutions
	EffectsAppliedTwice
	AttemptsEroded
	FinishedInGrace
	AckedAfterCancel
	CancelledByDrain
	Timeouts
	UndoneJobs
	QuarantinedJobs
	RefusedJobs
	LeakedHandlers
	LeasesLost
	UnsettledClaims
	SupersededClaims
	SurplusJobs
	WithdrawnJobs
	LedgerLines
	Stops
	KilledAtGrace
	Crashes
	Rollouts
	RolloutsFinished
	BatchesDone
	BatchesNeverCompleted
	BatchesCompletedEarly
	Events

	counts
)

// noteCounts says which counter a worker's note belongs to.
var noteCounts = map[protocol.NoteCode]Count{
	protocol.FinishedInGrace:    FinishedInGrace,
	protocol.AckedAfterCancel:   AckedAfterCancel,
	protocol.CancelledByDrain:   CancelledByDrain,
	protocol.CancelledByTimeout: Timeouts,
	protocol.Undone:             UndoneJobs,
	protocol.LeaseLost:          LeasesLost,
	protocol.SurplusReleased:    SurplusJobs,
	protocol.JobsWithdrawn:      WithdrawnJobs,
	protocol.SettleSuperseded:   SupersededClaims,
	protocol.LeftUnsettled:      UnsettledClaims,
	protocol.HandlerLeaked:      LeakedHandlers,
}

// Sum is the index of a sum of microseconds in a Row.
type Sum uint8

// Sums, in microseconds or job-microseconds.
const (
	DelayTime Sum = iota
	RedoneWork
	OverlapTime
	StalledTime // jobs stalled, over time
	BegunTime   // jobs started and not finished, over time
	HeldTime    // the parts of stall
	UndoTime
	QueuedTime
	RolloutTime

	sums
)

// Row is the result of one run: integers and histograms only, so that rows can be written,
// merged and compared byte for byte.
type Row struct {
	Counts    [counts]int64
	Sums      [sums]int64
	ByReason  [protocol.Reasons]int64 // interruptions at the broker
	Censored  [Causes]int64           // stalls counted to the end of the run
	Stalls    [Causes]Histogram
	AllStalls Histogram
	ExitTime  Histogram
	QueueWait Histogram
	// From the very start of the run, to judge whether the warm-up is long enough.
	DelayOverTime Series // by the instant of arrival
	StallOverTime Series // by the instant of interruption
	TraceHash     uint64
	Broken        []Breach // by the instant at which they were first seen
}

// Breach is a promise of the protocol that was seen to be broken in a run.
type Breach struct {
	Invariant string           `json:"invariant"`
	At        protocol.Instant `json:"at"` // the first time, and what follows is about it
	Job       protocol.JobKey  `json:"job,omitempty"`
	Seat      int32            `json:"worker"` // -1 when it is about none
	Text      string           `json:"text"`
	Times     int64            `json:"times"`
	Expected  bool             `json:"expected,omitempty"` // faults are built in, or a real queue is imitated
}

// Histogram counts durations with three significant digits and keeps their exact sum and
// maximum.
type Histogram struct {
	h    *hdrhistogram.Histogram // while it records, or
	bars []bar                   // once it is packed
	N    int64
	Sum  int64 // microseconds
	Max  int64 // microseconds
}

// maxMicros is the largest value a histogram tells from larger ones: a hundred days.
const maxMicros = 100 * 24 * 3600 * 1_000_000

func (h *Histogram) record(d protocol.Duration) {
	us := micros(d)
	h.N++
	h.Sum += us
	h.Max = max(h.Max, us)
	h.unpack()
	// The error is for values beyond the range, which are clamped to it.
	_ = h.h.RecordValue(min(us, maxMicros))
}

// Merge adds another histogram's values.
func (h *Histogram) Merge(o *Histogram) {
	h.N += o.N
	h.Sum += o.Sum
	h.Max = max(h.Max, o.Max)
	h.unpack()
	for _, b := range o.packed() {
		_ = h.h.RecordValues(b.low, b.n) // within the range: it comes from a histogram
	}
}

// Mean returns the mean in seconds, or 0 without values.
func (h *Histogram) Mean() float64 {
	if h.N == 0 {
		return 0
	}
	return float64(h.Sum) / float64(h.N) / 1e6
}

// Quantile returns a quantile in seconds, q in percent, or 0 without values.
func (h *Histogram) Quantile(q float64) float64 {
	if h.N == 0 {
		return 0
	}
	if h.h == nil {
		return float64(min(h.quantileOfBars(q), h.Max)) / 1e6
	}
	return float64(min(h.h.ValueAtQuantile(q), h.Max)) / 1e6
}
