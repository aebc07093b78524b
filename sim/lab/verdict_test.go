package lab

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/quiesce/quiesce/model/meter"
)

var (
	low  = []int64{1000, 1010, 990, 1005, 1000, 995, 1002, 998}
	same = []int64{1003, 1004, 994, 1001, 1004, 999, 998, 1000}
	high = []int64{2000, 2010, 1990, 2005, 2000, 1995, 2002, 1998}
)

func TestTheBestIsNamedWhenItIsClearlyTheBest(t *testing.T) {
	v := made([]string{"bad", "good"}, [][]int64{high, low}).Judge()
	assert.Equal(t, "good", v.Order[0].Policy)
	assert.InDelta(t, 2, v.Order[1].Mean, 1e-9)
	assert.Equal(t, 1, v.Tied)
	assert.Empty(t, v.Idle)
}

func TestPoliciesThatCannotBeToldApartShareTheirPlace(t *testing.T) {
	v := made([]string{"a", "bad", "b"}, [][]int64{same, high, low}).Judge()
	assert.Equal(t, 2, v.Tied)
	assert.Equal(t, "bad", v.Order[2].Policy)
	// Equal to the last digit is not apart either.
	assert.Equal(t, 2, made([]string{"a", "b"}, [][]int64{low, low}).Judge().Tied)
	// Nor is anything after one replication.
	assert.Equal(t, 2, made([]string{"a", "b"}, [][]int64{low[:1], high[:1]}).Judge().Tied)
}

func TestTooLittleHappened(t *testing.T) {
	r := made([]string{"a", "b"}, [][]int64{low, high})
	for _, row := range r.Rows[1] {
		row.Counts[meter.Interruptions] = 2
	}
	assert.Equal(t, []Meeting{{"b", 16}}, r.Judge().Idle)
	// A policy that lets jobs finish has something to show for it.
	for _, row := range r.Rows[1] {
		row.Counts[meter.FinishedInGrace] = 1
	}
	assert.Empty(t, r.Judge().Idle)
}

func TestFlips(t *testing.T) {
	names := []string{"a", "b"}
	at := func(a, b []int64) *Results { return made(names, [][]int64{a, b}) }
	assert.Empty(t, Flips([]*Results{at(low, high), at(same, high)}))
	assert.Equal(t, []Flip{{Better: "a", Worse: "b", Low: 0, High: 1, Clear: true}}, Flips([]*Results{at(low, high), at(high, low)}))
	assert.Equal(t, []Flip{{Better: "b", Worse: "a", Low: 0, High: 2, Clear: true}}, Flips([]*Results{at(high, low), at(low, low), at(low, high)}))
	unclear := Flips([]*Results{at(low, high), at(same, low)})
	if assert.Len(t, unclear, 1) {
		assert.False(t, unclear[0].Clear)
	}
	assert.Empty(t, Flips(nil))
}
