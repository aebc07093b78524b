//go:build unix

package redis

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// scattered is a queue over three nodes, of which one can be taken away and brought back.
type scattered struct {
	*fixture
	leaves, comesBack func()
	on                map[int]bool // the partitions of that node
}

// scatter makes one. The node goes away as how says: killed, so that nobody listens there, or
// stopped, so that calls are taken and not answered.
func scatter(t *testing.T, how string, change ...func(*Options)) *scattered {
	url, nodes, servers := cluster(t, "--cluster-require-full-coverage", "no", "--appendonly", "yes", "--appendfsync", "always")
	f := newFixture(t, append([]func(*Options){on(url), partitioned(8), func(o *Options) {
		o.Timeout = 600 * time.Millisecond
		o.Logger = slog.New(slog.DiscardHandler)
	}}, change...)...)
	s := &scattered{fixture: f, on: map[int]bool{}}
	nodeOf := func(key string) int {
		slot, err := strconv.Atoi(nodes[0]("CLUSTER", "KEYSLOT", key))
		require.NoError(t, err)
		return (slot*3 + 2) / 16384
	}
	n := (nodeOf(f.seats[0]) + 1) % 3 // lives are registered at another
	for _, p := range f.q.partitions {
		if nodeOf(p.keys[0]) == n {
			s.on[p.number] = true
		}
	}
	require.NotEmpty(t, s.on)
	require.Less(t, len(s.on), 8)
	_, info, _ := strings.Cut(nodes[n]("INFO", "server"), "process_id:")
	id, _, _ := strings.Cut(info, "\r")
	pid, err := strconv.Atoi(id)
	require.NoError(t, err)
	switch how {
	case "killed":
		s.leaves = servers[n].Kill
		s.comesBack = func() { require.NoError(t, servers[n].Restart(t.Context())) }
	default:
		s.leaves = func() { require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP)) }
		s.comesBack = func() { require.NoError(t, syscall.Kill(pid, syscall.SIGCONT)) }
		t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	}
	return s
}

func (s *scattered) isHere(job protocol.JobKey) bool { return !s.on[partitionOf(job)] }

// awaitAll waits until every partition is asked for jobs again.
func (s *scattered) awaitAll() {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return !slices.ContainsFunc(s.q.partitions, (*partition).gone) }, 30*time.Second, 10*time.Millisecond)
}

// fill puts a number of jobs into every partition.
func (s *scattered) fill(each int) {
	for range 8 {
		s.enqueue(each)
	}
}

func TestAQueueGoesOnWithoutANode(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"killed", "stopped"} {
		t.Run(how, func(t *testing.T) {
			s := scatter(t, how)
			s.fill(3)
			inc := s.life("a", 0)
			held := s.claim(inc, 16, 0)
			require.Len(t, held, 16)
			s.fill(1) // so that every partition has one that nobody holds
			s.leaves()

			codes, err := s.Renew(t.Context(), renewals(held))
			require.NoError(t, err, "of most claims it is known that they were renewed")
			var here []worker.Grant
			for i, g := range held {
				if s.isHere(g.Job) {
					here = append(here, g)
					assert.Equal(t, protocol.OK, codes[i])
				} else {
					assert.Equal(t, protocol.Unknown, codes[i])
				}
			}
			require.NotEmpty(t, here)
			require.Less(t, len(here), 16)
			codes, err = s.Settle(t.Context(), settlements(held, protocol.Release))
			require.NoError(t, err)
			for i, g := range held {
				if s.isHere(g.Job) {
					assert.Equal(t, protocol.OK, codes[i])
				} else {
					assert.Equal(t, protocol.Unknown, codes[i])
				}
			}

			rest := s.claim(inc, 100, 0)
			assert.Len(t, rest, 4*(8-len(s.on)))
			for _, g := range rest {
				assert.True(t, s.isHere(g.Job))
			}
			_, err = s.Withdraw(t.Context(), inc, "q", s.seq[inc])
			require.NoError(t, err, "a request that is withdrawn holds nobody up")
			assert.Len(t, s.claim(inc, 100, 0), len(rest))

			st, err := s.q.Stats(t.Context())
			var missing *PartitionsError
			require.ErrorAs(t, err, &missing)
			assert.Len(t, missing.Partitions, len(s.on))
			for _, p := range missing.Partitions {
				assert.True(t, s.on[p])
			}
			assert.Equal(t, len(rest), st.Claimed, "those of the others are counted")

			assert.Equal(t, s.on, s.awayNow(), "as metrics see it")

			other := s.life("b", 0)
			got := s.claimSoon(other, 1)
			s.awaitParked(1)
			for range 8 {
				assert.True(t, s.isHere(s.enqueue(1)[0]), "jobs are added where they are taken")
			}
			assert.True(t, s.isHere(s.soon(got)))

			assert.Error(t, s.Going(t.Context(), inc, "q"))
			_, err = s.Withdraw(t.Context(), inc, "q", s.seq[inc])
			assert.ErrorAs(t, err, &missing, "who stops has to know that something may be held")

			third := s.life("c", 0)
			s.claim(third, 100, 0)
			got = s.claimSoon(third, 1)
			s.awaitParked(1)
			s.comesBack()
			s.awaitAll()
			job := s.soon(got)
			assert.False(t, s.isHere(job), "a claim that waits is told that there are others")
			_, err = s.q.Stats(t.Context())
			assert.NoError(t, err)
			assert.Empty(t, s.awayNow())
		})
	}
}

// awayNow are the partitions that are said to be away.
func (s *scattered) awayNow() map[int]bool {
	all, gone := 0, map[int]bool{}
	s.EachPartition(func(queue string, partition int, away bool) {
		assert.Equal(s.t, "q", queue)
		if all++; away {
			gone[partition] = true
		}
	})
	assert.Equal(s.t, 8, all)
	return gone
}

// What a request was granted by a node whose answer did not come nobody knows of. It goes back when
// the node answers again, and not only when the lease ends.
func TestWhatASilentNodeHasGrantedGoesBack(t *testing.T) {
	t.Parallel()
	s := scatter(t, "stopped")
	s.fill(3)
	inc := s.life("a", 0)
	s.leaves()
	held := s.claim(inc, 100, 0)
	require.Len(t, held, 3*(8-len(s.on)))
	s.comesBack() // it finds the request in its buffer
	until(t, "it answers again", func() bool {
		st, err := s.q.Stats(t.Context())
		var missing *PartitionsError
		require.True(t, err == nil || errors.As(err, &missing))
		return err == nil && st.Claimed == len(held) && st.Ready == 3*len(s.on)
	})
	s.awaitAll()
	assert.Len(t, s.claim(inc, 100, 0), 3*len(s.on))
}

// leavesAfterRegister has the node go away before the first claim.
type leavesAfterRegister struct{ *scattered }

func (l leavesAfterRegister) Register(ctx context.Context, life worker.Life) (uint64, error) {
	defer l.leaves()
	return l.scattered.Register(ctx, life)
}

// A worker has filled its slots at the other nodes, and nothing of it is out when it is told to stop:
// what the silent node has granted it nobody but the broker knows of.
func TestWhoMayHoldAClaimAtASilentNodeDoesNotExitClean(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]bool{"it stays away": false, "it comes back": true} {
		t.Run(name, func(t *testing.T) {
			s := scatter(t, "stopped")
			s.fill(1)
			here := 8 - len(s.on)
			busy := make(chan struct{}, 8)
			stop := work(t, leavesAfterRegister{s}, "q", func(ctx context.Context, job *worker.Job) error {
				busy <- struct{}{}
				<-job.Draining()
				return nil
			}, func(o *worker.Options) { o.Slots = here })
			for range here {
				<-busy
			}
			if back {
				s.comesBack() // it finds the request in its buffer
				s.awaitAll()
			}
			err := stop()
			if back {
				require.NoError(t, err)
			} else {
				assert.Equal(t, protocol.ExitUnsettled, worker.ExitStatus(err))
				assert.ErrorContains(t, err, "what request 1 was granted is not known")
				s.comesBack()
			}
			until(t, "all is known", func() bool {
				st, err := s.q.Stats(t.Context())
				return err == nil && st.Claimed == 0 && st.Ready == len(s.on) && st.Total.Done == here
			})
		})
	}
}

// A request is repeated because its answer was lost, and the repetition begins at another partition,
// which has all that is wanted. What the first attempt was granted goes back.
func TestWhatAnEarlierAttemptWasGrantedElsewhereGoesBack(t *testing.T) {
	server := ownServer(t)
	p := newProxy(t, server.Socket())
	f := newFixture(t, on("unix://"+p.Socket()), partitioned(2), quietly)
	inc := f.life("a", 0)
	f.enqueue(1)
	f.enqueue(1)
	f.claim(inc, 0, 0) // the server knows the script
	before := f.calls(server.Socket())
	p.Hush()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	req := f.request(inc, 1, 0)
	f.rotator.Store(0)
	go func() { _, err := f.Claim(ctx, req); ended <- err }()
	until(t, "it is granted", func() bool { return f.calls(server.Socket()) > before })
	cancel()
	require.Error(t, <-ended)
	p.Cut()
	p.Speak()
	f.reconnect()
	again := reached(t, func() (worker.ClaimAnswer, error) {
		f.rotator.Store(1)
		return f.Claim(t.Context(), req)
	})
	require.Len(t, again.Grants, 1)
	require.Equal(t, 2, f.stats().Claimed, "each by a partition of its own")
	require.NoError(t, f.Repay(t.Context(), inc, "q"))
	assert.Equal(t, 1, f.stats().Claimed)
	assert.Equal(t, protocol.OK, f.settle(again.Grants[0], protocol.Ack, 0), "what is known is kept")
}

// A request that fails after a partition has granted it something hands nothing on, so that goes back.
func TestWhatWasGrantedToARequestThatFailedGoesBack(t *testing.T) {
	f := newFixture(t, partitioned(2))
	inc := f.life("a", 0)
	f.enqueue(1)
	f.enqueue(1)
	c := must(f.newClaiming(f.request(inc, 2, 0)))
	require.NoError(t, c.askIfThere(t.Context(), c.left[0], "0"))
	require.Len(t, c.answer.Grants, 1)
	c.over(true)
	assert.Equal(t, 1, f.stats().Claimed)
	require.NoError(t, f.Repay(t.Context(), inc, "q"))
	assert.Equal(t, []int{2, 0}, []int{f.stats().Ready, f.stats().Claimed})
}
