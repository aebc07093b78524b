package hunt

import (
	"math/bits"

	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/protocol"
)

// chance is the random numbers by which one scenario is drawn. They are drawn in turn, unlike
// those of a run: whoever adds a draw gets other scenarios, and findings are kept as files.
type chance struct{ state uint64 }

func newChance(seed uint64) *chance { return &chance{state: seed * 0x9e3779b97f4a7c15} }

// next is splitmix64 (Steele, Lea and Flood, 2014).
func (c *chance) next() uint64 {
	c.state += 0x9e3779b97f4a7c15
	x := c.state
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// upTo returns a number from 0 to n-1.
func (c *chance) upTo(n int) int {
	hi, _ := bits.Mul64(c.next(), uint64(n))
	return int(hi)
}

// between returns a number from a to b.
func (c *chance) between(a, b int) int { return a + c.upTo(b-a+1) }

// in reports whether one of n cases is the case.
func (c *chance) in(n int) bool { return c.upTo(n) == 0 }

// length returns a duration from a to b, in milliseconds.
func (c *chance) length(a, b protocol.Duration) protocol.Duration {
	const ms = protocol.Millisecond
	return protocol.Duration(c.between(int(a/ms), int(b/ms))) * ms
}

// one returns one of several.
func one[T any](c *chance, list ...T) T { return list[c.upTo(len(list))] }

// constant and uniform are the laws that scenarios of a hunt use: they are made in no time.
func constant(d protocol.Duration) *dist.Table { return made(dist.Constant(int64(d))) }

func uniform(a, b protocol.Duration) *dist.Table { return made(dist.Uniform(int64(a), int64(b))) }

func made(t *dist.Table, err error) *dist.Table {
	if err != nil {
		panic("hunt: " + err.Error()) // the limits are constants of this package
	}
	return t
}
