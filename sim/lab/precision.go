package lab

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/quiesce/quiesce/model/meter"
)

// Headline is the metrics that a comparison is judged by, the first of them the one that
// policies are ranked by: it is over all jobs, so that no policy looks good by forgetting some.
var Headline = []string{"delay_seconds_per_job", "deploy_stall_seconds_mean"}

// FirstLook is how many replications are made before their precision is looked at.
const FirstLook = 10

// RunTo makes replications until every headline metric of every policy is known to the
// relative precision, or most replications are made; plan.Seeds does not matter. It looks on
// a geometric schedule, each time with half as many replications again: to look after each
// one would stop too often at a moment that happens to look precise. Whether it goes on
// depends on results alone, so the same plan gives the same replications everywhere.
func RunTo(ctx context.Context, plan Plan, precision float64, most int) (*Results, error) {
	known, start := plan.Known, time.Now()
	for n := min(FirstLook, most); ; n = min((3*n+1)/2, most) {
		plan.Seeds = n
		res, err := Run(ctx, plan)
		if err != nil {
			return res, err
		}
		res.Wall = time.Since(start)
		worst, name, policy := imprecise(res.Estimates())
		// γ/(1+γ) instead of γ: relative to the true mean, which may be that much smaller.
		switch reached := worst <= precision/(1+precision); {
		case reached:
			res.Stop = fmt.Sprintf("precision %s was reached after %d replications (looked at after %s)", percentage(precision), n, looks(n, most))
			return res, nil
		case n == most:
			res.Stop = fmt.Sprintf("precision %s was not reached within %d replications: %s under %s is known to ±%s; raise the limit or ask for less",
				percentage(precision), n, name, policy, percentage(worst))
			return res, nil
		}
		plan.Known = func(policy string, seed uint64) *meter.Row {
			for p, name := range res.Policies {
				if i := seed - plan.First; name == policy && i < uint64(len(res.Rows[p])) {
					return res.Rows[p][i]
				}
			}
			if known != nil {
				return known(policy, seed)
			}
			return nil
		}
	}
}

// looks lists the numbers of replications after which it was looked, up to n.
func looks(n, most int) string {
	text := ""
	for i := min(FirstLook, most); i < n; i = min((3*i+1)/2, most) {
		text += fmt.Sprintf("%d, ", i)
	}
	return text + fmt.Sprint(n)
}

// imprecise returns the largest half width of an interval relative to its mean, and whose.
func imprecise(policies []Policy) (worst float64, name, policy string) {
	for i := range policies {
		for _, e := range policies[i].Metrics {
			if !isHeadline(e.Name) || e.Replications == 0 || e.Variance == 0 {
				continue
			}
			half := (e.Hi - e.Lo) / 2 / math.Abs(e.Mean)
			if math.IsNaN(half) {
				half = math.Inf(1) // one replication, or a mean of zero
			}
			if half > worst {
				worst, name, policy = half, e.Name, policies[i].Name
			}
		}
	}
	return worst, name, policy
}

func isHeadline(name string) bool {
	for _, h := range Headline {
		if h == name {
			return true
		}
	}
	return false
}

// percentage writes three digits, and without an exponent what is known to less than its own size.
func percentage(v float64) string {
	if v >= 9.995 {
		return fmt.Sprintf("%.0f%%", 100*v)
	}
	return fmt.Sprintf("%.3g%%", 100*v)
}
