package worker_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	. "github.com/quiesce/quiesce/protocol/worker"
)

// broken is a broker whose answers are not what they should be, as long as any is set.
type broken struct {
	Broker
	claim  func(ClaimAnswer, error) (ClaimAnswer, error)
	codes  func([]protocol.Code) []protocol.Code
	before func(ctx context.Context, call string)
}

func (b *broken) enter(ctx context.Context, call string) {
	if b.before != nil {
		b.before(ctx, call)
	}
}

func (b *broken) answer(codes []protocol.Code, err error) ([]protocol.Code, error) {
	if b.codes != nil && err == nil {
		codes = b.codes(codes)
	}
	return codes, err
}

func (b *broken) Claim(ctx context.Context, req ClaimRequest) (ClaimAnswer, error) {
	b.enter(ctx, "claim")
	a, err := b.Broker.Claim(ctx, req)
	if b.claim != nil {
		return b.claim(a, err)
	}
	return a, err
}

func (b *broken) Renew(ctx context.Context, r []Renewal) ([]protocol.Code, error) {
	b.enter(ctx, "renew")
	return b.answer(b.Broker.Renew(ctx, r))
}

func (b *broken) Settle(ctx context.Context, s []Settlement) ([]protocol.Code, error) {
	b.enter(ctx, "settle")
	return b.answer(b.Broker.Settle(ctx, s))
}

func (b *broken) Save(ctx context.Context, r Renewal) (protocol.Code, error) {
	b.enter(ctx, "save")
	return b.Broker.Save(ctx, r)
}

func (b *broken) Withdraw(ctx context.Context, incarnation uint64, queue string, seq uint64) (int, error) {
	b.enter(ctx, "withdraw")
	return b.Broker.Withdraw(ctx, incarnation, queue, seq)
}

func (b *broken) Going(ctx context.Context, incarnation uint64, queue string) error {
	b.enter(ctx, "going")
	return b.Broker.Going(ctx, incarnation, queue)
}

// through has workers meet a broken broker.
func (b *bench) through(x *broken) {
	b.between = func(real Broker) Broker {
		x.Broker = real
		return x
	}
}

// An answer that makes no sense is no answer: the call is repeated until one comes that does.
func TestAnAnswerWithTheWrongNumberOfCodesIsNone(t *testing.T) {
	for name, garble := range map[string]func([]protocol.Code) []protocol.Code{
		"none":             func([]protocol.Code) []protocol.Code { return nil },
		"one too few":      func(c []protocol.Code) []protocol.Code { return c[1:] },
		"one too many":     func(c []protocol.Code) []protocol.Code { return append(c, protocol.Stale) },
		"no code for this": func(c []protocol.Code) []protocol.Code { return slices.Repeat([]protocol.Code{200}, len(c)) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				x := &broken{codes: garble}
				b.through(x)
				w := b.start("a", works(time.Second), nil)
				b.broker.enqueue(1, "x")
				b.sleep(90 * time.Second) // three heartbeats
				assert.Equal(t, model.JobDone, b.broker.job(1).State, "it was carried out, whatever was answered")
				w.term()
				<-w.left
				assert.Equal(t, protocol.ExitUnsettled, status(w.err), "and the worker does not know it")
			})
		})
	}
}

func TestRenewalsThatAreAnsweredWithNonsenseLoseTheLeaseInTime(t *testing.T) {
	inBubble(t, func(b *bench) {
		var cause error
		var stopped protocol.Instant
		x := &broken{codes: func([]protocol.Code) []protocol.Code { return nil }}
		b.through(x)
		w := b.start("a", func(ctx context.Context, _ *Job) error {
			<-ctx.Done()
			cause, stopped = context.Cause(ctx), b.clock.Now()
			return cause
		}, nil)
		b.broker.enqueue(1, "x")
		b.sleep(35 * time.Second)
		assert.ErrorIs(t, cause, ErrLeaseLost)
		assert.Less(t, stopped, protocol.Instant(30*protocol.Second))
		w.term()
	})
}

func TestJobsThatNobodyAskedForGoBack(t *testing.T) {
	inBubble(t, func(b *bench) {
		var ran atomic.Int32
		x := &broken{claim: func(a ClaimAnswer, err error) (ClaimAnswer, error) {
			if len(a.Grants) > 0 {
				for i := range 3 {
					a.Grants = append(a.Grants, Grant{Job: protocol.JobKey(100 + i), Token: 1, Kind: "job", Version: 1})
				}
			}
			return a, err
		}}
		var back []Settlement
		b.between = func(real Broker) Broker {
			x.Broker = real
			return &settlements{Broker: x, all: &back}
		}
		w := b.start("a", func(_ context.Context, job *Job) error { ran.Add(1); return nil }, func(o *Options) { o.Slots = 1 })
		b.broker.enqueue(1, "x")
		b.sleep(time.Second)
		w.term()
		<-w.left
		assert.NoError(t, w.err)
		assert.Equal(t, int32(1), ran.Load())
		released := 0
		for _, s := range back {
			if s.Job >= 100 && s.Verb == protocol.Release {
				released++
			}
		}
		assert.Equal(t, 3, released)
	})
}

// settlements keeps what is settled.
type settlements struct {
	Broker
	all *[]Settlement
}

func (b *settlements) Settle(ctx context.Context, s []Settlement) ([]protocol.Code, error) {
	*b.all = append(*b.all, s...)
	return b.Broker.Settle(ctx, s)
}

func TestAClaimThatIsGrantedTwiceIsRunOnceAndNotEndedByItself(t *testing.T) {
	for name, slots := range map[string]int{"in one answer": 3, "with no slot for it": 1} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				var ran atomic.Int32
				x := &broken{claim: func(a ClaimAnswer, err error) (ClaimAnswer, error) {
					a.Grants = append(a.Grants, a.Grants...)
					return a, err
				}}
				b.through(x)
				w := b.start("a", func(ctx context.Context, job *Job) error {
					ran.Add(1)
					return job.Sleep(ctx, 5*time.Second)
				}, func(o *Options) { o.Slots = slots })
				b.broker.enqueue(1, "x")
				b.sleep(time.Second)
				assert.Equal(t, model.JobClaimed, b.broker.job(1).State, "nobody handed it back under its handler")
				b.sleep(5 * time.Second)
				assert.Equal(t, int32(1), ran.Load())
				assert.Equal(t, model.JobDone, b.broker.job(1).State)
				w.term()
			})
		})
	}
}

func TestAKindThatNobodyAskedForIsRefused(t *testing.T) {
	inBubble(t, func(b *bench) {
		var ran atomic.Bool
		x := &broken{claim: func(a ClaimAnswer, err error) (ClaimAnswer, error) {
			for i := range a.Grants {
				a.Grants[i].Kind = "unheard-of"
			}
			return a, err
		}}
		b.through(x)
		w := b.start("a", func(context.Context, *Job) error { ran.Store(true); return nil }, nil)
		b.broker.enqueue(1, "x")
		b.sleep(time.Second)
		w.term()
		<-w.left
		assert.NoError(t, w.err)
		assert.False(t, ran.Load())
		assert.Zero(t, b.broker.job(1).Failures)
		assert.NotEqual(t, model.JobClaimed, b.broker.job(1).State)
	})
}

func TestJobsBesideAnErrorDoNotCount(t *testing.T) {
	inBubble(t, func(b *bench) {
		var tries, ran atomic.Int32
		x := &broken{claim: func(a ClaimAnswer, err error) (ClaimAnswer, error) {
			if tries.Add(1) == 1 {
				return a, errDown // the request is repeated under its id and answered alike
			}
			return a, err
		}}
		b.through(x)
		w := b.start("a", func(context.Context, *Job) error { ran.Add(1); return nil }, nil)
		b.broker.enqueue(1, "x")
		b.sleep(time.Second)
		assert.Equal(t, int32(1), ran.Load())
		assert.Equal(t, model.JobDone, b.broker.job(1).State)
		w.term()
	})
}

// A broker that panics is a broker that does not answer.
func TestAPanicInTheBrokerIsNotThatOfTheProcess(t *testing.T) {
	inBubble(t, func(b *bench) {
		var settles atomic.Int32
		x := &broken{before: func(_ context.Context, call string) {
			if call == "settle" && settles.Add(1) == 1 {
				panic("a nil connection")
			}
		}}
		b.through(x)
		w := b.start("a", works(time.Second), nil)
		b.broker.enqueue(1, "x")
		b.sleep(3 * time.Second)
		assert.Equal(t, model.JobDone, b.broker.job(1).State)
		w.term()
		<-w.left
		assert.NoError(t, w.err)
	})
}

// The contract says that a call returns soon after its context is done. One that does not
// holds up neither what comes after it nor the exit.
func TestCallsThatNeverComeBackHoldUpNothing(t *testing.T) {
	for _, stuck := range []string{"claim", "renew", "settle", "save", "withdraw", "going"} {
		t.Run(stuck, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				release := make(chan struct{})
				var calls atomic.Int32
				x := &broken{before: func(_ context.Context, call string) {
					if call == stuck && calls.Add(1) == 1 {
						<-release
					}
				}}
				b.through(x)
				w := b.start("a", func(ctx context.Context, job *Job) error {
					if job.Cursor == nil {
						job.Save([]byte("here"))
						_ = job.Flush(ctx, []byte("there"))
					}
					return job.Sleep(ctx, 50*time.Second)
				}, nil)
				b.broker.enqueue(1, "x")
				b.sleep(75 * time.Second) // the request is repeated, the lease renewed, the cursor saved, the job settled
				assert.Equal(t, model.JobDone, b.broker.job(1).State, "the next call went on beside it")
				w.term()
				b.sleep(5 * time.Second)
				select {
				case <-w.left:
				default:
					t.Error("the worker waits for a call that never comes back")
				}
				assert.NoError(t, w.err)
				close(release)
			})
		})
	}
}
