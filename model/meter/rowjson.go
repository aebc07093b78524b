package meter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/quiesce/quiesce/protocol"
)

// FormatVersion is that of rows in JSON and of what their numbers mean. It grows whenever
// rows written before could be misread.
const FormatVersion = 2

var countNames = [counts]string{
	JobsEnqueued: "jobs_enqueued", JobsCompleted: "jobs_completed", JobsDeadLettered: "jobs_dead_lettered",
	JobsDeadByInterruptions: "jobs_dead_lettered_by_interruptions", JobsStuck: "jobs_stuck", JobsStarving: "jobs_starving",
	JobsLost: "jobs_lost", JobsCancelled: "jobs_cancelled", JobsDelayed: "jobs_delayed", Interruptions: "interruptions",
	DeployInterruptions: "deploy_interruptions", JobDeployPairs: "job_deploy_pairs", Released: "released",
	ReclaimedByExpiry: "reclaimed_by_expiry", Failures: "failures", ExecutionsStarted: "executions_started",
	RedoneExecutions: "redone_executions", OverlappingExecutions: "overlapping_executions",
	EffectsAppliedTwice: "effects_applied_twice", AttemptsEroded: "attempts_eroded", FinishedInGrace: "finished_in_grace",
	AckedAfterCancel: "acked_after_cancel", CancelledByDrain: "cancelled", Timeouts: "timeouts", UndoneJobs: "undone",
	QuarantinedJobs: "quarantined", RefusedJobs: "refused", LeakedHandlers: "leaked", LeasesLost: "leases_lost",
	UnsettledClaims: "unsettled", SupersededClaims: "superseded", SurplusJobs: "surplus", WithdrawnJobs: "withdrawn",
	LedgerLines: "ledger_lines", Stops: "stops", KilledAtGrace: "killed_at_grace", Crashes: "crashes",
	Rollouts: "rollouts", RolloutsFinished: "rollouts_finished", BatchesDone: "batches",
	BatchesNeverCompleted: "batches_never_completed", BatchesCompletedEarly: "batches_completed_early", Events: "events",
}

var sumNames = [sums]string{
	DelayTime: "delay", RedoneWork: "redone_work", OverlapTime: "overlap", StalledTime: "stalled", BegunTime: "begun",
	HeldTime: "held", UndoTime: "undo", QueuedTime: "queued", RolloutTime: "rollout",
}

var (
	reasonNames [protocol.Reasons]string
	causeNames  [Causes]string
)

func init() {
	for r := range reasonNames {
		reasonNames[r] = underscored(protocol.Reason(r).String())
	}
	for c := range causeNames {
		causeNames[c] = Cause(c).String()
	}
}

// rowJSON is a row in JSON. Numbers go by name, so that a new counter in the middle of the
// list does not shift the others; what is zero is left out.
type rowJSON struct {
	Counts    ordered               `json:"counts"`
	Sums      ordered               `json:"sums"`
	Reasons   ordered               `json:"reasons"`
	Censored  ordered               `json:"censored"`
	AllStalls histogramJSON         `json:"all_stalls"`
	Stalls    [Causes]histogramJSON `json:"stalls"` // in the order of Cause
	ExitTime  histogramJSON         `json:"exit_time"`
	QueueWait histogramJSON         `json:"queue_wait"`
	Delay     [][3]int64            `json:"delay_over_time"` // slice, observations, sum
	Stall     [][3]int64            `json:"stall_over_time"`
	TraceHash string                `json:"trace_hash"`
	Broken    []Breach              `json:"broken,omitempty"`
}

type histogramJSON struct {
	N    int64      `json:"n"`
	Sum  int64      `json:"sum"` // microseconds
	Max  int64      `json:"max"`
	Bars [][2]int64 `json:"bars"` // least microseconds of a bucket, values in it
}

// MarshalJSON writes the row in one way only: equal rows give equal bytes.
func (r *Row) MarshalJSON() ([]byte, error) {
	out := rowJSON{
		Counts: named(countNames[:], r.Counts[:]), Sums: named(sumNames[:], r.Sums[:]),
		Reasons: named(reasonNames[:], r.ByReason[:]), Censored: named(causeNames[:], r.Censored[:]),
		AllStalls: r.AllStalls.json(), ExitTime: r.ExitTime.json(), QueueWait: r.QueueWait.json(),
		Delay: r.DelayOverTime.json(), Stall: r.StallOverTime.json(),
		TraceHash: fmt.Sprintf("%016x", r.TraceHash), Broken: r.Broken,
	}
	for c := range r.Stalls {
		out.Stalls[c] = r.Stalls[c].json()
	}
	return json.Marshal(&out)
}

// UnmarshalJSON reads what MarshalJSON wrote, and refuses a row that no run can have left:
// names of counters it does not know, or histograms that contradict themselves.
func (r *Row) UnmarshalJSON(data []byte) error {
	var in rowJSON
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return err
	}
	hash, err := strconv.ParseUint(in.TraceHash, 16, 64)
	if err != nil || len(in.TraceHash) != 16 {
		return fmt.Errorf("trace_hash %.40q is not 16 hexadecimal digits", in.TraceHash)
	}
	row := Row{TraceHash: hash, Broken: in.Broken}
	for _, part := range []struct {
		name   string
		names  []string
		values []int64
		from   ordered
	}{
		{"counts", countNames[:], row.Counts[:], in.Counts}, {"sums", sumNames[:], row.Sums[:], in.Sums},
		{"reasons", reasonNames[:], row.ByReason[:], in.Reasons}, {"censored", causeNames[:], row.Censored[:], in.Censored},
	} {
		if err := part.from.fill(part.names, part.values); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	histograms := []struct {
		name string
		to   *Histogram
		from *histogramJSON
	}{{"all_stalls", &row.AllStalls, &in.AllStalls}, {"exit_time", &row.ExitTime, &in.ExitTime}, {"queue_wait", &row.QueueWait, &in.QueueWait}}
	for c := range row.Stalls {
		h := histograms[0]
		h.name, h.to, h.from = "stalls of cause "+causeNames[c], &row.Stalls[c], &in.Stalls[c]
		histograms = append(histograms, h)
	}
	for _, h := range histograms {
		if err := h.to.restore(h.from); err != nil {
			return fmt.Errorf("%s: %w", h.name, err)
		}
	}
	if err := row.DelayOverTime.restore(in.Delay); err != nil {
		return fmt.Errorf("delay_over_time: %w", err)
	}
	if err := row.StallOverTime.restore(in.Stall); err != nil {
		return fmt.Errorf("stall_over_time: %w", err)
	}
	*r = row
	return nil
}

// ordered is a JSON object of whole numbers that keeps the order of its members.
type ordered []struct {
	name  string
	value int64
}

func named(names []string, values []int64) ordered {
	var o ordered
	for i, v := range values {
		if v != 0 {
			o = append(o, struct {
				name  string
				value int64
			}{names[i], v})
		}
	}
	return o
}

func (o ordered) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(append(strconv.AppendQuote(b, m.name), ':'), m.value, 10)
	}
	return append(b, '}'), nil
}

func (o *ordered) UnmarshalJSON(data []byte) error {
	var members map[string]int64
	if err := json.Unmarshal(data, &members); err != nil {
		return err
	}
	*o = nil
	for name, value := range members { // in any order: fill looks each one up
		*o = append(*o, struct {
			name  string
			value int64
		}{name, value})
	}
	return nil
}

func (o ordered) fill(names []string, values []int64) error {
	place := make(map[string]int, len(names))
	for i, name := range names {
		place[name] = i
	}
	for _, m := range o {
		i, ok := place[m.name]
		if !ok {
			return fmt.Errorf("there is no %.40q", m.name)
		}
		if m.value < 0 {
			return fmt.Errorf("%s is negative", m.name)
		}
		values[i] = m.value
	}
	return nil
}

func (h *Histogram) json() histogramJSON {
	out := histogramJSON{N: h.N, Sum: h.Sum, Max: h.Max, Bars: [][2]int64{}}
	for _, b := range h.packed() {
		out.Bars = append(out.Bars, [2]int64{b.low, b.n})
	}
	return out
}

func (h *Histogram) restore(from *histogramJSON) error {
	var n int64
	last := int64(-1)
	for _, b := range from.Bars {
		low, count := b[0], b[1]
		switch {
		case low <= last:
			return fmt.Errorf("bucket %d does not come after %d", low, last)
		case low > maxMicros || low%widthAt(low) != 0:
			return fmt.Errorf("no bucket begins at %d", low)
		case count < 1 || count > math.MaxInt64-n:
			return fmt.Errorf("bucket %d holds %d values", low, count)
		}
		last, n = low, n+count
		h.bars = append(h.bars, bar{low, count})
	}
	if n != from.N || from.Sum < 0 || from.Max < max(last, 0) {
		return fmt.Errorf("n %d, sum %d and max %d do not fit %d values up to %d", from.N, from.Sum, from.Max, n, last)
	}
	h.N, h.Sum, h.Max = from.N, from.Sum, from.Max
	return nil
}

func (s *Series) json() [][3]int64 {
	out := [][3]int64{}
	for i, v := range s {
		if v != (Slice{}) {
			out = append(out, [3]int64{int64(i), v.N, v.Sum})
		}
	}
	return out
}

func (s *Series) restore(from [][3]int64) error {
	last := int64(-1)
	for _, v := range from {
		if v[0] <= last || v[0] >= Slices {
			return fmt.Errorf("slice %d after %d, of %d", v[0], last, Slices)
		}
		if v[1] < 0 || v[2] < 0 {
			return fmt.Errorf("slice %d is negative", v[0])
		}
		last = v[0]
		s[last] = Slice{N: v[1], Sum: v[2]}
	}
	return nil
}
