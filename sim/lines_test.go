package sim

import (
	"reflect"
	"strconv"
	"testing"

	"github.com/quiesce/quiesce/protocol"
	"github.com/stretchr/testify/require"
)

// Memory is fetched in lines, so what is looked at for an event must not lie across one more of
// them than it has to.
func TestSeatsAndBodiesWithOneSlotBeginWithALine(t *testing.T) {
	if strconv.IntSize < 64 {
		t.Skip("they are laid out for pointers of 64 bits")
	}
	require.EqualValues(t, line, reflect.TypeFor[process]().Size())
	require.EqualValues(t, whole, reflect.TypeFor[singleSlot]().Size())
	attended, _ := reflect.TypeFor[body]().FieldByName("tickAt")
	require.EqualValues(t, line, attended.Offset)
	sc := smallFleet()
	sc.Fleet.Workers, sc.Fleet.Slots = 500, 1
	w := newWorld(t, sc, "hybrid", 1)
	require.NoError(t, w.runTo(protocol.Instant(5*protocol.Second), nil))
	up := 0
	for i := range w.fleet.used() {
		p := w.fleet.at(i)
		require.Zero(t, reflect.ValueOf(p).Pointer()%line)
		if p.state == seatUp {
			require.Zero(t, reflect.ValueOf(p.body).Pointer()%line)
			up++
		}
	}
	require.NotZero(t, up)
}
