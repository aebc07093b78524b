package model

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func contents(p *Pages[int]) (numbers []uint64, values []int) {
	p.Each(func(n uint64, v *int) { numbers, values = append(numbers, n), append(values, *v) })
	return numbers, values
}

func TestPagesAreAMapFromNumbersToValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p Pages[int]
		want := map[uint64]int{}
		next := rapid.Uint64Range(0, 5000).Draw(t, "first")
		compare := func(t *rapid.T, p *Pages[int]) {
			numbers, values := contents(p)
			require.Len(t, numbers, len(want))
			require.True(t, slices.IsSorted(numbers))
			for i, n := range numbers {
				require.Equal(t, want[n], values[i], "number %d", n)
				require.Same(t, p.Get(n), p.Get(n))
			}
		}
		some := func(t *rapid.T) uint64 {
			numbers, _ := contents(&p)
			if len(numbers) == 0 {
				return next
			}
			return rapid.SampledFrom(numbers).Draw(t, "number")
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				next += rapid.SampledFrom([]uint64{1, 1, 100, 300, 20_000}).Draw(t, "gap")
				require.Zero(t, *p.Put(next), "memory that was used before is cleared")
				*p.Put(next), want[next] = int(next), int(next)
			},
			"put again": func(t *rapid.T) {
				n := next - min(next, rapid.Uint64Range(0, 3000).Draw(t, "back"))
				require.Zero(t, *p.Put(n))
				*p.Put(n), want[n] = -1, -1
			},
			"put over": func(t *rapid.T) {
				n := some(t)
				require.Zero(t, *p.Put(n))
				*p.Put(n), want[n] = -2, -2
			},
			"drop": func(t *rapid.T) { n := some(t); p.Drop(n); delete(want, n) },
			"drop all up to": func(t *rapid.T) {
				to := some(t)
				for n := range want {
					if n <= to {
						p.Drop(n)
						delete(want, n)
					}
				}
			},
			"drop nothing": func(t *rapid.T) { p.Drop(next + 1) },
			"get": func(t *rapid.T) {
				n := rapid.Uint64Range(0, next+600).Draw(t, "number")
				_, known := want[n]
				require.Equal(t, known, p.Get(n) != nil)
			},
			"copy": func(t *rapid.T) {
				var dst Pages[int]
				for n := range rapid.Uint64Range(0, 2000).Draw(t, "past") {
					*dst.Put(n) = 77
				}
				p.CopyTo(&dst)
				compare(t, &dst)
				require.Zero(t, *dst.Put(next + 40_000))
				dst.Drop(next + 40_000)
				compare(t, &dst) // also what takes the pages it had before is empty
				for n := range want {
					*dst.Get(n) = 99
				}
				compare(t, &p)
			},
			"": func(t *rapid.T) { compare(t, &p) },
		})
	})
}

func TestTheDirectoryOfPagesDoesNotGrowWithTheNumbers(t *testing.T) {
	var p Pages[int]
	const together = 10 * pageSize
	for n := range uint64(1_000_000) {
		*p.Put(n) = 1
		if n >= together {
			p.Drop(n - together)
		}
	}
	numbers, _ := contents(&p)
	require.Len(t, numbers, together)
	assert.LessOrEqual(t, len(p.dir), 128)
	assert.LessOrEqual(t, len(p.spare), 2, "pages are used again")
	assert.LessOrEqual(t, len(p.values.blocks), together/blockSize+1, "and so is the room of values")
}

func TestCopyingAgainAndAgainPilesUpNoPages(t *testing.T) {
	var empty, full, dst Pages[int]
	for n := range uint64(3 * pageSize) {
		*full.Put(n) = 1
	}
	for range 100 {
		full.CopyTo(&dst)
		empty.CopyTo(&dst)
	}
	assert.Len(t, dst.spare, 3)
	assert.Empty(t, dst.values.blocks)
}

func TestPutAndDropAllocateNothingOnceWarm(t *testing.T) {
	var p Pages[int]
	n := uint64(0)
	turn := func() {
		*p.Put(n) = 1
		if n >= 600 {
			p.Drop(n - 600)
		}
		n++
	}
	for range 100_000 {
		turn()
	}
	assert.Zero(t, testing.AllocsPerRun(100_000, turn))
}
