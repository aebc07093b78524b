package meter

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/quiesce/quiesce/protocol"
)

// An interruption is known later than it began, and its stall may turn out to be none. In however
// many pieces it was counted meanwhile, all of it is taken back: a row with less than nothing is
// refused where rows are read.
func TestAStretchThatIsTakenBackLeavesNothing(t *testing.T) {
	w := Window{Until: protocol.Instant(protocol.Second)}
	var l level
	at := func(nanos int64) protocol.Instant { return protocol.Instant(nanos) }
	l.add(&w, at(1_700), +1)
	for i := int64(0); i < 9; i++ { // pieces of 900 ns, each less than a microsecond
		l.add(&w, at(2_600+900*i), 0)
	}
	l.add(&w, at(1_700), -1)
	assert.Zero(t, l.area)
}
