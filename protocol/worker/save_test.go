package worker_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	. "github.com/quiesce/quiesce/protocol/worker"
)

// resumes runs first in the first execution and notes where the next one begins.
func resumes(first Handler, at *string) Handler {
	return func(ctx context.Context, job *Job) error {
		if job.Prior.Token == 0 {
			return first(ctx, job)
		}
		*at = string(job.Cursor)
		return nil
	}
}

func TestTheNewestOfManySavesRidesOnTheNextRenewal(t *testing.T) {
	inBubble(t, func(b *bench) {
		var at string
		var sent atomic.Int32
		b.through(&broken{before: func(_ context.Context, call string) {
			if call == "save" || call == "renew" {
				sent.Add(1)
			}
		}})
		w := b.start("a", resumes(func(ctx context.Context, job *Job) error {
			for i := range 1000 {
				job.Save([]byte{byte('a' + i%26)})
			}
			job.Save([]byte("newest"))
			return job.Sleep(ctx, time.Hour)
		}, &at), nil)
		b.broker.enqueue(1, "x")
		b.sleep(11 * time.Second) // a heartbeat
		assert.Equal(t, int32(1), sent.Load())
		fresh := b.start("b", resumes(nil, &at), nil)
		w.term()
		<-w.left
		b.sleep(time.Second)
		assert.Equal(t, "newest", at)
		fresh.term()
	})
}

func TestWhatWasSavedButNotStoredIsUndoneAndNotResumedAfter(t *testing.T) {
	inBubble(t, func(b *bench) {
		at := "?"
		w := b.start("a", resumes(func(ctx context.Context, job *Job) error {
			job.Save([]byte("early"))
			return job.Sleep(ctx, time.Hour)
		}, &at), nil)
		b.broker.enqueue(1, "x")
		b.sleep(time.Second) // before the first renewal
		fresh := b.start("b", resumes(nil, &at), nil)
		b.sleep(0)
		w.signals <- protocol.StopBySignal(protocol.SIGINT, protocol.Never)
		w.signals <- protocol.StopBySignal(protocol.SIGINT, protocol.Never)
		<-w.left
		b.sleep(time.Second)
		assert.Equal(t, model.JobDone, b.broker.job(1).State)
		assert.Contains(t, []string{"", "early"}, at, "nothing had to be undone, so the release may carry it")
		fresh.term()
	})
}

// A segment is closed by the broker's answer: its file is in place and stays there when the
// execution is undone; what was taken for the whole execution is still held.
func TestAStoredCursorCommitsItsSegmentAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	inBubble(t, func(b *bench) {
		var at string
		var temp string
		var held, tempThere atomic.Bool
		stage := func(job *Job, name string) error {
			f, err := job.Scope.Stage(filepath.Join(dir, name))
			if err == nil {
				_, err = f.WriteString(name)
			}
			return err
		}
		w := b.start("a", resumes(func(ctx context.Context, job *Job) error {
			var err error
			if temp, err = job.Scope.TempDir(); err != nil {
				return err
			}
			_, err = Acquire(job.Scope, func() (int, func() error, error) {
				held.Store(true)
				return 0, func() error { held.Store(false); return nil }, nil
			})
			if err := errors.Join(err, stage(job, "one"), job.Flush(ctx, []byte("one")), stage(job, "two")); err != nil {
				return err
			}
			_, err = os.Stat(temp)
			tempThere.Store(err == nil)
			return job.Sleep(ctx, time.Hour)
		}, &at), nil)
		b.broker.enqueue(1, "x")
		b.sleep(time.Second)
		assert.True(t, held.Load(), "the execution goes on")
		assert.True(t, tempThere.Load())
		fresh := b.start("b", resumes(nil, &at), nil)
		w.term()
		<-w.left
		b.sleep(time.Second)
		assert.NoError(t, w.err)
		assert.False(t, held.Load())
		assert.NoDirExists(t, temp)
		assert.FileExists(t, filepath.Join(dir, "one"))
		assert.NoFileExists(t, filepath.Join(dir, "two"))
		left, _ := os.ReadDir(dir)
		assert.Len(t, left, 1, "no staged file is left")
		assert.Equal(t, "one", at)
		fresh.term()
	})
}

// A handler that is cancelled while its cursor is on the way must not be undone behind it.
func TestUndoWaitsForTheAnswerAboutACursorThatIsOnItsWay(t *testing.T) {
	dir := t.TempDir()
	inBubble(t, func(b *bench) {
		var at string
		b.between = func(real Broker) Broker { return &slowSave{Broker: real, by: 600 * time.Millisecond} }
		w := b.start("a", resumes(func(ctx context.Context, job *Job) error {
			f, err := job.Scope.Stage(filepath.Join(dir, "part"))
			if err != nil {
				return err
			}
			if err := f.Close(); err != nil {
				return err
			}
			return job.Flush(ctx, []byte("part")) // it is cancelled in here
		}, &at), nil, Undo(3*time.Second))
		b.broker.enqueue(1, "x")
		b.sleep(100 * time.Millisecond)
		w.signals <- protocol.StopBySignal(protocol.SIGINT, protocol.Never)
		w.signals <- protocol.StopBySignal(protocol.SIGINT, protocol.Never)
		<-w.left
		assert.NoError(t, w.err)
		b.between = nil
		fresh := b.start("b", resumes(nil, &at), nil)
		b.sleep(time.Second)
		assert.Equal(t, "part", at)
		assert.FileExists(t, filepath.Join(dir, "part"), "what the stored cursor stands for")
		fresh.term()
	})
}

// slowSave answers a Save late, after it was carried out.
type slowSave struct {
	Broker
	by time.Duration
}

func (b *slowSave) Save(ctx context.Context, r Renewal) (protocol.Code, error) {
	code, err := b.Broker.Save(ctx, r)
	time.Sleep(b.by)
	return code, err
}

func TestASegmentThatCannotBeCommittedEndsInQuarantine(t *testing.T) {
	inBubble(t, func(b *bench) {
		var flushed error
		w := b.start("a", func(ctx context.Context, job *Job) error {
			job.Scope.OnCommit(func() error { return errors.New("the disk is full") })
			flushed = job.Flush(ctx, []byte("half"))
			return nil
		}, nil)
		b.broker.enqueue(1, "x")
		b.sleep(time.Second)
		assert.ErrorContains(t, flushed, "the disk is full")
		assert.Equal(t, model.JobQuarantined, b.broker.job(1).State, "a cursor is stored that promises more than there is")
		w.term()
	})
}

func TestNothingIsSavedAfterTheReturnOrTheLoss(t *testing.T) {
	inBubble(t, func(b *bench) {
		var after, lost error
		returned := make(chan *Job, 1)
		w := b.start("a", func(ctx context.Context, job *Job) error {
			if job.Key == 1 {
				returned <- job
				return nil
			}
			<-ctx.Done()
			lost = job.Flush(context.Background(), []byte("late"))
			job.Save([]byte("later"))
			assert.False(t, job.Held())
			return context.Cause(ctx)
		}, nil)
		b.broker.enqueue(1, "x")
		job := <-returned
		b.sleep(time.Second)
		after = job.Flush(context.Background(), []byte("late"))
		job.Save([]byte("later"))
		assert.ErrorIs(t, after, ErrReturned)
		assert.Equal(t, model.JobDone, b.broker.job(1).State)

		b.broker.enqueue(2, "x")
		b.sleep(time.Second)
		b.broker.setDown(true)
		b.sleep(35 * time.Second)
		assert.ErrorIs(t, lost, ErrLeaseLost)
		b.broker.setDown(false)
		w.term()
	})
}

func TestWhoWaitsForACursorLearnsThatTheClaimIsLost(t *testing.T) {
	inBubble(t, func(b *bench) {
		var flushed error
		w := b.start("a", func(ctx context.Context, job *Job) error {
			time.Sleep(2 * time.Second)
			flushed = job.Flush(context.WithoutCancel(ctx), []byte("x"))
			return flushed
		}, nil)
		b.broker.enqueue(1, "x")
		b.sleep(time.Second)
		b.broker.setDown(true)
		b.sleep(35 * time.Second)
		assert.ErrorIs(t, flushed, ErrLeaseLost)
		b.broker.setDown(false)
		w.term()
	})
}

// What belongs to the execution alone is given back although the claim is lost, and then
// nothing is left to commit: the result is offered.
func TestAResultIsOfferedAfterALossIfNothingIsLeftToCommit(t *testing.T) {
	inBubble(t, func(b *bench) {
		released := false
		b.between = func(real Broker) Broker { return struct{ Broker }{real} } // that does not tell when it is there again
		w := b.start("a", func(ctx context.Context, job *Job) error {
			_, err := Acquire(job.Scope, func() (int, func() error, error) { return 0, func() error { released = true; return nil }, nil })
			<-ctx.Done()
			return err
		}, nil)
		b.broker.enqueue(1, "x")
		b.sleep(time.Second)
		b.broker.setDown(true)
		b.sleep(28 * time.Second)
		b.broker.setDown(false)
		b.sleep(3 * time.Second)
		assert.True(t, released)
		assert.Equal(t, model.JobDone, b.broker.job(1).State, "nobody has claimed it since, and the token is the judge")
		w.term()
	})
}
