package memory_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/memory"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

var start = time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC)

func register(t *testing.T, b worker.Broker, seat string, nonce byte) uint64 {
	n, err := b.Register(t.Context(), worker.Life{Seat: seat, Nonce: uuid.UUID{nonce}})
	require.NoError(t, err)
	return n
}

func request(incarnation, seq uint64, park time.Duration) worker.ClaimRequest {
	return worker.ClaimRequest{Incarnation: incarnation, Queue: "q", Seq: seq, Want: 1, Park: park}
}

func state(t *testing.T, b interface {
	Job(protocol.JobKey) (model.JobRow, bool)
}, job protocol.JobKey) model.JobState {
	row, ok := b.Job(job)
	require.True(t, ok)
	return row.State
}

// On the clock of package time leases run out and polls end without anybody asking.
func TestTimePassesByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(memory.Config{Lease: time.Minute})
		a, c := register(t, b, "a", 1), register(t, b, "b", 2)
		job := b.Enqueue("q", "kind", 1, []byte("payload"))
		first, err := b.Claim(t.Context(), request(a, 1, 0))
		require.NoError(t, err)
		require.Len(t, first.Grants, 1)

		began := time.Now()
		second, err := b.Claim(t.Context(), request(c, 1, time.Hour))
		require.NoError(t, err)
		assert.Equal(t, time.Minute, time.Since(began), "served at the instant of expiry")
		assert.Equal(t, time.Minute, second.Parked)
		require.Len(t, second.Grants, 1)
		assert.Equal(t, job, second.Grants[0].Job)
		assert.Equal(t, worker.Prior{Token: first.Grants[0].Token, Reason: protocol.BecauseExpired}, second.Grants[0].Prior)

		began = time.Now()
		empty, err := b.Claim(t.Context(), request(a, 2, 7*time.Second))
		require.NoError(t, err)
		assert.Equal(t, worker.ClaimAnswer{Parked: 7 * time.Second}, empty)
		assert.Equal(t, 7*time.Second, time.Since(began))
		require.NoError(t, b.Close())
	})
}

func TestAFakesTimePassesOnlyWhenItIsToldTo(t *testing.T) {
	b := memory.NewFake(start, memory.Config{})
	a := register(t, b, "a", 1)
	job := b.Enqueue("q", "kind", 1, nil)
	c, err := b.Claim(t.Context(), request(a, 1, 0))
	require.NoError(t, err)
	assert.Equal(t, protocol.Token(start.UnixMicro()), c.Grants[0].Token, "a token is not behind the clock")
	b.Advance(5*time.Minute - time.Nanosecond)
	assert.Equal(t, model.JobClaimed, state(t, b, job), "five minutes are the lease unless told otherwise")
	b.Advance(time.Nanosecond)
	codes, err := b.Renew(t.Context(), []worker.Renewal{{Job: job, Token: c.Grants[0].Token}})
	require.NoError(t, err)
	assert.Equal(t, []protocol.Code{protocol.Expired}, codes)
}

// What is due in between is done at its own instant, not at the end.
func TestAFakeThatAdvancesFarDoesEachThingAtItsInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.NewFake(start, memory.Config{Lease: time.Minute})
		a, c := register(t, b, "a", 1), register(t, b, "b", 2)
		b.Enqueue("q", "kind", 1, nil)
		_, err := b.Claim(t.Context(), request(a, 1, 0))
		require.NoError(t, err)
		var answer worker.ClaimAnswer
		go func() { answer, _ = b.Claim(t.Context(), request(c, 1, time.Hour)) }()
		synctest.Wait()
		assert.Equal(t, 1, b.Parked())
		b.Advance(90 * time.Second)
		synctest.Wait()
		assert.Equal(t, time.Minute, answer.Parked)
		row, _ := b.Job(1)
		assert.Equal(t, protocol.Instant(start.Add(2*time.Minute).UnixNano()), row.Lease)
	})
}

func TestABrokerThatFailsDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.NewFake(start, memory.Config{})
		a := register(t, b, "a", 1)
		var err error
		go func() { _, err = b.Claim(t.Context(), request(a, 1, time.Hour)) }()
		synctest.Wait()
		down := errors.New("down")
		b.Fail(down)
		synctest.Wait()
		assert.Equal(t, down, err, "a call that waits is cut off")
		job := b.Enqueue("q", "kind", 1, nil) // which the request is granted: it waits on

		for name, call := range calls(t.Context(), b, a, job) {
			assert.Equal(t, down, call(), name)
		}
		b.Fail(nil)
		again, err := b.Claim(t.Context(), request(a, 1, 0))
		require.NoError(t, err)
		require.Len(t, again.Grants, 1, "a repeat is given what its answer would have been")
		assert.Equal(t, job, again.Grants[0].Job)

		require.NoError(t, b.Close())
		for name, call := range calls(t.Context(), b, a, job) {
			assert.Equal(t, memory.ErrClosed, call(), name)
		}
	})
}

func TestADoneContextDoesNothing(t *testing.T) {
	b := memory.NewFake(start, memory.Config{})
	a := register(t, b, "a", 1)
	job := b.Enqueue("q", "kind", 1, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range calls(ctx, b, a, job) {
		assert.ErrorIs(t, call(), context.Canceled, name)
	}
	assert.Equal(t, model.JobReady, state(t, b, job))
}

func calls(ctx context.Context, b worker.Broker, a uint64, job protocol.JobKey) map[string]func() error {
	return map[string]func() error{
		"register": func() error { _, err := b.Register(ctx, worker.Life{Seat: "other"}); return err },
		"going":    func() error { return b.Going(ctx, a, "q") },
		"claim":    func() error { _, err := b.Claim(ctx, request(a, 1, 0)); return err },
		"withdraw": func() error { _, err := b.Withdraw(ctx, a, "q", 1); return err },
		"renew":    func() error { _, err := b.Renew(ctx, []worker.Renewal{{Job: job, Token: 1}}); return err },
		"save":     func() error { _, err := b.Save(ctx, worker.Renewal{Job: job, Token: 1}); return err },
		"settle": func() error {
			_, err := b.Settle(ctx, []worker.Settlement{{Job: job, Token: 1, Verb: protocol.Ack}})
			return err
		},
	}
}

func TestAFailoverCutsCallsOffAndForgetsJobsAndLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.NewFake(start, memory.Config{})
		a := register(t, b, "a", 1)
		failOver := b.CutOff()
		var err error
		go func() { _, err = b.Claim(t.Context(), request(a, 1, time.Hour)) }()
		synctest.Wait()
		later := register(t, b, "b", 2)
		lost := b.Enqueue("other", "kind", 1, nil)
		failOver()
		synctest.Wait()
		assert.Equal(t, memory.ErrFailedOver, err)
		_, known := b.Job(lost)
		assert.False(t, known)
		_, err = b.Claim(t.Context(), request(later, 1, 0))
		assert.ErrorIs(t, err, worker.ErrRefused, "its registration was forgotten")
		assert.Equal(t, lost+1, b.Enqueue("q", "kind", 1, nil), "numbers are not given out again")
		answer, err := b.Claim(t.Context(), request(a, 1, 0))
		require.NoError(t, err, "the request was forgotten, and is a new one")
		assert.Len(t, answer.Grants, 1)
	})
}

func TestOfASeatTwoLivesAreKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.NewFake(start, memory.Config{})
		first := register(t, b, "a", 1)
		var err error
		go func() { _, err = b.Claim(t.Context(), request(first, 1, time.Hour)) }()
		synctest.Wait()
		register(t, b, "a", 2)
		assert.Equal(t, 1, b.Parked())
		register(t, b, "a", 3)
		synctest.Wait()
		assert.ErrorIs(t, err, worker.ErrRefused)
		assert.Zero(t, b.Parked())
		assert.Equal(t, first, register(t, b, "a", 1), "the same life has the same incarnation for ever")
	})
}

func TestThereIsAnEndToSeats(t *testing.T) {
	b := memory.NewFake(start, memory.Config{})
	for i := range 256 {
		_, err := b.Register(t.Context(), worker.Life{Seat: fmt.Sprint(i)})
		require.NoError(t, err)
	}
	_, err := b.Register(t.Context(), worker.Life{Seat: "one more"})
	require.ErrorIs(t, err, worker.ErrRefused)
	assert.ErrorContains(t, err, "more than 256 seats")
	register(t, b, "7", 9)
}

func TestFinishedJobsAreForgottenInTime(t *testing.T) {
	b := memory.NewFake(start, memory.Config{Keep: time.Minute})
	a := register(t, b, "a", 1)
	job := b.Enqueue("q", "kind", 1, nil)
	c, err := b.Claim(t.Context(), request(a, 1, 0))
	require.NoError(t, err)
	ack := []worker.Settlement{{Job: job, Token: c.Grants[0].Token, Verb: protocol.Ack}}
	settle := func(want protocol.Code) {
		codes, err := b.Settle(t.Context(), ack)
		require.NoError(t, err)
		assert.Equal(t, []protocol.Code{want}, codes)
	}
	settle(protocol.OK)
	b.Advance(time.Minute - 1)
	settle(protocol.Repeat)
	b.Advance(1)
	settle(protocol.Stale)
	_, known := b.Job(job)
	assert.False(t, known)
}

// Many workers at once, on the real clock: what -race has to say about it.
func TestManyMayCallAtOnce(t *testing.T) {
	b := memory.New(memory.Config{Lease: time.Minute})
	const workers, each = 8, 50
	var wg sync.WaitGroup
	for i := range workers {
		n := register(t, b, fmt.Sprint(i), byte(i))
		wg.Go(func() {
			for seq := range uint64(each) {
				a, err := b.Claim(t.Context(), request(n, seq+1, time.Minute))
				if !assert.NoError(t, err) || !assert.Len(t, a.Grants, 1) {
					return
				}
				codes, err := b.Settle(t.Context(), []worker.Settlement{{Job: a.Grants[0].Job, Token: a.Grants[0].Token, Verb: protocol.Ack}})
				assert.NoError(t, err)
				assert.Equal(t, []protocol.Code{protocol.OK}, codes)
			}
		})
	}
	for range workers * each {
		b.Enqueue("q", "kind", 1, nil)
	}
	wg.Wait()
	for job := range protocol.JobKey(workers * each) {
		assert.Equal(t, model.JobDone, state(t, b, job+1))
	}
	require.NoError(t, b.Close())
}

// A worker that trusts another lease than it has runs jobs twice, on this broker as on any.
func TestAWorkerIsToldTheLease(t *testing.T) {
	b := memory.New(memory.Config{Lease: 30 * time.Second})
	defer b.Close()
	mux := worker.NewMux()
	mux.Handle("job", func(context.Context, *worker.Job) error { return nil })
	_, err := worker.New(b, mux, worker.Options{Grace: time.Minute, Lease: time.Minute})
	require.ErrorContains(t, err, "lease 1m0s is not what the broker grants, 30s")
	_, err = worker.New(b, mux, worker.Options{Grace: time.Minute, Heartbeat: 40 * time.Second})
	require.ErrorContains(t, err, "heartbeat 40s must be shorter than lease 30s")
}
