package redis

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// Somebody empties the server under a worker. What was in the queue is gone, and nobody can bring
// it back; but the worker goes on, its stale result is refused although a new job has the number of
// the old one, and it comes to rest with nothing held.
func TestAWorkerOutlivesAnEmptiedServer(t *testing.T) {
	s := ownServer(t)
	f := newFixture(t, on(s.URL()), quietly)
	old := f.enqueue(2)
	begun, release := make(chan struct{}, 2), make(chan struct{})
	c := newTally(3) // both old ones, and the other new one
	stop := work(t, f, "q", func(ctx context.Context, job *worker.Job) error {
		if strings.HasPrefix(string(job.Payload), "payload") { // no slot is free, so no claim is on its way to take a new job
			begun <- struct{}{}
			<-release
		}
		return c.handle(ctx, job)
	}, func(o *worker.Options) { o.Slots, o.Park = 2, time.Second })
	<-begun
	<-begun
	require.Equal(t, "OK", admin(t, s.URL())("FLUSHALL"))
	added := f.add(Job{Payload: []byte("x")}, Job{Payload: []byte("y")})
	assert.Equal(t, old[0], added[0].Job, "numbers begin anew")
	g := f.claim(f.life("b", 0), 1, 0)
	require.Equal(t, keysOf(added[:1]), []protocol.JobKey{g[0].Job}, "it is somebody else's")
	close(release)
	c.all(t)
	require.NoError(t, stop())
	st := f.stats()
	assert.Equal(t, []int{0, 1, 1}, []int{st.Ready + st.Delayed, st.Claimed, st.Total.Done}, "the new jobs, and nothing of the old ones")
	assert.Equal(t, protocol.OK, f.settle(g[0], protocol.Ack, 0), "nobody else has ended it")
}

// A claim that waits hears of nothing any more once the server has been emptied under it, so it looks
// from time to time whether it is still known; and what was claimed before is verified then.
func TestAClaimThatWaitsNoticesThatTheServerWasEmptied(t *testing.T) {
	s := ownServer(t)
	f := newFixture(t, on(s.URL()), quietly, func(o *Options) { o.remembered, o.Queues[0].Lease = 20*time.Millisecond, time.Hour })
	lost, second := make(chan error, 1), make(chan struct{})
	f.add(Job{Payload: []byte("first")})
	stop := work(t, f, "q", func(ctx context.Context, job *worker.Job) error {
		if string(job.Payload) == "second" {
			close(second)
			return nil
		}
		<-ctx.Done()
		lost <- context.Cause(ctx)
		return nil
	}, func(o *worker.Options) { o.Slots, o.Park = 2, time.Hour })
	f.awaitParked(1)
	require.Equal(t, "OK", admin(t, s.URL())("FLUSHALL"))
	f.add(Job{Delay: time.Hour}, Job{Payload: []byte("second")}) // numbers begin anew, and that of the old job is busy
	select {
	case <-second:
	case <-time.After(20 * time.Second):
		t.Fatal("the new job is not claimed")
	}
	select {
	case err := <-lost:
		assert.ErrorIs(t, err, worker.ErrLeaseLost)
	case <-time.After(20 * time.Second):
		t.Fatal("the claim of the old job is trusted")
	}
	require.NoError(t, stop())
}

// Who waits and is known goes on waiting.
func TestAClaimThatWaitsAsksForNothingWhileItIsKnown(t *testing.T) {
	s := ownServer(t)
	f := newFixture(t, on(s.URL()), func(o *Options) { o.remembered = time.Millisecond })
	got := f.claimSoon(f.life("a", 0), 1)
	f.awaitParked(1)
	before := f.calls(s.Socket())
	until(t, "it has looked", func() bool {
		_, looks, _ := strings.Cut(admin(t, s.URL())("INFO", "commandstats"), "cmdstat_hexists:calls=")
		count, _, _ := strings.Cut(looks, ",")
		return len(count) > 1
	})
	assert.Equal(t, before, f.calls(s.Socket()))
	job := f.enqueue(1)[0]
	assert.Equal(t, job, f.soon(got))
}

// A key of ours that holds something else is an error that names the command's complaint, every
// time, until somebody removes it; nothing is lost by it.
func TestAKeyOfTheWrongTypeIsAnError(t *testing.T) {
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, quietly)
			inc := f.life("a", 0)
			f.add(Job{Priority: 1}, Job{Delay: time.Hour}, Job{Unique: "u"}, Job{}, Job{}, Job{}, Job{})
			g := f.claim(inc, 3, 0)
			f.fail(g[0], "x")
			key := strings.TrimSuffix(partitionKeys(f.opt.Namespace, "q", 0)[0], "meta") + name
			do := admin(t, f.opt.URL)
			do("RENAME", key, key+":saved")
			require.Equal(t, "1", do("SADD", key+":other", "x")) // none of ours is a set
			require.Equal(t, "OK", do("RENAME", key+":other", key))

			var errs []error
			keep := func(err error) { errs = append(errs, err) }
			_, err := f.q.Stats(t.Context())
			keep(err)
			_, err = f.q.Enqueue(t.Context(), Job{Kind: "k"}, Job{Kind: "k", Priority: 2, Unique: "v", UniqueFor: time.Hour, Delay: time.Second})
			keep(err)
			_, err = f.Claim(t.Context(), f.request(inc, 5, 0))
			keep(err)
			_, err = f.Renew(t.Context(), renewals(g[1:]))
			keep(err)
			_, err = f.Settle(t.Context(), settlements(g[1:2], protocol.Fail))
			keep(err)
			_, err = f.Settle(t.Context(), settlements(g[2:], protocol.Ack))
			keep(err)
			_, err = f.Register(t.Context(), worker.Life{Seat: "b", Nonce: uuid.New()})
			keep(err)
			_, err = f.Claim(t.Context(), f.request(inc, 100, 0))
			keep(err)
			_, err = f.Claim(t.Context(), f.request(inc, 1, 20*time.Millisecond)) // nothing is there, so it waits
			keep(err)
			failed := 0
			for _, err := range errs {
				if err != nil {
					failed++
					assert.ErrorContains(t, err, "WRONGTYPE")
					assert.ErrorContains(t, err, "redis: ")
				}
			}
			assert.Positive(t, failed, "or the key was of no use to any of them")

			do("DEL", key)
			do("RENAME", key+":saved", key)
			f.mend()
			st := f.stats()
			all := st.Ready + st.Delayed + st.Claimed + st.Dead + st.Quarantined + st.Total.Done
			assert.GreaterOrEqual(t, all, 7, "no job is lost")
		})
	}
}

func TestWhateverIsInAPayloadArrives(t *testing.T) {
	f := newFixture(t)
	inc := f.life("a", 0)
	big := bytes.Repeat([]byte("0123456789abcdef"), 5<<16) // 5 MB
	for i, payload := range [][]byte{{}, {0}, []byte("\x00\r\n\x00\t{}\xff\xfe"), []byte("grüße, 世界 🌍"), big} {
		key := f.add(Job{Payload: payload, Unique: "u\x00\n" + fmt.Sprint(i)})[0].Job
		assert.True(t, f.add(Job{Payload: payload, Unique: "u\x00\n" + fmt.Sprint(i)})[0].Existed)
		g := f.claim(inc, 1, 0)
		require.Len(t, g, 1)
		assert.Equal(t, key, g[0].Job)
		require.True(t, bytes.Equal(payload, g[0].Payload), i)
		codes, err := f.Renew(t.Context(), []worker.Renewal{{Job: g[0].Job, Token: g[0].Token, Cursor: payload}})
		require.NoError(t, err)
		assert.Equal(t, codesOf(1, protocol.OK), codes)
		assert.Equal(t, protocol.OK, f.settle(g[0], protocol.Release, protocol.BecauseDrain))
		g = f.claim(inc, 1, 0)
		require.Len(t, g, 1)
		require.True(t, bytes.Equal(payload, g[0].Cursor), i)
		assert.NotNil(t, g[0].Cursor)
		assert.Equal(t, protocol.OK, f.settle(g[0], protocol.Ack, 0))
	}
}

func TestQueuesOfWhateverNameAreSeparate(t *testing.T) {
	odd := []string{"q", "Q", "größe", "a:b", "a/0", "a/0:meta", "*", "[a-z]", "%d%s", "\\", "'\"", "-1", "0", "q?", "\xff\xfe", strings.Repeat("x", 200)}
	var queues []QueueConfig
	for _, name := range odd {
		queues = append(queues, QueueConfig{Name: name})
	}
	f := newFixture(t, func(o *Options) { o.Queues = queues })
	inc := f.life("a", 0)
	keys := map[protocol.JobKey]string{}
	for _, name := range odd {
		q, err := f.Queue(name)
		require.NoError(t, err)
		added, err := q.Enqueue(t.Context(), Job{Kind: "k", Payload: []byte(name)})
		require.NoError(t, err, name)
		require.NotContains(t, keys, added[0].Job, name)
		keys[added[0].Job] = name
	}
	for _, name := range odd {
		a, err := f.Claim(t.Context(), worker.ClaimRequest{Incarnation: inc, Queue: name, Seq: 1, Want: 9})
		require.NoError(t, err, name)
		require.Len(t, a.Grants, 1, name)
		assert.Equal(t, name, string(a.Grants[0].Payload))
		assert.Equal(t, name, keys[a.Grants[0].Job])
	}
	require.NoError(t, f.Upgrade(t.Context()))
}

// The server's clock jumps. Leases end early or late, and nothing else happens to a job: it is not
// lost, not granted twice at once, and no token is given twice.
func TestAClockThatJumpsLosesNothing(t *testing.T) {
	f, at := onClock(t, func(o *Options) { o.Queues[0].Lease, o.Queues[0].Poison = time.Minute, -1 })
	begin := time.Unix(2_000_000_000, 0)
	at(begin)
	inc, other := f.life("a", 0), f.life("b", 0)
	f.enqueue(3)
	f.add(Job{Delay: time.Hour})
	newest := map[protocol.JobKey]worker.Grant{}
	for i, jump := range []time.Duration{0, time.Hour, -24 * time.Hour, time.Second, 400 * 24 * time.Hour, -800 * 24 * time.Hour, 5 * time.Minute, -time.Millisecond, 2 * time.Hour} {
		begin = begin.Add(jump)
		at(begin)
		f.sweep()
		who := inc
		if i%2 == 1 {
			who = other
		}
		for _, g := range newest { // those of which the lease goes on
			f.settle(g, protocol.Release, protocol.BecauseDrain)
		}
		require.GreaterOrEqual(t, f.stats().Oldest, time.Duration(0))
		for _, g := range f.claim(who, 10, 0) {
			old, had := newest[g.Job]
			if had {
				assert.Greater(t, g.Token, old.Token)
				assert.Equal(t, protocol.Stale, f.settle(old, protocol.Ack, 0))
			}
			newest[g.Job] = g
		}
		st := f.stats()
		require.Equal(t, 4, st.Ready+st.Delayed+st.Claimed, "after jump %d: %+v", i, st)
	}
	at(begin.Add(time.Hour * 24 * 1000))
	f.sweep()
	g := f.claim(inc, 10, 0)
	require.Len(t, g, 4)
	for _, g := range g {
		assert.Equal(t, protocol.OK, f.settle(g, protocol.Ack, 0))
	}
	f.enqueue(1)
	assert.Len(t, f.claim(other, 1, 0), 1)
}

// Two processes have different settings of one queue: those of the one that calls count, for the
// leases that it grants and renews, and for what it finds expired or failed.
func TestProcessesThatDisagreeAboutAQueueLoseNothing(t *testing.T) {
	f, at := onClock(t, func(o *Options) { o.Queues[0].Lease, o.Queues[0].MaxFailures, o.Queues[0].Poison = time.Hour, 5, 5 })
	begin := time.Unix(2_000_000_000, 0)
	at(begin)
	opt := f.opt
	opt.Queues = []QueueConfig{{Name: "q", Lease: time.Second, MaxFailures: 1, Poison: 1}}
	hasty, err := Open(t.Context(), opt)
	require.NoError(t, err)
	defer hasty.Close()
	h := &fixture{hasty, t, hasty.queues["q"], map[uint64]uint64{}}
	a, b := f.life("a", 0), h.life("b", 0)
	f.enqueue(3)
	long, short := f.claim(a, 1, 0), h.claim(b, 2, 0)
	require.Equal(t, []int{1, 2}, []int{len(long), len(short)})
	assert.Equal(t, codesOf(1, protocol.OK), must(h.Renew(t.Context(), renewals(long))), "an hour is not made shorter")
	at(begin.Add(2 * time.Second))
	assert.Equal(t, codesOf(2, protocol.Expired), must(f.Renew(t.Context(), renewals(short))), "their lease was a second")
	assert.Equal(t, codesOf(1, protocol.OK), must(f.Renew(t.Context(), renewals(long))))
	f.sweep()
	assert.Equal(t, []int{2, 0}, []int{f.stats().Ready, f.stats().Dead}, "to the one that finds it an expiry is one of five")
	f.fail(long[0], "x")
	assert.Equal(t, []int{1, 0}, []int{f.stats().Delayed, f.stats().Dead}, "and a failure, too")
	require.Len(t, h.claim(b, 1, 0), 1)
	at(begin.Add(4 * time.Second))
	h.sweep()
	assert.Equal(t, []int{1, 1, 1}, []int{f.stats().Ready, f.stats().Delayed, f.stats().Dead}, "to the other one is enough")
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A server on which a command that is needed goes by another name is found out at the start.
func TestACommandThatIsRenamedIsAnError(t *testing.T) {
	for command, says := range map[string]string{
		"EVALSHA": `redis: opening queue "q": unknown command 'EVALSHA'`,
		"ZADD":    "redis: register: Unknown Redis command called from script",
		"LPOP":    "redis: turn: Unknown Redis command called from script",
	} {
		t.Run(command, func(t *testing.T) {
			s := ownServer(t, "--rename-command", command, "renamed")
			_, namespace := onServer(t)
			b, err := Open(t.Context(), Options{URL: s.URL(), Namespace: namespace, Queues: []QueueConfig{{Name: "q"}}, Logger: slog.New(slog.DiscardHandler)})
			var inc uint64
			if err == nil {
				defer b.Close()
				inc, err = b.Register(t.Context(), worker.Life{Seat: "a"})
			}
			if err == nil {
				_, err = b.Claim(t.Context(), worker.ClaimRequest{Incarnation: inc, Queue: "q", Seq: 1, Want: 1})
			}
			assert.ErrorContains(t, err, says)
		})
	}
}

// Connections are killed again and again, and the server is silent for a while: every job is done
// once, and the drain is clean.
func TestAWorkerSurvivesAnOperatorWhoKillsItsConnections(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	f := newFixture(t, on(s.URL()), quietly, func(o *Options) { o.Timeout = time.Second })
	const jobs = 600
	f.enqueue(jobs)
	c := newTally(jobs)
	stop := work(t, f, "q", func(ctx context.Context, job *worker.Job) error {
		if err := job.Sleep(ctx, time.Millisecond); err != nil {
			return err
		}
		return c.handle(ctx, job)
	}, func(o *worker.Options) { o.Slots, o.Reply = 5, 300*time.Millisecond })
	do := admin(t, s.URL())
	for i := range 200 {
		switch i % 20 {
		case 10:
			do("CLIENT", "PAUSE", "200", "ALL")
		case 15:
			do("SCRIPT", "FLUSH")
		case 16:
			assert.Contains(t, do("SCRIPT", "KILL"), "NOTBUSY")
		default:
			do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		}
		time.Sleep(2 * time.Millisecond)
	}
	c.all(t)
	require.NoError(t, stop())
	st := f.stats()
	assert.Equal(t, []int{0, 0, jobs}, []int{st.Ready + st.Delayed, st.Claimed, st.Total.Done})
	assert.Zero(t, st.Dead+st.Quarantined)
}
