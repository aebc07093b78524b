//go:build unix

package redis

import (
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
		})
	}
}

// What a request was granted by a node whose answer did not come nobody knows of. It goes back when
// the node answers again, and not only when the lease ends.
func TestWhatASilentNodeHasGrantedGoesBack(t *testing.T) {
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
