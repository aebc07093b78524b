package manifest

import "strconv"

// IntOrPercent is a number of pods, or a share of the replicas in percent.
type IntOrPercent struct {
	Value   int
	Percent bool
}

// String writes the value as a manifest does: 2 or 25%.
func (v IntOrPercent) String() string {
	if v.Percent {
		return strconv.Itoa(v.Value) + "%"
	}
	return strconv.Itoa(v.Value)
}

// RoundUp is the number of pods, a fraction counting as a whole pod.
func (v IntOrPercent) RoundUp(replicas int) int {
	if !v.Percent {
		return v.Value
	}
	return v.share(replicas, 99)
}

// RoundDown is the number of pods, fractions dropped.
func (v IntOrPercent) RoundDown(replicas int) int {
	if !v.Percent {
		return v.Value
	}
	return v.share(replicas, 0)
}

// share stays in whole numbers: the controllers divide by 100 in floating point, which agrees
// for every number of replicas a cluster can hold. Both factors fit 32 bits.
func (v IntOrPercent) share(replicas, carry int) int {
	return int((int64(v.Value)*int64(replicas) + int64(carry)) / 100)
}
