package metrics_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/quiesce/quiesce/realworld/metrics"
)

// nodes is a broker with partitions, by queue: whether each is away.
type nodes map[string][]bool

func (n nodes) EachPartition(f func(queue string, partition int, away bool)) {
	for queue, partitions := range n {
		for i, away := range partitions {
			f(queue, i, away)
		}
	}
}

func TestPartitionsThatAreAwayAreTold(t *testing.T) {
	n := nodes{"mail": {false, false}, "render": {false}}
	c := metrics.Partitions(n)
	assert.Equal(t, map[string]float64{
		"quiesce_partition_away{partition=0,queue=mail}": 0, "quiesce_partition_away{partition=1,queue=mail}": 0,
		"quiesce_partition_away{partition=0,queue=render}": 0,
	}, values(t, c), "they are there from the start")
	n["mail"][1] = true
	assert.Equal(t, 1.0, values(t, c)["quiesce_partition_away{partition=1,queue=mail}"])
	n["mail"][1] = false
	assert.Zero(t, values(t, c)["quiesce_partition_away{partition=1,queue=mail}"])
}
