package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/sim/lab"
)

// verdict is what a comparison allows to conclude.
type verdict struct {
	winner string   // or empty
	best   []string // those that cannot be told from the best
	text   string
}

// judge names the policy with the least delay per job, or says why it names none. It names
// none for a single policy, and says nothing.
func judge(results *lab.Results) verdict {
	if len(results.Policies) < 2 {
		return verdict{}
	}
	v := results.Judge()
	switch {
	case len(v.Order) < 2:
		return verdict{text: "No winner is named: fewer than two policies have a delay per job."}
	case len(results.Seeds) < 2:
		return verdict{text: "No winner is named: one replication cannot tell a difference from chance; use --seeds 10 or more."}
	case len(v.Idle) > 0:
		return verdict{text: idleInWords(v.Idle)}
	}
	var best, rest []string
	for i, r := range v.Order {
		text := fmt.Sprintf("%s (%s)", r.Policy, seconds(r.Mean))
		if i < v.Tied {
			best = append(best, text)
		} else {
			rest = append(rest, text)
		}
	}
	out := verdict{}
	for _, r := range v.Order[:v.Tied] {
		out.best = append(out.best, r.Policy)
	}
	switch {
	case v.Tied == 1:
		out.winner = v.Order[0].Policy
		out.text = fmt.Sprintf("Least delay per job: %s, clearly less than %s.", best[0], and(rest)) + price(results, out.winner)
	case len(rest) == 0:
		out.text = fmt.Sprintf("No winner is named: by delay per job %s cannot be told apart.", and(best))
	default:
		out.text = fmt.Sprintf("No winner is named: by delay per job %s cannot be told apart; %s clearly worse than the first.", and(best), isAre(rest))
	}
	return out
}

// price says what the winner did to its jobs that another policy did less of: delay is not
// everything that a job has to suffer.
func price(results *lab.Results, winner string) string {
	var paid []string
	for _, harm := range []struct {
		count      meter.Count
		what, done string
	}{
		{meter.OverlappingExecutions, "execution", "beside another of the same job"},
		{meter.JobsCancelled, "job", "cancelled for good"},
		{meter.JobsDeadLettered, "job", "dead-lettered"},
		{meter.JobsLost, "job", "lost"},
	} {
		var own int64
		least := int64(math.MaxInt64)
		for p, name := range results.Policies {
			var n int64
			for _, row := range results.Rows[p] {
				n += row.Counts[harm.count]
			}
			if name == winner {
				own = n
			}
			least = min(least, n)
		}
		if own > least {
			paid = append(paid, plural(int(own), harm.what)+" "+harm.done)
		}
	}
	if len(paid) == 0 {
		return ""
	}
	return fmt.Sprintf(" In all runs it cost %s.", and(paid))
}

func idleInWords(idle []lab.Meeting) string {
	var each []string
	for i, m := range idle {
		jobs := fmt.Sprint(m.Jobs)
		if i == 0 {
			jobs = plural(int(m.Jobs), "job")
		}
		each = append(each, jobs+" under "+m.Policy)
	}
	return fmt.Sprintf("No winner is named: too little happened. In all runs together a stop, a crash or a pause met %s, and below %d policies have hardly an occasion to differ; run longer, or use more seeds.",
		and(each), lab.Interesting)
}

func and(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

func isAre(words []string) string {
	if len(words) == 1 {
		return words[0] + " is"
	}
	return and(words) + " are"
}

func wasWere(n int, thing string) string {
	if n == 1 {
		return plural(n, thing) + " was"
	}
	return plural(n, thing) + " were"
}

// warmup compares the scenario's warm-up with what MSER-5 suggests.
type warmup struct {
	given  float64 // seconds
	length float64 // of a run
	alone  bool    // there is one run, and nothing to tell chance by
	all    []lab.Transient
}

func judgeWarmup(results *lab.Results) warmup {
	return warmup{given: float64(results.Setting.Warmup) / 1e9, length: float64(results.Setting.Duration) / 1e9,
		alone: len(results.Seeds) < 2, all: results.Transients()}
}

// suggested returns the longest transient among those that end, and whose it is.
func (w *warmup) suggested() (longest float64, by *lab.Transient) {
	for i := range w.all {
		t := &w.all[i]
		if s := float64(t.Nanos) / 1e9; !t.Unsettled && (by == nil || s > longest) {
			longest, by = s, t
		}
	}
	return longest, by
}

// notes says what is to be done about the warm-up, and nothing that is only noise: a cut that
// makes no difference between the runs and themselves is named, without advice.
func (w *warmup) notes() []string {
	if len(w.all) == 0 {
		return []string{"warm-up: too little happens in a run for MSER-5 to judge it"}
	}
	var notes, never, noise []string
	var worst *lab.Transient
	for i := range w.all {
		t := &w.all[i]
		course := t.Of + " under " + t.Policy
		switch {
		case (t.ByChance || w.alone) && (t.Unsettled || w.short(t)):
			noise = append(noise, course)
		case t.Unsettled:
			never = append(never, course+byHow(t))
		case w.short(t) && (worst == nil || t.Nanos > worst.Nanos):
			worst = t
		}
	}
	if worst != nil {
		cut := float64(worst.Nanos) / 1e9
		notes = append(notes, fmt.Sprintf("warm-up: MSER-5 would leave out the first %s (%s under %s%s), and only %s is left out; set warmup: %s",
			prose(cut), worst.Of, worst.Policy, byHow(worst), prose(w.given), goDuration(cut)))
	}
	if len(never) > 0 {
		notes = append(notes, fmt.Sprintf("warm-up: MSER-5 sees no steady state within the first half of the run for %s; these means depend on how long the run is", and(never)))
	}
	if len(noise) > 0 {
		because := "the runs show no difference that it makes"
		if w.alone {
			because = "one run does not tell whether that is more than chance"
		}
		notes = append(notes, fmt.Sprintf("warm-up: MSER-5 would leave out more than the first %s for %s, and %s", prose(w.given), and(noise), because))
	}
	if longest, by := w.suggested(); len(notes) == 0 && by != nil {
		would := "nothing"
		if longest > 0 {
			would = prose(longest)
		}
		notes = append(notes, fmt.Sprintf("warm-up: MSER-5 would leave out %s, and %s is left out", would, prose(w.given)))
	}
	return notes
}

// short reports whether the scenario leaves out less than t asks for.
func (w *warmup) short(t *lab.Transient) bool { return float64(t.Nanos)/1e9 > w.given }

func byHow(t *lab.Transient) string {
	switch {
	case math.IsNaN(t.Shift) || math.IsInf(t.Shift, 0):
		return ""
	case t.Shift >= 9:
		return ", to " + times(1+t.Shift)
	}
	return ", " + asShare.signed(t.Shift)
}

// goDuration writes seconds as a scenario file takes them.
func goDuration(s float64) string {
	if s < 60 {
		return fmt.Sprintf("%.0fs", math.Ceil(s))
	}
	return fmt.Sprintf("%.0fm", math.Ceil(s/60))
}
