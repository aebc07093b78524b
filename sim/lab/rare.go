package lab

import "math"

// Few is the count from which an interval by Student's t over replications is used for a
// rare event, and below which it is treated as one: [RareRate].
const Few = 20

// RareRate returns the limits of the 95% interval of the probability of an event that was
// seen count times in so many trials, variance being that of the count between replications.
//
// Nothing seen: the upper limit is 3/trials, the rule of three. Otherwise the limits are
// Wilson's. Both take trials as independent. Jobs of one run are not always: one failover
// loses many at once. Where the counts of replications spread more than independent trials
// would, by a factor, trials and count are divided by it, which widens the interval as much.
// For an event that was never seen there is nothing to take such a factor from; what can be
// said without it is [QuietRuns].
func RareRate(count, trials, variance, mean float64) (lo, hi float64) {
	if trials <= 0 {
		return 0, 1
	}
	if count == 0 {
		return 0, math.Min(3/trials, 1)
	}
	trials = math.Max(trials, count)           // jobs of the warm-up may be among those that are counted
	if spread := variance / mean; spread > 1 { // also not NaN
		count, trials = count/spread, trials/spread
	}
	return wilson(count, trials)
}

// wilson returns the limits of the 95% interval of a probability. They stay within 0 and 1
// and say something even of a handful of events.
func wilson(count, trials float64) (lo, hi float64) {
	const z = 1.959963984540054 // 97.5% of a normal distribution lie below it
	p := count / trials
	scale := 1 + z*z/trials
	centre := (p + z*z/(2*trials)) / scale
	// Converted, or some processors would add and multiply at once, and round differently.
	half := float64(z / scale * math.Sqrt(p*(1-p)/trials+z*z/(4*trials*trials)))
	return math.Max(centre-half, 0), math.Min(centre+half, 1)
}

// QuietRuns returns the upper limit of the probability that a run sees an event that n runs
// did not see. Runs are independent whatever happens within them.
func QuietRuns(n int) float64 {
	return 1 - math.Pow(1-Confidence, 1/float64(n))
}
