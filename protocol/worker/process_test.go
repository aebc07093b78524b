package worker_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	. "github.com/quiesce/quiesce/protocol/worker"
)

// composed is a process whose Run is under way.
type composed struct {
	signals chan protocol.Event
	cancel  context.CancelFunc
	err     error
	left    chan struct{}
}

func (b *bench) compose(p *Process) *composed {
	p.Logger, p.Clock = quietly(), b.clock
	ctx, cancel := context.WithCancel(b.t.Context())
	c := &composed{signals: make(chan protocol.Event), cancel: cancel, left: make(chan struct{})}
	b.wg.Go(func() {
		defer close(c.left)
		defer cancel()
		c.err = p.Run(ctx, c.signals)
	})
	return c
}

func (c *composed) term() { c.signals <- protocol.StopBySignal(protocol.SIGTERM, protocol.Never) }

// waits is a task that goes when it is told to.
func waits(_ context.Context, stop <-chan struct{}) error {
	<-stop
	return nil
}

func TestTheLeaderResignsAtTheStartOfADrainAndNotAtItsEnd(t *testing.T) {
	inBubble(t, func(b *bench) {
		var resigned protocol.Instant
		w := b.worker("a", works(10*time.Second), nil)
		b.broker.enqueue(1, "x")
		p := b.compose(&Process{Workers: []*Worker{w}, Tasks: []Task{{Name: "leader", Run: func(ctx context.Context, stop <-chan struct{}) error {
			<-stop
			resigned = b.clock.Now()
			return ctx.Err() // what is to be said at the end can be said
		}}}})
		b.sleep(3 * time.Second)
		p.term()
		<-p.left
		assert.NoError(t, p.err)
		assert.Equal(t, protocol.Instant(3*protocol.Second), resigned)
		assert.Equal(t, protocol.Instant(10*protocol.Second), b.clock.Now(), "and the worker finished its job")
		assert.Equal(t, model.JobDone, b.broker.job(1).State)
	})
}

func TestATaskThatDoesNotReturnCostsNoMoreThanTheGraceAndIsTheStatus(t *testing.T) {
	inBubble(t, func(b *bench) {
		forever := make(chan struct{})
		var cause error
		p := b.compose(&Process{Grace: 10 * time.Second, Tasks: []Task{
			{Name: "mover", Run: waits},
			{Name: "deaf", Run: func(ctx context.Context, _ <-chan struct{}) error {
				<-ctx.Done()
				cause = context.Cause(ctx)
				<-forever
				return nil
			}},
		}})
		b.sleep(time.Second)
		p.term()
		<-p.left
		b.sleep(0)
		assert.Equal(t, protocol.ExitLeaked, ExitStatus(p.err))
		assert.ErrorIs(t, cause, ErrDraining)
		assert.LessOrEqual(t, b.clock.Now(), protocol.Instant(11*protocol.Second))
		close(forever)
	})
}

func TestTheExitStatusOfAProcessIsTheWorstOfItsParts(t *testing.T) {
	fails := func(_ context.Context, stop <-chan struct{}) error { <-stop; return errors.New("no answer") }
	chooses := func(_ context.Context, stop <-chan struct{}) error {
		<-stop
		return &ExitError{Status: protocol.ExitLeaked}
	}
	for name, c := range map[string]struct {
		tasks []Task
		want  int
	}{
		"all well":                          {[]Task{{"a", waits}, {"b", waits}}, 0},
		"one holds something still":         {[]Task{{"a", waits}, {"b", fails}}, protocol.ExitUnsettled},
		"one has leaked, one is unsettled":  {[]Task{{"a", chooses}, {"b", fails}}, protocol.ExitLeaked},
		"one panics at the end, one leaked": {[]Task{{"a", chooses}, {"b", func(_ context.Context, stop <-chan struct{}) error { <-stop; panic("no") }}}, protocol.ExitLeaked},
		"one panics at the end":             {[]Task{{"a", waits}, {"b", func(_ context.Context, stop <-chan struct{}) error { <-stop; panic("no") }}}, protocol.ExitRefused},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				p := b.compose(&Process{Grace: 10 * time.Second, Tasks: c.tasks})
				b.sleep(time.Second)
				p.term()
				<-p.left
				assert.Equal(t, c.want, ExitStatus(p.err), "%v", p.err)
			})
		})
	}
}

func TestTheFirstComponentToEndTakesTheOthersAlong(t *testing.T) {
	for name, c := range map[string]struct {
		run  func(context.Context, <-chan struct{}) error
		want int
	}{
		"it is done": {func(context.Context, <-chan struct{}) error { return nil }, 0},
		"it breaks":  {func(context.Context, <-chan struct{}) error { return errors.New("no table") }, protocol.ExitRefused},
		"it panics":  {func(context.Context, <-chan struct{}) error { panic("no table") }, protocol.ExitRefused},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				w := b.worker("a", works(5*time.Second), nil)
				b.broker.enqueue(1, "x")
				p := b.compose(&Process{Workers: []*Worker{w}, Tasks: []Task{
					{Name: "reaper", Run: func(ctx context.Context, stop <-chan struct{}) error {
						time.Sleep(2 * time.Second)
						return c.run(ctx, stop)
					}},
					{Name: "mover", Run: waits},
				}})
				<-p.left
				assert.Equal(t, c.want, ExitStatus(p.err))
				if c.want != 0 {
					assert.ErrorContains(t, p.err, "task reaper: ")
					assert.ErrorContains(t, p.err, "no table")
				}
				assert.Equal(t, model.JobDone, b.broker.job(1).State, "what ran was finished")
			})
		})
	}
}

func TestASecondSignalHurriesEveryComponent(t *testing.T) {
	inBubble(t, func(b *bench) {
		var causes [2]error
		w := b.worker("a", func(ctx context.Context, _ *Job) error {
			<-ctx.Done()
			causes[0] = context.Cause(ctx)
			return causes[0]
		}, nil)
		b.broker.enqueue(1, "x")
		p := b.compose(&Process{Workers: []*Worker{w}, Tasks: []Task{{"mover", func(ctx context.Context, _ <-chan struct{}) error {
			<-ctx.Done()
			causes[1] = context.Cause(ctx)
			return nil
		}}}})
		b.sleep(time.Second)
		p.term()
		b.sleep(2 * time.Second)
		p.term()
		<-p.left
		assert.NoError(t, p.err)
		assert.Equal(t, [2]error{ErrHurry, ErrHurry}, causes)
		assert.Equal(t, protocol.Instant(3*protocol.Second), b.clock.Now())
	})
}

func TestAProcessThatCannotWorkIsRefused(t *testing.T) {
	t.Setenv("QUIESCE_GRACE", "")
	inBubble(t, func(b *bench) {
		short := b.worker("a", works(0), nil)
		long := b.worker("b", works(0), func(o *Options) { o.Grace = time.Minute })
		for want, p := range map[string]*Process{
			"a has a grace of 20s and b of 1m0s": {Workers: []*Worker{short, long}},
			"needs a worker or a task":           {},
			"grace is not known":                 {Tasks: []Task{{"a", waits}}},
			"needs a name and a function":        {Grace: time.Minute, Tasks: []Task{{Name: "a"}}},
		} {
			require.ErrorContains(t, p.Run(b.t.Context(), nil), want)
		}
	})
}

func TestAWorkerThatEndsTakesTheOthersAlong(t *testing.T) {
	inBubble(t, func(b *bench) {
		release := make(chan struct{})
		wedged := b.worker("a", func(context.Context, *Job) error { <-release; return nil }, func(o *Options) { o.Slots = 1 }, Timeout(time.Second))
		b.broker.enqueue(1, "x")
		p := b.compose(&Process{Workers: []*Worker{wedged, b.worker("b", works(time.Second), func(o *Options) { o.Queues = []string{"other"} })}})
		<-p.left // nobody told it to
		assert.Equal(t, protocol.ExitLeaked, ExitStatus(p.err))
		assert.ErrorContains(t, p.err, "a: worker: exit status 3")
		close(release)
	})
}
