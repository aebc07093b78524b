package realworld_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
	"github.com/quiesce/quiesce/realworld"
)

func TestStopsKeepEverythingInOrder(t *testing.T) {
	s := realworld.NewStops()
	defer s.Close()
	const n = 1000
	for range n { // nobody listens yet, and nobody waits
		s.Quiet()
		s.Resume()
	}
	s.Notice(time.Time{})
	for range n {
		assert.Equal(t, protocol.QuietAsked, (<-s.Events()).Kind)
		assert.Equal(t, protocol.ResumeAsked, (<-s.Events()).Kind)
	}
	assert.Equal(t, protocol.StopFrom(protocol.FromNotice, protocol.Never), <-s.Events())
}

func TestInstantsAreThoseOfTheWorkersClock(t *testing.T) {
	s := realworld.NewStops()
	defer s.Close()
	before := worker.SystemClock().Now()
	s.Supervisor(time.Now().Add(time.Hour))
	s.KillAt(time.Now().Add(time.Minute))
	stop, moved := <-s.Events(), <-s.Events()
	after := worker.SystemClock().Now()
	assert.Equal(t, protocol.FromSupervisor, stop.Source)
	slack := protocol.Millisecond // the two clocks are read one after the other
	assert.GreaterOrEqual(t, stop.At.Add(slack), before.Add(protocol.Hour))
	assert.LessOrEqual(t, stop.At, after.Add(protocol.Hour).Add(slack))
	assert.Equal(t, protocol.KillAtMoved, moved.Kind)
	assert.GreaterOrEqual(t, moved.At.Add(slack), before.Add(protocol.Minute))
	assert.LessOrEqual(t, moved.At, after.Add(protocol.Minute).Add(slack))
}

func TestASourceIsAskedAtTheFirstStopAndNotBefore(t *testing.T) {
	s := realworld.NewStops()
	defer s.Close()
	asked := make(chan bool, 2)
	s.Learn(func(context.Context) (time.Time, error) {
		asked <- true
		return time.Now().Add(time.Hour), nil
	}, nil)
	broken := make(chan error)
	s.Learn(func(context.Context) (time.Time, error) { return time.Time{}, errors.New("not today") }, func(err error) { broken <- err })

	s.Quiet()
	<-s.Events()
	assert.Empty(t, asked)
	s.Notice(time.Time{})
	s.Notice(time.Time{})
	<-s.Events()
	<-s.Events()
	assert.Equal(t, protocol.KillAtMoved, (<-s.Events()).Kind)
	assert.EqualError(t, <-broken, "not today")
	assert.Len(t, asked, 1)
}

func TestAliveNeedsALoopThatTurns(t *testing.T) {
	s := realworld.NewStops()
	defer s.Close()
	over := errors.New("patience is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(over)
	assert.Equal(t, over, s.Alive(ctx))

	go func() {
		for range s.Events() {
		}
	}()
	assert.NoError(t, s.Alive(t.Context()))
}

func TestCloseEndsWhateverWaits(t *testing.T) {
	s := realworld.NewStops()
	began, ended := make(chan bool), make(chan error, 1)
	s.Signals()
	s.Learn(func(ctx context.Context) (time.Time, error) {
		close(began)
		<-ctx.Done()
		return time.Time{}, ctx.Err()
	}, func(err error) { ended <- err })
	s.Notice(time.Time{})
	<-s.Events()
	<-began
	s.Quiet()
	s.Close()
	s.Close()
	assert.ErrorIs(t, <-ended, context.Canceled)
	select {
	case ev := <-s.Events():
		t.Fatalf("%v after the end", ev)
	default:
	}
}

func TestGrace(t *testing.T) {
	g, err := realworld.Grace(10 * time.Second)
	require.NoError(t, err)
	assert.Equal(t, 10*time.Second, g)
	_, err = realworld.Grace(0)
	assert.ErrorContains(t, err, "set QUIESCE_GRACE")

	for v, want := range map[string]time.Duration{"45": 45 * time.Second, "1m30s": 90 * time.Second} {
		t.Setenv("QUIESCE_GRACE", v)
		g, err := realworld.Grace(10 * time.Second)
		require.NoError(t, err)
		assert.Equal(t, want, g, "who deploys knows better than who wrote it")
	}
	for _, v := range []string{"", "soon", "-3s", "0"} {
		t.Setenv("QUIESCE_GRACE", v)
		_, err := realworld.Grace(10 * time.Second)
		assert.ErrorContains(t, err, "write for example 30s", v)
	}
}
