package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	. "github.com/quiesce/quiesce/protocol/worker"
)

// witness keeps what an observer is told.
type witness struct {
	setup      Setup
	begun      int
	first      []byte // the snapshot of the beginning
	steps      []step
	executions []Execution
	endings    []Ending
	onStep     func()
	onEnd      func()
}

type step struct {
	now protocol.Instant
	ev  protocol.Event
	fx  []protocol.Effect
}

func (o *witness) Begin(s Setup, state State) {
	o.setup, o.begun, o.first = s, o.begun+1, state.AppendSnapshot(nil)
}

func (o *witness) Step(now protocol.Instant, ev protocol.Event, fx []protocol.Effect, _ State) {
	o.steps = append(o.steps, step{now, ev, append([]protocol.Effect(nil), fx...)})
	if o.onStep != nil {
		o.onStep()
	}
}

func (o *witness) Executed(e Execution) { o.executions = append(o.executions, e) }

func (o *witness) End(e Ending) {
	o.endings = append(o.endings, e)
	if o.onEnd != nil {
		o.onEnd()
	}
}

func seen(o Observer) func(*Options) {
	return func(opt *Options) { opt.Observers = []Observer{o} }
}

// Whatever the worker's goroutines do, what they tell the machine is a list of events, and
// the machine of the laboratory, given the list, asks for the same.
func TestTheMachineInTheLaboratoryAsksForTheSame(t *testing.T) {
	inBubble(t, func(b *bench) {
		var o witness
		w := b.start("a", works(7*time.Second), func(opt *Options) {
			opt.Slots, opt.Grace, opt.Observers = 3, 10*time.Second, []Observer{&o}
		})
		for j := range 20 {
			b.broker.enqueue(protocol.JobKey(j+1), "x")
			b.sleep(900 * time.Millisecond)
		}
		w.term()
		<-w.left

		var m protocol.Machine
		_, err := m.ReadSnapshot(o.setup.Config, protocol.NewMemory(o.setup.Config, o.setup.Slots), o.first)
		require.NoError(t, err)
		fx := protocol.NewEffects(o.setup.Slots, len(o.setup.Queues))
		for i, s := range o.steps {
			fx.Reset()
			m.Step(s.now, s.ev, fx)
			require.Equal(t, s.fx, append([]protocol.Effect(nil), fx.All()...), "step %d: %v", i, s.ev.Kind)
		}
		require.Greater(t, len(o.steps), 40)
		require.Equal(t, protocol.PhaseGone, m.Phase())
	})
}

func TestAnObserverIsToldHowALifeBeganWhatItRanAndHowItEnded(t *testing.T) {
	inBubble(t, func(b *bench) {
		var o witness
		w := b.start("a", func(ctx context.Context, job *Job) error {
			for range 3 {
				time.Sleep(time.Second)
				if err := job.Checkpoint(ctx); err != nil {
					return err
				}
			}
			return Yield
		}, seen(&o), Gap(2*time.Second))
		b.broker.enqueue(1, "x")
		b.sleep(3500 * time.Millisecond)
		w.term()
		<-w.left
		assert.Equal(t, 1, o.begun)
		assert.Equal(t, "a", o.setup.Life.Seat)
		assert.Equal(t, []string{"job"}, o.setup.Kinds)
		assert.Equal(t, []string{"default"}, o.setup.Queues)
		assert.Equal(t, 2*protocol.Second, o.setup.Config.Kinds[0].Gap)
		require.NotEmpty(t, o.executions)
		token := o.executions[0].Token
		assert.NotZero(t, token)
		assert.Equal(t, Execution{Job: 1, Token: token, Code: protocol.ReturnedYield, Took: 3 * protocol.Second, Gap: protocol.Second}, o.executions[0])
		assert.Equal(t, []Ending{{}}, o.endings)
	})
}

// A machine that breaks is a defect. The observers learn at which event, handlers are
// cancelled, and nothing is settled.
func TestAMachineThatBreaksEndsTheWorkerAndTheObserversLearnWhere(t *testing.T) {
	inBubble(t, func(b *bench) {
		var o witness
		var cause error
		w := b.start("a", func(ctx context.Context, job *Job) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return cause
		}, seen(&o))
		b.broker.enqueue(1, "x")
		b.sleep(time.Second)
		impossible := protocol.Undid(0, protocol.UndoDone) // nothing undoes
		w.signals <- impossible
		<-w.left
		b.sleep(0)
		assert.Equal(t, protocol.ExitRefused, status(w.err))
		assert.ErrorIs(t, cause, ErrLeaseLost)
		require.Len(t, o.endings, 1)
		e := o.endings[0]
		assert.Contains(t, e.Broke, "is impossible in phase Serving")
		impossible.More = true // more may follow
		assert.Equal(t, impossible, e.Event)
		assert.Equal(t, protocol.Instant(protocol.Second), e.Now)
		assert.Equal(t, protocol.ExitRefused, e.Status)
		assert.NotEqual(t, impossible, o.steps[len(o.steps)-1].ev, "a step that was not made is not shown as one")
		assert.Equal(t, model.JobClaimed, b.broker.job(1).State, "nothing was settled")
	})
}

// A panic outside of the machine is not the machine's.
func TestADriverThatBreaksBlamesNoEvent(t *testing.T) {
	inBubble(t, func(b *bench) {
		var o witness
		w := b.start("a", works(time.Second), seen(&o))
		b.sleep(time.Second)
		o.onStep = func() { panic("an observer that is not fit") }
		w.term()
		<-w.left
		assert.Equal(t, protocol.ExitRefused, status(w.err))
		assert.Equal(t, []Ending{{Status: protocol.ExitRefused}}, o.endings)
	})
}

func TestRunDoesNotWaitForAnObserverBeyondTheExitSlice(t *testing.T) {
	inBubble(t, func(b *bench) {
		release := make(chan struct{})
		hooked := false
		o := witness{onEnd: func() { <-release }}
		w := b.start("a", works(time.Second), func(opt *Options) {
			opt.Observers = []Observer{&o}
			opt.OnExit = []func(context.Context){func(context.Context) { hooked = true }}
		})
		b.sleep(time.Second)
		began := time.Now()
		w.term()
		<-w.left
		assert.NoError(t, w.err)
		assert.True(t, hooked, "one that hangs keeps nobody else from flushing")
		assert.Less(t, time.Since(began), 20*time.Second)
		close(release)
	})
}

// Every line of the ledger is a line of the log that says what it is about, and the last
// line has their sum.
func TestTheLedgerIsLogged(t *testing.T) {
	inBubble(t, func(b *bench) {
		var text bytes.Buffer
		w := b.start("a", func(ctx context.Context, job *Job) error { return job.Sleep(ctx, time.Duration(job.Key)*time.Minute) },
			func(opt *Options) {
				opt.Slots, opt.Reserve = 3, 4*time.Second
				opt.Logger = slog.New(slog.NewJSONHandler(&text, nil))
			})
		b.broker.enqueue(1, "secret")
		b.broker.enqueue(2, "secret")
		b.sleep(55 * time.Second)
		w.term()
		<-w.left
		var drained []map[string]any
		var rest map[string]any
		for d := json.NewDecoder(&text); ; {
			var line map[string]any
			err := d.Decode(&line)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			delete(line, "time")
			delete(line, "token")
			delete(line, "level")
			switch line["msg"] {
			case "drained":
				if line["outcome"] == "withdrawn" {
					assert.Positive(t, line["request"])
					delete(line, "request") // how many there were depends on what was at hand together
				}
				drained = append(drained, line)
			case "at rest":
				rest = line
			}
		}
		seconds := func(s float64) float64 { return s * 1e9 }
		assert.Equal(t, []map[string]any{
			{"msg": "drained", "outcome": "withdrawn", "queue": "default", "after": 0.0, "left": seconds(20)},
			{"msg": "drained", "outcome": "finished", "queue": "default", "job": 1.0, "kind": "job", "slot": 0.0, "after": seconds(5), "left": seconds(15)},
			{"msg": "drained", "outcome": "released", "queue": "default", "job": 2.0, "kind": "job", "slot": 1.0, "after": seconds(14), "left": seconds(6)},
		}, drained)
		assert.Equal(t, map[string]any{
			"msg": "at rest", "status": 0.0, "took": seconds(14), "left": seconds(6),
			"ledger": map[string]any{"finished": 1.0, "released": 1.0, "withdrawn": 1.0},
		}, rest)
		assert.NotContains(t, text.String(), "secret")
	})
}
