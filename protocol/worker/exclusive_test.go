package worker_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
	. "github.com/quiesce/quiesce/protocol/worker"
)

// scratch is an exclusive resource whose holder is heard of as long as it lives.
type scratch struct {
	mu     sync.Mutex
	holder Holder
	heard  time.Time
	errs   []error // of the next calls of Take
	log    *[]string
	name   string
}

func (s *scratch) Holder(context.Context) (Holder, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.holder
	if h.Incarnation != 0 {
		h.Silent = time.Since(s.heard)
	}
	return h, nil
}

func (s *scratch) Take(_ context.Context, prev, next Holder) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.errs) > 0 {
		err := s.errs[0]
		s.errs = s.errs[1:]
		return err
	}
	if prev.Incarnation != s.holder.Incarnation {
		return errors.New("somebody else was faster")
	}
	s.holder, s.heard = next, time.Now()
	if s.log != nil {
		*s.log = append(*s.log, "take "+s.name)
	}
	return nil
}

func (s *scratch) Release(_ context.Context, holder Holder) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holder = Holder{}
	if s.log != nil {
		*s.log = append(*s.log, "release "+s.name)
	}
	return nil
}

func exclusively(s ...*scratch) func(*Options) {
	return func(o *Options) {
		for _, s := range s {
			o.Exclusive = append(o.Exclusive, Exclusive{Name: s.name, Threshold: 30 * time.Second, Resource: s})
		}
	}
}

func TestBootWaitsForAnEarlierLifeOfTheSeatUntilItHasBeenSilentLongEnough(t *testing.T) {
	inBubble(t, func(b *bench) {
		first := b.start("a", works(0), nil) // incarnation 1
		b.sleep(time.Second)
		first.term()
		<-first.left
		began := time.Now()
		s := &scratch{name: "volume", holder: Holder{Seat: "a", Incarnation: 1}, heard: began.Add(-10 * time.Second)}
		var waited atomic.Int64
		w := b.start("a", func(context.Context, *Job) error { waited.Store(int64(time.Since(began))); return nil }, exclusively(s))
		b.broker.enqueue(1, "x")
		b.sleep(19 * time.Second)
		assert.False(t, w.Ready())
		assert.Zero(t, waited.Load())
		b.sleep(2 * time.Second)
		assert.True(t, w.Ready())
		assert.Equal(t, 20*time.Second, time.Duration(waited.Load()), "the threshold less the age of its freshest heartbeat")
		assert.Equal(t, Holder{Seat: "a", Incarnation: 2}, s.holder)
		w.term()
		<-w.left
		assert.NoError(t, w.err)
		assert.Zero(t, s.holder, "and it was given back")
	})
}

func TestBootTakesOverAtOnceFromALifeThatIsProvablyDead(t *testing.T) {
	inBubble(t, func(b *bench) {
		first := b.start("a", works(0), nil)
		b.sleep(time.Second)
		first.term()
		<-first.left
		s := &scratch{name: "volume", holder: Holder{Seat: "a", Incarnation: 1}, heard: time.Now()}
		w := b.start("a", works(0), func(o *Options) {
			exclusively(s)(o)
			o.Alone = true
		})
		b.sleep(0)
		assert.True(t, w.Ready())
		w.term()
	})
}

func TestWhoMayTakeWhat(t *testing.T) {
	x := &Exclusive{Name: "volume", Threshold: 30 * time.Second}
	me := Holder{Seat: "a", Incarnation: 5}
	assert.NoError(t, x.MayTake(Holder{}, me, false))
	assert.NoError(t, x.MayTake(Holder{Seat: "a", Incarnation: 5}, me, false), "an answer got lost")
	assert.NoError(t, x.MayTake(Holder{Seat: "a", Incarnation: 4, Silent: 30 * time.Second}, me, false))
	assert.NoError(t, x.MayTake(Holder{Seat: "a", Incarnation: 4}, me, true))
	assert.ErrorIs(t, x.MayTake(Holder{Seat: "a", Incarnation: 6, Silent: time.Hour}, me, true), ErrRefused)
	assert.ErrorIs(t, x.MayTake(Holder{Seat: "b", Incarnation: 1, Silent: time.Hour}, me, true), ErrHeldElsewhere)
	err := x.MayTake(Holder{Seat: "a", Incarnation: 4, Silent: 12 * time.Second}, me, false)
	require.ErrorIs(t, err, ErrStartupBackoff)
	var backoff *StartupBackoff
	require.ErrorAs(t, err, &backoff)
	assert.Equal(t, 18*time.Second, backoff.Wait)
}

func TestALifeThatWasOvertakenLeaves(t *testing.T) {
	inBubble(t, func(b *bench) {
		s := &scratch{name: "volume", holder: Holder{Seat: "a", Incarnation: 9}, heard: time.Now()}
		w := b.start("a", works(0), exclusively(s))
		<-w.left
		assert.Equal(t, protocol.ExitRefused, status(w.err))
		assert.Equal(t, uint64(9), s.holder.Incarnation)
	})
}

func TestAStopWhileBootWaitsLeavesAtOnceAndHoldsNothing(t *testing.T) {
	inBubble(t, func(b *bench) {
		var log []string
		free := &scratch{name: "address", log: &log}
		taken := &scratch{name: "volume", holder: Holder{Seat: "other", Incarnation: 1}, heard: time.Now(), log: &log}
		w := b.start("a", works(0), exclusively(free, taken))
		b.sleep(time.Minute)
		assert.False(t, w.Ready(), "another seat is never disturbed")
		w.term()
		<-w.left
		assert.NoError(t, w.err)
		assert.Equal(t, []string{"take address", "release address"}, log)
	})
}

func TestResourcesAreTakenInOrderAndGivenBackInReverse(t *testing.T) {
	inBubble(t, func(b *bench) {
		var log []string
		one, two := &scratch{name: "one", log: &log}, &scratch{name: "two", log: &log, errs: []error{errDown}}
		w := b.start("a", works(0), exclusively(one, two))
		b.sleep(31 * time.Second) // Take failed once
		assert.True(t, w.Ready())
		w.term()
		<-w.left
		assert.Equal(t, []string{"take one", "take two", "release two", "release one"}, log)
	})
}

func TestAResourceIsKeptWhileAHandlerThatMayUseItRunsOn(t *testing.T) {
	inBubble(t, func(b *bench) {
		release := make(chan struct{})
		s := &scratch{name: "volume"}
		w := b.start("a", func(context.Context, *Job) error { <-release; return nil }, exclusively(s))
		b.broker.enqueue(1, "x")
		b.sleep(time.Second)
		w.term()
		<-w.left
		assert.Equal(t, protocol.ExitLeaked, status(w.err))
		assert.NotZero(t, s.holder)
		close(release)
	})
}
