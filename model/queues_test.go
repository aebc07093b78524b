package model

import (
	"slices"
	"testing"

	"github.com/quiesce/quiesce/protocol"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var someJob = rapid.Custom(func(t *rapid.T) protocol.JobKey {
	return protocol.JobKey(rapid.Uint64Range(1, 40).Draw(t, "job"))
})

func TestARingIsAFirstInFirstOutQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r ring[protocol.JobKey]
		var want []protocol.JobKey
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				for range rapid.IntRange(1, 20).Draw(t, "n") {
					job := someJob.Draw(t, "job")
					r.push(job)
					want = append(want, job)
				}
			},
			"pop": func(t *rapid.T) {
				for range rapid.IntRange(0, len(want)).Draw(t, "n") {
					require.Equal(t, want[0], r.peek())
					require.Equal(t, want[0], r.pop())
					want = want[1:]
				}
			},
			"reset": func(*rapid.T) { r.reset(); want = nil },
			"copy": func(t *rapid.T) {
				var dst ring[protocol.JobKey]
				for range rapid.IntRange(0, 30).Draw(t, "past") {
					dst.push(99)
				}
				r.copyTo(&dst)
				r.push(77) // must not show in the copy
				want = append(want, 77)
				r = dst
				want = want[:len(want)-1]
			},
			"": func(t *rapid.T) { require.Equal(t, len(want), r.size) },
		})
	})
}

func TestAKeyHeapYieldsJobsByNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h keyHeap
		var want []protocol.JobKey
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				job := someJob.Draw(t, "job")
				h.push(job)
				want = append(want, job)
				slices.Sort(want)
			},
			"pop": func(t *rapid.T) {
				if len(want) > 0 {
					require.Equal(t, want[0], h.pop())
					want = want[1:]
				}
			},
			"": func(t *rapid.T) {
				require.Len(t, h, len(want))
				if len(want) > 0 {
					require.Equal(t, want[0], h[0])
				}
			},
		})
	})
}

func TestADueHeapYieldsJobsByInstantThenNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h dueHeap
		var want []dueJob
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				d := dueJob{protocol.Instant(rapid.Int64Range(0, 9).Draw(t, "at")), someJob.Draw(t, "job")}
				h.push(d)
				want = append(want, d)
				slices.SortFunc(want, func(d, e dueJob) int {
					if d.at != e.at {
						return int(d.at - e.at)
					}
					return int(d.job) - int(e.job)
				})
			},
			"pop": func(t *rapid.T) {
				if len(want) > 0 {
					require.Equal(t, want[0], h.pop())
					want = want[1:]
				}
			},
			"": func(t *rapid.T) {
				require.Len(t, h, len(want))
				if len(want) > 0 {
					require.Equal(t, want[0], h[0])
				}
			},
		})
	})
}
