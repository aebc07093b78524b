package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// Partitioned is a broker whose queues are spread over nodes and go on without one that is away;
// redis.Broker is one.
type Partitioned interface {
	// EachPartition calls f for each partition that its queue can go on without.
	EachPartition(f func(queue string, partition int, away bool))
}

// Partitions returns a collector that says at each scrape which partitions this process goes on
// without. Register it once for each broker, beside Metrics.
func Partitions(b Partitioned) prometheus.Collector { return partitions{b} }

type partitions struct{ broker Partitioned }

var partitionAway = prometheus.NewDesc(namespace+"_partition_away",
	"1 while a partition of the queue does not answer this process, which goes on with the others; else 0.", []string{"queue", "partition"}, nil)

// Describe implements prometheus.Collector.
func (partitions) Describe(out chan<- *prometheus.Desc) { out <- partitionAway }

// Collect implements prometheus.Collector.
func (p partitions) Collect(out chan<- prometheus.Metric) {
	p.broker.EachPartition(func(queue string, partition int, away bool) {
		value := 0.0
		if away {
			value = 1
		}
		out <- prometheus.MustNewConstMetric(partitionAway, prometheus.GaugeValue, value, queue, strconv.Itoa(partition))
	})
}
