package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A clone is to know what runs in it, also where the memory it's put into had another machine before.
func TestACloneKnowsWhichJobsRun(t *testing.T) {
	for _, slots := range []int{manySlots - 1, manySlots} {
		m, fx, now := warm(slots)
		m.Step(now, GrantedJob(0, m.requests[0].seq, 7, 1, 0, 1, 0), fx)
		require.True(t, m.counted().known)
		var clone Machine
		m.CopyTo(&clone, NewMemory(m.cfg, slots))
		fx.Reset()
		clone.Step(now, GrantedJob(0, m.requests[0].seq, 7, 2, 0, 1, 0), fx)
		assert.Equal(t, []Reason{BecauseBusy}, reasons(fx), "%d slots", slots)
	}
}

// Where more jobs share a count than it can count, nothing is known of it any more.
func TestACountThatIsFullStaysFull(t *testing.T) {
	p := &Present{make([]uint8, 2)}
	for job := range JobKey(2000) {
		p.add(job)
	}
	for job := range JobKey(2000) {
		p.remove(job)
		assert.True(t, p.mayHave(job))
	}
}

func reasons(fx *Effects) (all []Reason) {
	for _, e := range fx.All() {
		if e.Kind == Settle {
			all = append(all, e.Reason)
		}
	}
	return all
}
