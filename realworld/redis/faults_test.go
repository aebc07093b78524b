package redis

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// on makes a fixture's broker use a server of the test's own.
func on(url string) func(*Options) { return func(o *Options) { o.URL = url } }

// reached repeats a call until the server answers: a broker finds out that its connections
// are gone by using them.
func reached[T any](t *testing.T, call func() (T, error)) T {
	t.Helper()
	var got T
	require.Eventually(t, func() bool {
		var err error
		got, err = call()
		return err == nil
	}, 20*time.Second, time.Millisecond)
	return got
}

// reconnect waits until all of the client's connections are new ones: each call goes over one of
// four, whichever chance says.
func (f *fixture) reconnect() {
	f.t.Helper()
	inARow := 0
	require.Eventually(f.t, func() bool {
		for ; inARow < 60; inARow++ {
			if f.client.Do(f.t.Context(), f.client.B().Exists().Key("any").Build()).Error() != nil {
				inARow = 0
				return false
			}
		}
		return true
	}, 20*time.Second, time.Millisecond)
}

func (f *fixture) repeat(req worker.ClaimRequest) []worker.Grant {
	a, err := f.Claim(f.t.Context(), req)
	require.NoError(f.t, err)
	return a.Grants
}

func TestAServerThatAppendsLosesNothingWhenItIsKilled(t *testing.T) {
	s := ownServer(t, "--appendonly", "yes", "--appendfsync", "always")
	f := newFixture(t, on(s.URL()))
	inc := f.life("a", 0)
	f.enqueue(10)
	f.add(Job{Unique: "u", Delay: time.Hour}, Job{Priority: 3})
	req := f.request(inc, 5, 0)
	g := f.repeat(req)
	require.Len(t, g, 5)
	f.settle(g[0], protocol.Ack, 0)
	f.settle(g[1], protocol.Release, protocol.BecauseDrain)
	f.fail(g[2], "x")
	before := f.stats()

	s.Kill()
	require.NoError(t, s.Restart(t.Context()))
	f.reconnect()
	after := reached(t, func() (Stats, error) { return f.q.Stats(t.Context()) })
	assert.WithinDuration(t, time.Now().Add(-before.Oldest), time.Now().Add(-after.Oldest), time.Minute)
	before.Oldest, after.Oldest = 0, 0
	assert.Equal(t, before, after)

	assert.Equal(t, g[3:], f.repeat(req), "the request is known, with what is left of it")
	codes, err := f.Renew(t.Context(), renewals(g[3:]))
	require.NoError(t, err)
	assert.Equal(t, codesOf(2, protocol.OK), codes)
	assert.Equal(t, protocol.OK, f.settle(g[3], protocol.Ack, 0))
	assert.Equal(t, protocol.Repeat, f.settle(g[0], protocol.Ack, 0))
	assert.True(t, f.add(Job{Unique: "u"})[0].Existed)
	assert.Equal(t, g[1].Job, f.claim(inc, 1, 0)[0].Job, "the order is kept")
}

func TestAServerThatStoresNothingForgetsAndGoesOn(t *testing.T) {
	s := ownServer(t)
	f := newFixture(t, on(s.URL()))
	inc := f.life("a", 0)
	f.enqueue(5)
	g := f.claim(inc, 2, 0)
	s.Kill()
	require.NoError(t, s.Restart(t.Context()))
	f.reconnect()
	codes := reached(t, func() ([]protocol.Code, error) { return f.Renew(t.Context(), renewals(g)) })
	assert.Equal(t, codesOf(2, protocol.Stale), codes, "who held a job learns that it does no more")
	assert.Equal(t, protocol.Stale, f.settle(g[0], protocol.Ack, 0))
	assert.Empty(t, f.claim(inc, 5, 0), "the life is introduced again")
	again := f.enqueue(1)
	assert.Equal(t, g[0].Job, again[0], "numbers begin anew")
	next := f.claim(inc, 1, 0)
	require.Len(t, next, 1)
	assert.Greater(t, next[0].Token, g[0].Token, "tokens do not")
	assert.Equal(t, protocol.Stale, f.settle(g[0], protocol.Ack, 0))
	assert.Equal(t, protocol.OK, f.settle(next[0], protocol.Ack, 0))
	assert.Greater(t, f.life("a", 0), inc, "nor does a seat's next life have the number of an earlier one")
}

func TestAWaitingClaimSurvivesNoRestartButEndsWithIt(t *testing.T) {
	s := ownServer(t)
	f := newFixture(t, on(s.URL()))
	req := f.request(f.life("a", 0), 1, time.Hour)
	ended := make(chan error, 1)
	go func() {
		_, err := f.Claim(t.Context(), req)
		ended <- err
	}()
	f.awaitParked(1)
	s.Kill()
	select {
	case err := <-ended:
		assert.ErrorContains(t, err, "redis: waiting for jobs: ")
		assert.NotErrorIs(t, err, worker.ErrRefused, "so the worker repeats or withdraws it")
	case <-time.After(20 * time.Second):
		t.Fatal("it waits for a server that is gone")
	}
}

func TestConnectionsCutDuringADrainLoseNothing(t *testing.T) {
	s := ownServer(t)
	p := newProxy(t, s.Socket())
	f := newFixture(t, on("unix://"+p.Socket()))
	const jobs = 60
	f.enqueue(jobs)
	var running atomic.Int64
	busy := make(chan struct{})
	stop := work(t, f, "q", func(ctx context.Context, job *worker.Job) error {
		if running.Add(1) == 20 {
			close(busy)
		}
		return job.Sleep(ctx, 20*time.Millisecond)
	}, func(o *worker.Options) { o.Slots, o.Reply = 20, 500*time.Millisecond })
	<-busy
	cutting, done := context.WithCancel(t.Context())
	go func() {
		for cutting.Err() == nil {
			p.Hush() // so that answers are lost, and not only calls that had not begun
			time.Sleep(3 * time.Millisecond)
			p.Cut()
			p.Speak()
		}
	}()
	time.AfterFunc(100*time.Millisecond, done) // then the network is well again
	assert.NoError(t, stop(), "everything is settled, inside the grace")
	done()
	st := reached(t, func() (Stats, error) { return f.q.Stats(t.Context()) })
	assert.Zero(t, st.Claimed, "nothing is held any more")
	assert.Equal(t, jobs, st.Ready+st.Total.Done)
	assert.Zero(t, st.Total.Expired)
}

func TestAFullServerSettlesAndAddsNothing(t *testing.T) {
	s := ownServer(t, "--maxmemory-policy", "noeviction")
	f := newFixture(t, on(s.URL()))
	inc := f.life("a", 0)
	f.enqueue(9)
	g := f.claim(inc, 6, 0)
	set := func(limit string) {
		require.NoError(t, f.client.Do(t.Context(), f.client.B().ConfigSet().ParameterValue().ParameterValue("maxmemory", limit).Build()).Error())
	}
	set("1")
	require.NoError(t, f.client.Do(t.Context(), f.client.B().ScriptFlush().Build()).Error())
	_, err := f.q.Enqueue(t.Context(), Job{Kind: "k"})
	assert.ErrorIs(t, err, ErrFull)
	assert.ErrorContains(t, err, "redis: enqueue: the server's memory is full; raise its maxmemory, or wait until workers have caught up")
	_, err = f.q.Enqueue(t.Context(), Job{Kind: "k", Priority: 1})
	assert.ErrorIs(t, err, ErrFull)

	for i, verb := range []protocol.Verb{protocol.Ack, protocol.Release, protocol.Fail, protocol.Refuse, protocol.Quarantine} {
		assert.Equal(t, protocol.OK, f.settle(g[i], verb, protocol.BecauseDrain), verb)
	}
	codes, err := f.Renew(t.Context(), []worker.Renewal{{Job: g[5].Job, Token: g[5].Token, Cursor: []byte("half")}})
	require.NoError(t, err)
	assert.Equal(t, codesOf(1, protocol.OK), codes)
	other := f.life("b", 0)
	assert.Len(t, f.claim(other, 1, 0), 1, "jobs go on to be claimed, which makes room")
	require.NoError(t, f.Going(t.Context(), other, "q"))
	st := f.stats()
	assert.Equal(t, []int{1, 1}, []int{st.Total.Done, st.Quarantined})
	set("0")
	f.enqueue(1)
}

func TestAServerThatEvictsIsWarnedOf(t *testing.T) {
	s := ownServer(t)
	for policy, want := range map[string]string{"noeviction": "", "allkeys-lru": "maxmemory-policy=allkeys-lru"} {
		require.Equal(t, "OK", admin(t, s.URL())("CONFIG", "SET", "maxmemory-policy", policy))
		var said strings.Builder
		newFixture(t, on(s.URL()), func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&said, nil)) })
		if want == "" {
			assert.Empty(t, said.String())
		} else {
			assert.Contains(t, said.String(), "set maxmemory-policy noeviction")
			assert.Contains(t, said.String(), want)
		}
	}
}

func TestASlowServerIsWaitedFor(t *testing.T) {
	s := ownServer(t)
	p := newProxy(t, s.Socket())
	f := newFixture(t, on("unix://"+p.Socket()))
	const jobs = 30
	f.enqueue(jobs)
	p.Slow(30 * time.Millisecond)
	c := newTally(jobs)
	stop := work(t, f, "q", c.handle, func(o *worker.Options) { o.Slots, o.Reply = 10, 10*time.Second })
	c.all(t)
	require.NoError(t, stop())
	st := f.stats()
	assert.Equal(t, []int{0, 0, jobs}, []int{st.Ready, st.Claimed, st.Total.Done})
	for job, n := range c.ran {
		assert.Equal(t, 1, n, job)
	}
}

func TestAnAnswerThatComesTooLateIsAskedForAgain(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	p := newProxy(t, s.Socket())
	f := newFixture(t, on("unix://"+p.Socket()), func(o *Options) {
		o.Client = func(o *rueidis.ClientOption) { o.PipelineMultiplex = -1 } // one connection, which stands before replies are lost
	})
	inc := f.life("a", 0)
	f.enqueue(4)
	f.claim(inc, 0, 0) // the server knows the scripts
	_, err := f.Withdraw(t.Context(), inc, "q", 0)
	require.NoError(t, err)
	lost := func(call func(ctx context.Context) error) {
		t.Helper()
		before := f.calls(s.Socket())
		p.Hush()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- call(ctx) }()
		require.Eventually(t, func() bool { return f.calls(s.Socket()) > before }, 10*time.Second, time.Millisecond, "the server has done it")
		cancel()
		require.Error(t, <-ended)
		p.Cut()
		p.Speak()
	}
	req := f.request(inc, 3, 0)
	lost(func(ctx context.Context) error { _, err := f.Claim(ctx, req); return err })
	g := reached(t, func() (worker.ClaimAnswer, error) { return f.Claim(t.Context(), req) }).Grants
	require.Len(t, g, 3, "what was granted with the answer that was lost")
	assert.Equal(t, 3, f.stats().Claimed, "and no others")

	acks := settlements(g[:1], protocol.Ack)
	lost(func(ctx context.Context) error { _, err := f.Settle(ctx, acks); return err })
	codes := reached(t, func() ([]protocol.Code, error) { return f.Settle(t.Context(), acks) })
	assert.Equal(t, codesOf(1, protocol.Repeat), codes)

	lost(func(ctx context.Context) error { _, err := f.Withdraw(ctx, inc, "q", req.Seq); return err })
	n := reached(t, func() (int, error) { return f.Withdraw(t.Context(), inc, "q", req.Seq) })
	assert.Zero(t, n, "they went back the first time")
	st := f.stats()
	assert.Equal(t, []int{3, 0, 1}, []int{st.Ready, st.Claimed, st.Total.Done})
}

// calls is how many scripts a server has executed, asked on a connection around the proxy.
func (f *fixture) calls(socket string) (n int) {
	option := rueidis.MustParseURL("unix://" + socket)
	option.DisableCache = true
	client, err := rueidis.NewClient(option)
	require.NoError(f.t, err)
	defer client.Close()
	info, err := client.Do(f.t.Context(), client.B().Info().Section("commandstats").Build()).ToString()
	require.NoError(f.t, err)
	for _, name := range []string{"evalsha", "eval"} {
		if _, rest, ok := strings.Cut(info, "cmdstat_"+name+":calls="); ok {
			var calls int
			_, err := fmt.Sscanf(rest, "%d", &calls)
			require.NoError(f.t, err)
			n += calls
		}
	}
	return n
}

func TestAServerThatIsSilentDuringADrainIsNotWaitedForLongerThanTheGrace(t *testing.T) {
	s := ownServer(t)
	p := newProxy(t, s.Socket())
	f := newFixture(t, on("unix://"+p.Socket()))
	f.enqueue(5)
	held := make(chan struct{}, 5)
	ledger := &ledger{}
	stop := work(t, f, "q", func(ctx context.Context, job *worker.Job) error {
		held <- struct{}{}
		<-job.Draining()
		return nil
	}, func(o *worker.Options) {
		o.Slots, o.Grace, o.Reply = 5, 2*time.Second, 200*time.Millisecond
		o.Observers = []worker.Observer{ledger}
	})
	for range 5 {
		<-held
	}
	p.Hush()
	var status *worker.ExitError
	require.ErrorAs(t, stop(), &status)
	assert.Equal(t, protocol.ExitUnsettled, status.Status)
	assert.Equal(t, 5, ledger.unsettled, "each job that it could not settle is named")
	p.Cut()
	p.Speak()
	st := reached(t, func() (Stats, error) { return f.q.Stats(t.Context()) })
	assert.Equal(t, 5, st.Claimed+st.Total.Done, "the lease does the rest")
}

// ledger counts what a drain could not settle.
type ledger struct{ unsettled int }

func (l *ledger) Step(_ protocol.Instant, _ protocol.Event, effects []protocol.Effect, _ worker.State) {
	for i := range effects {
		if e := &effects[i]; e.Kind == protocol.Line && e.Outcome == protocol.WasUnsettled && e.Job != 0 {
			l.unsettled++
		}
	}
}

func (*ledger) Begin(worker.Setup, worker.State) {}
func (*ledger) Executed(worker.Execution)        {}
func (*ledger) End(worker.Ending)                {}

// A process at the end of its grace has no seconds for a server that does not say goodbye.
func TestCloseDoesNotWaitForASilentServer(t *testing.T) {
	server := ownServer(t)
	p := newProxy(t, server.Socket())
	f := newFixture(t, on("unix://"+p.Socket()))
	f.enqueue(1)
	p.Hush()
	began := time.Now()
	f.Close()
	assert.Less(t, time.Since(began), time.Second, "the client waits for two")
}
