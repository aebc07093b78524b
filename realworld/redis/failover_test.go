package redis

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
	"github.com/quiesce/quiesce/realworld/redis/local"
)

// founding is held while a cluster's ports are chosen and until its nodes listen: those of another
// that is begun beside it would be the same.
var founding sync.Mutex

// ports returns n that nobody listened on a moment ago.
func ports(t *testing.T, n int) (ports []int) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// listening starts a server with a port.
func listening(t *testing.T, port int, args ...string) *local.Server {
	t.Helper()
	s, err := local.Start(t.Context(), local.Options{Port: port, Args: args})
	mayStart(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

// admin returns a function that sends commands to a server, and returns what it answers or the
// error: a sentinel cuts connections when it makes a replica lead.
func admin(t *testing.T, url string) func(command ...string) string {
	t.Helper()
	option := rueidis.MustParseURL(url)
	option.DisableCache, option.ForceSingleClient = true, true
	client, err := rueidis.NewClient(option)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return func(command ...string) string {
		t.Helper()
		m, err := client.Do(context.Background(), client.B().Arbitrary(command...).Build()).ToMessage()
		if err != nil {
			return err.Error()
		}
		text, err := m.ToString()
		if err != nil {
			n, err := m.AsInt64()
			require.NoError(t, err, command)
			text = strconv.FormatInt(n, 10)
		}
		return text
	}
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	require.Eventually(t, is, 30*time.Second, 10*time.Millisecond, what)
}

// replicated returns once the replica has everything that was written so far. WAIT is about
// the writes of its own connection, so there is one.
func replicated(t *testing.T, primary func(...string) string) {
	t.Helper()
	require.Equal(t, "OK", primary("SET", "mark", "1"))
	require.Equal(t, "1", primary("WAIT", "1", "10000"))
}

func TestAReplicaTakesOver(t *testing.T) {
	port := ports(t, 2)
	primary := listening(t, port[0], "--repl-diskless-sync-delay", "0")
	replica := listening(t, port[1], "--replicaof", "127.0.0.1 "+strconv.Itoa(port[0]))
	toPrimary, toReplica := admin(t, primary.URL()), admin(t, replica.URL())
	until(t, "it follows", func() bool { return strings.Contains(toReplica("INFO", "replication"), "master_link_status:up") })
	p := newProxy(t, primary.Socket())
	f := newFixture(t, on("unix://"+p.Socket()))

	inc, other := f.life("a", 0), f.life("b", 0)
	f.enqueue(4)
	known := f.claim(inc, 2, 0)
	require.Len(t, known, 2)
	replicated(t, toPrimary)
	require.Equal(t, "OK", toReplica("REPLICAOF", "NO", "ONE"))
	assert.Equal(t, protocol.OK, f.settle(known[0], protocol.Ack, 0))
	forgotten := f.claim(other, 1, 0)
	require.Len(t, forgotten, 1)
	f.enqueue(1)

	primary.Kill()
	p.Lead(replica.Socket())
	f.reconnect()
	st := reached(t, func() (Stats, error) { return f.q.Stats(t.Context()) })
	assert.Equal(t, []int{2, 2, 4}, []int{st.Ready, st.Claimed, st.Total.Enqueued}, "the newest writes are gone")
	codes := reached(t, func() ([]protocol.Code, error) {
		return f.Renew(t.Context(), renewals(append(known[:2:2], forgotten...)))
	})
	assert.Equal(t, []protocol.Code{protocol.OK, protocol.OK, protocol.Stale}, codes, "every claim is held, or its holder told that it is not")
	assert.Equal(t, protocol.OK, f.settle(known[0], protocol.Ack, 0), "an ack that was forgotten is sent again")
	next := f.claim(inc, 1, 0)
	require.Len(t, next, 1)
	assert.Equal(t, forgotten[0].Job, next[0].Job)
	assert.Greater(t, next[0].Token, forgotten[0].Token)
	assert.Equal(t, protocol.Stale, f.settle(forgotten[0], protocol.Ack, 0))
	assert.Equal(t, protocol.OK, f.settle(next[0], protocol.Ack, 0))
}

func TestAWorkerFollowsItsSentinel(t *testing.T) {
	port := ports(t, 3)
	primary := listening(t, port[0], "--repl-diskless-sync-delay", "0")
	replica := listening(t, port[1], "--replicaof", "127.0.0.1 "+strconv.Itoa(port[0]))
	toReplica := admin(t, replica.URL())
	until(t, "it follows", func() bool { return strings.Contains(toReplica("INFO", "replication"), "master_link_status:up") })
	conf := filepath.Join(t.TempDir(), "sentinel.conf")
	require.NoError(t, os.WriteFile(conf, fmt.Appendf(nil, "sentinel monitor jobs 127.0.0.1 %d 1\nsentinel down-after-milliseconds jobs 300\n"+
		"sentinel failover-timeout jobs 3000\n", port[0]), 0o600))
	sentinel, err := local.Start(t.Context(), local.Options{Port: port[2], Config: conf, Args: []string{"--sentinel"}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, sentinel.Close()) })
	toSentinel := admin(t, sentinel.URL())
	until(t, "the sentinel knows the replica", func() bool { return strings.Contains(toSentinel("INFO", "sentinel"), "slaves=1") })

	f := newFixture(t, on(fmt.Sprintf("redis://%s?master_set=jobs", sentinel.Addr())))
	const jobs = 200
	c := newTally(jobs)
	stop := work(t, f, "q", func(ctx context.Context, job *worker.Job) error {
		if err := job.Sleep(ctx, 2*time.Millisecond); err != nil {
			return err
		}
		return c.handle(ctx, job)
	}, func(o *worker.Options) { o.Slots, o.Reply, o.Grace = 2, 300*time.Millisecond, 30*time.Second })
	f.enqueue(jobs / 2)
	replicated(t, admin(t, primary.URL()))
	primary.Kill()
	until(t, "the replica leads", func() bool { return strings.Contains(toReplica("INFO", "replication"), "role:master") })
	for i := range jobs / 2 {
		reached(t, func() ([]Added, error) {
			return f.q.Enqueue(t.Context(), Job{Kind: "k", Payload: fmt.Appendf(nil, "later %d", i)})
		})
	}
	c.all(t)
	require.NoError(t, stop())
	st := f.stats()
	assert.Equal(t, []int{0, 0}, []int{st.Ready, st.Delayed}, "what is claimed are acks that the old primary told nobody")
}

// cluster starts three nodes that share the slots.
func cluster(t *testing.T, args ...string) (url string, nodes []func(...string) string, servers []*local.Server) {
	founding.Lock()
	defer founding.Unlock()
	port := ports(t, 6)
	var addrs []string
	for i := range 3 {
		s := listening(t, port[i], append([]string{"--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(port[3+i]), "--cluster-node-timeout", "5000"}, args...)...)
		servers = append(servers, s)
		nodes = append(nodes, admin(t, s.URL()))
		addrs = append(addrs, s.Addr())
		nodes[i]("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(16384*i/3), strconv.Itoa(16384*(i+1)/3-1))
		nodes[i]("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1))
	}
	for i := range 2 {
		nodes[0]("CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(port[1+i]), strconv.Itoa(port[4+i]))
	}
	for _, node := range nodes {
		until(t, "the nodes know each other", func() bool {
			info := node("CLUSTER", "INFO")
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_slots_ok:16384") && strings.Contains(info, "cluster_size:3")
		})
	}
	return fmt.Sprintf("redis://%s?addr=%s&addr=%s", addrs[0], addrs[1], addrs[2]), nodes, servers
}

func TestAQueueIsSpreadOverACluster(t *testing.T) {
	url, nodes, _ := cluster(t)
	f := newFixture(t, on(url), partitioned(8), once)
	inc := f.life("a", 0)
	for range 16 {
		f.enqueue(10)
	}
	for i, node := range nodes {
		assert.Regexp(t, "^[1-9][0-9]*$", node("DBSIZE"), "node %d has none of the partitions", i)
	}
	g := f.claim(inc, 100, 0)
	require.Len(t, g, 100)
	codes, err := f.Renew(t.Context(), renewals(g))
	require.NoError(t, err)
	assert.Equal(t, codesOf(100, protocol.OK), codes)
	codes, err = f.Settle(t.Context(), settlements(g[:50], protocol.Ack))
	require.NoError(t, err)
	assert.Equal(t, codesOf(50, protocol.OK), codes)
	codes, err = f.Settle(t.Context(), settlements(g[50:], protocol.Fail))
	require.NoError(t, err)
	assert.Equal(t, codesOf(50, protocol.OK), codes)
	n, err := f.q.Redrive(t.Context(), Filter{}, -1)
	require.NoError(t, err)
	assert.Equal(t, 50, n)
	assert.Len(t, f.claim(inc, 1000, 0), 110)
	found, err := f.q.Mend(t.Context())
	require.NoError(t, err)
	assert.Zero(t, found)

	other := f.life("b", 0)
	for range 8 {
		got := f.claimSoon(other, 1)
		f.awaitParked(1)
		k := f.enqueue(1)
		assert.Equal(t, k[0], f.soon(got))
	}
	require.NoError(t, f.Going(t.Context(), other, "q"))
}
