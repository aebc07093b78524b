package lab

import (
	"math"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
)

// CrashOnlyStall returns what theory says of the mean stall, in seconds, of a job whose worker
// dies at the signal of a deploy: the lease less the age of its last renewal. A deploy finds a
// job of a kind with a chance in proportion to the kind's share of all work, and finds it at an
// age with density P(S>x)/E[S]; the last renewal was then x mod heartbeat ago.
//
// The wait for a free worker after the lease comes on top, and renewals may be younger than
// they are here: a worker renews all its claims in one round, which the job of a neighbouring
// slot or the job before may have begun. It is NaN when jobs come from a trace.
func CrashOnlyStall(sc *model.Scenario) float64 {
	if sc.Trace != nil {
		return math.NaN()
	}
	heartbeat := float64(sc.Queue.Heartbeat) / 1e9
	var work, age float64 // per unit of time
	for i := range sc.Jobs {
		j := &sc.Jobs[i]
		if j.Arrivals == nil || j.Work == nil {
			return math.NaN()
		}
		gap := j.Arrivals.Moments().Mean / 1e9
		work += meanOf(j.Work, func(s float64) float64 { return s }) / gap
		age += meanOf(j.Work, func(s float64) float64 { return integralOfAge(s, heartbeat) }) / gap
	}
	if work == 0 {
		return math.NaN()
	}
	return float64(sc.Queue.Lease)/1e9 - age/work
}

// integralOfAge is ∫ (x mod h) dx from 0 to s: the area of whole teeth of a saw and of one
// that was begun.
func integralOfAge(s, h float64) float64 {
	rest := math.Mod(s, h)
	return math.Floor(s/h)*h*h/2 + rest*rest/2
}

// meanOf returns E[f(S)], S in seconds, by the midpoint rule over the quantiles of a table.
func meanOf(work *dist.Table, f func(float64) float64) float64 {
	const cells = 1 << 16
	sum := 0.0
	for i := uint64(0); i < cells; i++ {
		sum += f(float64(work.Quantile(2*i+1, 2*cells)) / 1e9)
	}
	return sum / cells
}
