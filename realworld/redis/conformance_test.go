package redis

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/brokertest"
	"github.com/quiesce/quiesce/protocol"
)

func TestConformance(t *testing.T) {
	brokertest.Run(t, func(t brokertest.TB, cfg brokertest.Config) brokertest.Subject { return openSubject(t, cfg) })
}

// subject is a broker on a clock of the test's own, a key that every script reads.
type subject struct {
	*Broker
	t     brokertest.TB
	ctx   context.Context
	admin rueidis.Client // of the clock and the copy
	clock string
	now   time.Time
}

func openSubject(t brokertest.TB, cfg brokertest.Config) *subject {
	url, namespace := onServer(t)
	return openAs(t, cfg, url, namespace, func(*rueidis.ClientOption) {})
}

// openAs opens the subject as a user, whom the client's option names.
func openAs(t brokertest.TB, cfg brokertest.Config, url, namespace string, user func(*rueidis.ClientOption)) *subject {
	s := &subject{t: t, ctx: context.Background(), clock: namespace + ":clock", now: cfg.Start}
	var queues []QueueConfig
	for _, name := range []string{brokertest.Queue, brokertest.OtherQueue} {
		queues = append(queues, QueueConfig{
			Name: name, Lease: cfg.Lease, MaxFailures: never(cfg.MaxFailures), Poison: never(cfg.Poison), Starving: never(cfg.Starving),
			OnExpiry:   map[model.OnExpiry]OnExpiry{model.Redeliver: Redeliver, model.QuarantineExpired: QuarantineExpired}[cfg.OnExpiry],
			BackoffMin: cfg.BackoffMin, BackoffMax: cfg.BackoffMax, Spread: -1,
		})
	}
	var err error
	s.Broker, err = Open(s.ctx, Options{
		URL: url, Namespace: namespace, Queues: queues, Timeout: 20 * time.Second,
		clock:  fmt.Sprintf("local now = tonumber(redis.call('GET', '%s'))", s.clock),
		Client: func(o *rueidis.ClientOption) { o.PipelineMultiplex = -1; user(o) },
	})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	option := rueidis.MustParseURL(url)
	option.PipelineMultiplex, option.DisableCache = -1, true
	s.admin, err = rueidis.NewClient(option)
	require.NoError(t, err)
	t.Cleanup(s.admin.Close)
	s.set()
	return s
}

// never is a limit of the kit, for which 0 is none.
func never(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

func (s *subject) set() {
	require.NoError(s.t, s.admin.Do(s.ctx, s.admin.B().Set().Key(s.clock).Value(fmt.Sprint(s.now.UnixMicro())).Build()).Error())
}

func (s *subject) Enqueue(queue string, job brokertest.NewJob) protocol.JobKey {
	q, err := s.Queue(queue)
	require.NoError(s.t, err)
	added, err := q.Enqueue(s.ctx, Job{Kind: job.Kind, Version: job.Version, Payload: job.Payload})
	require.NoError(s.t, err)
	return added[0].Job
}

func (s *subject) CancelJob(job protocol.JobKey) {
	for _, q := range s.queues {
		_, err := q.Cancel(s.ctx, job)
		require.NoError(s.t, err)
	}
}

// Advance moves the clock. Requests that wait look again in the order in which they came, as
// they do in production when their sleep is over.
func (s *subject) Advance(d time.Duration) {
	s.now = s.now.Add(d)
	s.set()
	s.mu.Lock()
	waiting := slices.Clone(s.parked)
	s.mu.Unlock()
	for _, pk := range waiting {
		s.poke(pk.req.Incarnation, pk.req.Queue, pk.req.Seq)
		s.settled()
	}
	for _, q := range s.queues {
		for _, p := range q.partitions {
			for more := int64(1); more == 1; {
				var err error
				more, err = p.run(s.ctx, &s.scripts.expire).AsInt64()
				require.NoError(s.t, err)
			}
		}
	}
}

// settled waits until every claim that is under way waits at the broker.
func (s *subject) settled() int {
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Microsecond) {
		s.mu.Lock()
		claiming, parked := s.claiming, len(s.parked)
		s.mu.Unlock()
		if claiming == parked {
			s.blocked(parked)
			return parked
		}
		if time.Now().After(end) {
			s.t.Fatalf("%d claims are under way, of which %d wait", claiming, parked)
		}
	}
}

// blocked waits a moment until the server knows of so many that wait: whose pop arrives first is
// woken first. Some that have waited in vain keep away from it for a while.
func (s *subject) blocked(n int) {
	for end := time.Now().Add(50 * time.Millisecond); n > 0 && time.Now().Before(end); {
		info, err := s.admin.Do(s.ctx, s.admin.B().Info().Section("clients").Build()).ToString()
		require.NoError(s.t, err)
		_, rest, _ := strings.Cut(info, "blocked_clients:")
		count, _, _ := strings.Cut(rest, "\r")
		if have, err := strconv.Atoi(count); err != nil || have >= n {
			return
		}
	}
}

func (s *subject) AwaitParked(n int) {
	for end := time.Now().Add(20 * time.Second); s.settled() != n; time.Sleep(10 * time.Microsecond) {
		if time.Now().After(end) {
			s.t.Fatalf("not %d requests wait", n)
		}
	}
}

// CutOff copies the keys of the queues. That what a replica has is all of some instant's is
// Redis's promise, since it hands on each script as one transaction; TestAReplicaTakesOver
// has a real one.
func (s *subject) CutOff() (failOver func()) {
	queues, keys := globalKeys(s.opt.Namespace)
	keys = append(slices.Clone(keys), queues)
	for _, q := range s.queues {
		for _, p := range q.partitions {
			keys = append(keys, p.keys...)
		}
	}
	s.move(keys, "", ":copy")
	return func() { s.move(keys, ":copy", "") }
}

// move makes keys with a suffix what those with another are.
func (s *subject) move(keys []string, from, to string) {
	for _, k := range keys {
		for _, cmd := range []rueidis.Completed{
			s.admin.B().Del().Key(k + to).Build(),
			s.admin.B().Copy().Source(k + from).Destination(k + to).Build(),
		} {
			require.NoError(s.t, s.admin.Do(s.ctx, cmd).Error())
		}
	}
}

func (s *subject) Job(job protocol.JobKey) (brokertest.Job, bool) {
	for _, q := range s.queues {
		info, ok, err := q.Job(s.ctx, job)
		require.NoError(s.t, err)
		if ok {
			return brokertest.Job{State: states[info.State], Deliveries: info.Deliveries, Failures: info.Failures, Poison: info.Poison, Fruitless: info.Fruitless}, true
		}
	}
	return brokertest.Job{}, false
}

var states = map[State]model.JobState{
	Ready: model.JobReady, Claimed: model.JobClaimed, Delayed: model.JobDelayed, Done: model.JobDone, Dead: model.JobDead,
	Quarantined: model.JobQuarantined, Cancelled: model.JobCancelledByOperator,
}
