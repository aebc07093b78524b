package agenda

import (
	"math"
	"slices"
	"testing"

	"github.com/quiesce/quiesce/protocol"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// due is an entry as a naive queue would keep it.
type due struct {
	at       protocol.Instant
	priority uint8
	n        int
}

func (d due) compare(e due) int {
	switch {
	case d.at != e.at:
		return int(min(max(d.at-e.at, -1), 1))
	case d.priority != e.priority:
		return int(d.priority) - int(e.priority)
	default:
		return d.n - e.n
	}
}

func TestEntriesLeaveByInstantPriorityAndOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a Agenda[int]
		var want []due
		now, n := protocol.Instant(0), 0
		gaps := rapid.SampledFrom([]int64{0, 0, 1, 1000, 65_535, 65_536, 1 << 20, 1 << 24, 1 << 33, 1 << 45, 1 << 60})
		push := func(t *rapid.T, at protocol.Instant) {
			n++
			d := due{max(at, now), rapid.Uint8Max(3).Draw(t, "priority"), n}
			a.Push(d.at, d.priority, d.n)
			i, _ := slices.BinarySearchFunc(want, d, due.compare)
			want = slices.Insert(want, i, d)
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				g := gaps.Draw(t, "gap")
				push(t, now.Add(protocol.Duration(rapid.Int64Range(0, g).Draw(t, "ahead"))))
			},
			"push many": func(t *rapid.T) {
				g := gaps.Draw(t, "gap")
				for range 3 * little {
					push(t, now.Add(protocol.Duration(rapid.Int64Range(0, g).Draw(t, "ahead"))))
				}
			},
			"push never": func(t *rapid.T) { push(t, protocol.Never) },
			"pop": func(t *rapid.T) {
				for range rapid.IntRange(1, 2*little).Draw(t, "times") {
					if len(want) == 0 {
						break
					}
					require.Equal(t, want[0].at, a.Peek())
					next := a.Pop()
					require.Equal(t, want[0], due{next.At, want[0].priority, next.What})
					now, want = next.At, want[1:]
				}
			},
			"": func(t *rapid.T) { require.Equal(t, len(want), a.Len()) },
		})
	})
}

func TestAnEmptyAgendaIsDueNever(t *testing.T) {
	var a Agenda[int]
	assert.Equal(t, protocol.Never, a.Peek())
	assert.False(t, a.Turn())
	a.Push(7, 0, 1)
	assert.Equal(t, protocol.Instant(7), a.Peek())
	a.Pop()
	assert.Equal(t, protocol.Never, a.Peek())
	a.Push(math.MaxInt64, 0, 1)
	assert.Equal(t, 1, a.Len())
	assert.Equal(t, protocol.Never, a.Pop().At)
}

// What turns up is all that happens next, and nothing that happens later: whoever looks at
// it has seen what the following pops return, as long as nothing is pushed.
func TestNearIsWhatHappensNext(t *testing.T) {
	var a Agenda[int]
	for n := range 1000 {
		a.Push(protocol.Instant(1+n)*protocol.Instant(protocol.Millisecond), 0, n)
	}
	for n := 0; n < 1000; {
		require.True(t, a.Turn())
		near := a.Near()
		require.NotEmpty(t, near)
		require.LessOrEqual(t, len(near), little)
		for range len(near) {
			require.False(t, a.Turn())
			require.Equal(t, n, a.Pop().What)
			n++
		}
	}
}

func TestNothingIsAllocatedOnceWarm(t *testing.T) {
	var a Agenda[int]
	x := uint64(1)
	turn := func() {
		next := a.Pop()
		x = x*6364136223846793005 + 1442695040888963407
		a.Push(next.At+protocol.Instant(x>>(20+x>>60)), 0, next.What)
	}
	for n := range 10_000 {
		a.Push(protocol.Instant(n), 0, n)
	}
	for range 1_000_000 {
		turn()
	}
	assert.Less(t, testing.AllocsPerRun(1_000_000, turn), 0.001)
	assert.Equal(t, 10_000, a.Len())
}

func benchmarkHold(b *testing.B, pending int) {
	var a Agenda[uint32]
	x := uint64(1)
	draw := func() protocol.Instant {
		x = x*6364136223846793005 + 1442695040888963407
		return protocol.Instant(x >> 28) // up to about a minute
	}
	for range pending {
		a.Push(draw(), 0, 0)
	}
	for b.Loop() {
		next := a.Pop()
		a.Push(next.At+draw(), 0, next.What)
	}
}

func BenchmarkHold1000(b *testing.B)    { benchmarkHold(b, 1000) }
func BenchmarkHold10000(b *testing.B)   { benchmarkHold(b, 10_000) }
func BenchmarkHold1000000(b *testing.B) { benchmarkHold(b, 1_000_000) }
