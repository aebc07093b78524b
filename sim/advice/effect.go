package advice

import (
	"cmp"
	"math"
	"slices"

	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/sim/lab"
)

// Effect is what a change does to what is lost.
type Effect uint8

// Effects.
const (
	Unclear Effect = iota // nothing that can be told apart and matters
	Helps                 // something becomes less, and nothing more
	Trades                // something becomes less, something else more
	Hurts                 // something becomes more, and nothing less
)

func (e Effect) String() string { return [...]string{"unclear", "helps", "trades", "hurts"}[e] }

// Lost are the metrics that an effect is judged by: the less of each the better. Delay comes first,
// by which trials are ranked.
var Lost = []string{
	lab.Headline[0], "deploy_stall_seconds_mean", "crash_stall_seconds_mean", "redone_work_seconds", "attempts_eroded",
	"jobs_dead_lettered_by_interruptions", "overlapping_executions",
}

// matters is the part of a value that a difference must be to matter. Replications of a trace differ
// so little that differences nobody would notice are significant.
const matters = 0.01

// clear reports whether a difference is told from none. A trial has a chance to look better in each
// of the metrics, so Holm's correction for the trials is Bonferroni's for those as well.
func clear(e *lab.Estimate) bool {
	return e != nil && !e.TooFew && e.Pairing != nil && e.Pairing.Adjusted*float64(len(Lost)) <= 1-lab.Confidence
}

// compare measures trials and takes their differences from a base.
func compare(base *Trial, trials []*Trial) *lab.Results {
	r := &lab.Results{Rows: [][]*meter.Row{base.rows}, Policies: []string{"base"}}
	for range base.rows {
		r.Seeds = append(r.Seeds, uint64(len(r.Seeds)))
	}
	r.Asked = len(r.Seeds)
	for _, t := range trials {
		r.Rows, r.Policies = append(r.Rows, t.rows), append(r.Policies, column)
	}
	all := r.Estimates()
	base.Metrics = all[0].Metrics
	for i, d := range r.Paired() {
		trials[i].Metrics, trials[i].Against = all[i+1].Metrics, d.Metrics
		trials[i].Effect = effect(trials[i], base)
	}
	return r
}

// stage compares trials with their base, ranks them, and chooses.
func stage(base *Trial, trials []*Trial) Stage {
	r := compare(base, trials)
	s := Stage{Base: base, Trials: slices.Clone(trials), Idle: len(r.Judge().Idle) == len(r.Policies)}
	slices.SortStableFunc(s.Trials, func(a, b *Trial) int {
		return cmp.Compare(a.of(Lost[0]), b.of(Lost[0]))
	})
	s.Best = base
	if best := leastChange(trials); best != nil && !s.Idle {
		s.Best = best
	}
	return s
}

// helping are the changes of the trials that help, one of each key.
func (s *Stage) helping() []Change {
	var all []Change
	if s.Idle {
		return nil
	}
	byKey := make(map[Key][]*Trial)
	var keys []Key
	for _, t := range s.Trials {
		if k := t.Tried.Key; !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
		byKey[t.Tried.Key] = append(byKey[t.Tried.Key], t)
	}
	for _, k := range keys { // in the order of their best
		trials := byKey[k]
		slices.SortStableFunc(trials, smallerChange)
		if t := leastChange(trials); t != nil {
			all = append(all, *t.Tried)
		}
	}
	return all
}

// smallerChange orders trials of one key: longer leases and shorter graces are nearer to what is.
func smallerChange(a, b *Trial) int {
	distance := func(c *Change) int64 {
		d := int64(c.To - c.From)
		if c.Key == Surge {
			return int64(c.Rollout.MaxSurge.Value)
		}
		return max(d, -d)
	}
	return cmp.Compare(distance(a.Tried), distance(b.Tried))
}

// leastChange returns of the trials that help the first that is not clearly worse than the best of
// them; nil when none helps. They come in the order in which they are preferred.
func leastChange(trials []*Trial) *Trial {
	var helping []*Trial
	for _, t := range trials {
		if t.Effect == Helps {
			helping = append(helping, t)
		}
	}
	for _, t := range helping {
		if slices.ContainsFunc(helping, func(other *Trial) bool { return other != t && clearlyLess(other, t) }) {
			continue
		}
		return t
	}
	return nil
}

// clearlyLess reports whether a delays jobs clearly less than b does, and by so much that it matters.
func clearlyLess(a, b *Trial) bool {
	r := &lab.Results{Policies: []string{"b", "a"}, Rows: [][]*meter.Row{b.rows, a.rows}, Seeds: make([]uint64, len(b.rows))}
	e := find(r.Paired()[0].Metrics, Lost[0])
	return clear(e) && e.Mean < 0 && -e.Mean >= matters*b.of(Lost[0])
}

// effect judges the difference of a trial from its base.
func effect(t, base *Trial) Effect {
	less, more := false, false
	for _, name := range Lost {
		switch t.Direction(name, base) {
		case -1:
			less = true
		case 1:
			more = true
		}
	}
	switch {
	case less && more:
		return Trades
	case less:
		return Helps
	case more:
		return Hurts
	}
	return Unclear
}

// Direction is -1 when the trial has clearly less of a metric than its base, 1 when it has clearly
// more, and 0 when that cannot be told or does not matter.
func (t *Trial) Direction(name string, base *Trial) int {
	d := find(t.Against, name)
	if !clear(d) || math.Abs(d.Mean) < matters*math.Max(t.of(name), base.of(name)) {
		return 0
	}
	if d.Mean < 0 {
		return -1
	}
	return 1
}

// of is the mean of a metric, 0 when it was not measured.
func (t *Trial) of(name string) float64 {
	if e := find(t.Metrics, name); e != nil && !math.IsNaN(e.Mean) {
		return e.Mean
	}
	return 0
}

// Metric returns what was measured, or nil.
func (t *Trial) Metric(name string) *lab.Estimate { return find(t.Metrics, name) }

// Difference returns the difference from the base, or nil.
func (t *Trial) Difference(name string) *lab.Estimate { return find(t.Against, name) }

func find(all []lab.Estimate, name string) *lab.Estimate {
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}
