package model

import (
	"testing"

	"github.com/quiesce/quiesce/protocol"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAFinishedJobIsRememberedForAsLongAsAMessageLives(t *testing.T) {
	s := tell(t)
	s.job()
	w := s.worker(0, 1)
	g := w.take()
	s.at(second)
	w.ack(g)
	s.at(10*minute + second - 1)
	s.tick()
	assert.Equal(t, protocol.Repeat, w.ack(g))
	s.at(10*minute + second)
	s.tick()
	assert.Nil(t, s.b.Job(1))
	assert.Equal(t, protocol.Stale, w.ack(g))
}

func TestDeadLettersAndQuarantinedJobsAreKept(t *testing.T) {
	s := tell(t, func(c *BrokerConfig) { c.MaxFailures = 1 })
	s.job()
	s.job()
	w := s.worker(0, 1)
	w.fail(w.take())
	w.quarantine(w.take())
	s.at(1000 * protocol.Hour)
	s.tick()
	assert.Equal(t, JobDead, s.row(1).State)
	assert.Equal(t, JobQuarantined, s.row(2).State)
}

// A hundred thousand jobs pass through; the broker's memory is that of the few hundred
// that are there at once, and its directory of pages does not grow with their numbers.
func TestMemoryIsThatOfTheJobsThatAreThereAtOnce(t *testing.T) {
	s := tell(t, journal, func(c *BrokerConfig) { c.MaxMessageAge = 100 * ms })
	w := s.worker(0, 1)
	pages := func() int {
		n := len(s.b.jobs.spare)
		for _, p := range s.b.jobs.dir {
			if p.live > 0 {
				n++
			}
		}
		return n
	}
	most := 0
	for s.jobs < 100_000 {
		for range 3 { // and one that comes back
			s.job()
		}
		for i, g := range w.ask(4) {
			if i == 2 {
				w.release(g, protocol.BecauseYield, ms)
				continue
			}
			require.Equal(t, protocol.OK, w.ack(g))
		}
		s.now = s.now.Add(ms)
		most = max(most, pages())
	}
	left := 0
	s.b.EachJob(func(protocol.JobKey, *JobRow) { left++ })
	assert.LessOrEqual(t, left, 1000)
	assert.LessOrEqual(t, most, 2, "pages of 1024 rows")
	assert.LessOrEqual(t, len(s.b.jobs.dir), 256, "directory")
	assert.LessOrEqual(t, len(s.b.fresh.buf)+len(s.b.finished.buf), 2048)
	assert.LessOrEqual(t, s.b.safe, len(s.b.journal)/2, "of the journal, what is past forgetting")
	assert.LessOrEqual(t, cap(s.b.returned)+cap(s.b.delayed), 512)
}

// What the requests of a life were given is forgotten with it.
func TestLivesThatComeAndGoTakeNoMemory(t *testing.T) {
	s := tell(t)
	for life := range 10 {
		w := s.worker(0, uint32(life+1))
		for range 4 {
			s.job()
		}
		for _, g := range w.ask(4) {
			require.Equal(t, protocol.OK, w.ack(g))
		}
	}
	m := &s.b.members
	assert.Equal(t, 1, m.before.Places())
	assert.Equal(t, 2*3, m.granted.Places(), "of each of two lives, all grants but the first")
}
