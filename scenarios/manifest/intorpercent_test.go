package manifest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestRounding(t *testing.T) {
	for _, c := range []struct {
		value    IntOrPercent
		replicas int
		up, down int
	}{
		{IntOrPercent{25, true}, 10, 3, 2},
		{IntOrPercent{25, true}, 4, 1, 1},
		{IntOrPercent{25, true}, 1, 1, 0},
		{IntOrPercent{1, true}, 0, 0, 0},
		{IntOrPercent{0, true}, 7, 0, 0},
		{IntOrPercent{150, true}, 3, 5, 4},
		{IntOrPercent{2, false}, 7, 2, 2},
		{IntOrPercent{10, false}, 3, 10, 10},
		{IntOrPercent{999_999_999, true}, math.MaxInt32, 21474836448525164, 21474836448525163},
	} {
		assert.Equal(t, c.up, c.value.RoundUp(c.replicas), "%s of %d, up", c.value, c.replicas)
		assert.Equal(t, c.down, c.value.RoundDown(c.replicas), "%s of %d, down", c.value, c.replicas)
	}
}

// The controllers compute in floating point; see GetScaledValueFromIntOrPercent in the package
// intstr of Kubernetes.
func TestRoundingAgreesWithTheControllers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := IntOrPercent{rapid.IntRange(0, 300).Draw(t, "percent"), true}
		replicas := rapid.IntRange(0, 200_000).Draw(t, "replicas")
		exact := float64(v.Value) * float64(replicas) / 100
		assert.Equal(t, int(math.Ceil(exact)), v.RoundUp(replicas))
		assert.Equal(t, int(math.Floor(exact)), v.RoundDown(replicas))
	})
}
