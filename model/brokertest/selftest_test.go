package brokertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/quiesce/quiesce/model/memory"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// inMemory is the in-memory broker as a subject.
type inMemory struct {
	*memory.Fake
	t TB
}

func openInMemory(t TB, cfg Config) Subject { return &inMemory{reference(cfg), t} }

func (m *inMemory) Enqueue(queue string, job NewJob) protocol.JobKey {
	return m.Fake.Enqueue(queue, job.Kind, job.Version, job.Payload)
}

func (m *inMemory) Job(key protocol.JobKey) (Job, bool) {
	row, ok := m.Fake.Job(key)
	return infoOf(row), ok
}

func (m *inMemory) AwaitParked(n int) {
	m.t.Helper()
	for end := time.Now().Add(patience); m.Parked() != n; time.Sleep(10 * time.Microsecond) {
		if time.Now().After(end) {
			m.t.Fatalf("%d requests wait, and not %d", m.Parked(), n)
		}
	}
}

func TestTheReferenceBrokerConformsToItself(t *testing.T) { Run(t, openInMemory) }

// poorer is the in-memory broker, and can do less.
type poorer struct {
	*memory.Fake
	t TB
}

func (p *poorer) Enqueue(queue string, job NewJob) protocol.JobKey {
	return p.Fake.Enqueue(queue, job.Kind, job.Version, job.Payload)
}

func (p *poorer) Job(key protocol.JobKey) (Job, bool) {
	row, ok := p.Fake.Job(key)
	return infoOf(row), ok
}

func (p *poorer) Capabilities() worker.Capabilities { return worker.Capabilities{NoWithdraw: true} }

func (p *poorer) Withdraw(context.Context, uint64, string, uint64) (int, error) {
	p.t.Fatal("a broker that cannot withdraw is asked to")
	return 0, nil
}

// CutOff hides the broker's own, so that a poorer one is no Replica.
func (p *poorer) CutOff() {}

func TestWhatABrokerCannotDoIsSkippedByName(t *testing.T) {
	why := map[string]int{}
	for _, c := range checks() {
		r := record(t.Context(), c, func(t TB, cfg Config) Subject { return &poorer{reference(cfg), t} })
		assert.False(t, r.failed, "%s: %q", c.name, r.log)
		if r.skip {
			why[r.log[len(r.log)-1]]++
		}
	}
	assert.Equal(t, map[string]int{
		"the broker has the capability NoWithdraw": 6,
		"the subject is no Parker":                 len(parkingCases),
		"the subject is no Replica":                len(failoverCases),
	}, why)
}

// Histories that never come to what they are to compare would find nothing.
func TestRandomHistoriesSeeEveryAnswerAndEveryState(t *testing.T) {
	quickly(t)
	setFlag(t, "rapid.checks", "500")
	seen := map[string]int{}
	var counting fault = func(f *faulty, _ Config) {
		f.settle = f.settled(nil, func(s worker.Settlement, c protocol.Code) protocol.Code {
			seen[s.Verb.String()+" "+c.String()]++
			return c
		})
		f.renew = f.renewed(func(_ worker.Renewal, c protocol.Code) protocol.Code {
			seen["renew "+c.String()]++
			return c
		})
		f.claim = func(ctx context.Context, req worker.ClaimRequest) (worker.ClaimAnswer, error) {
			a, err := f.inMemory.Claim(ctx, req)
			if err != nil { // the histories call one after the other
				seen["claim refused"]++
			}
			for _, g := range a.Grants {
				seen["after "+g.Prior.Reason.String()]++
			}
			return a, err
		}
		f.withdraw = func(ctx context.Context, n uint64, queue string, seq uint64) (int, error) {
			jobs, err := f.inMemory.Withdraw(ctx, n, queue, seq)
			seen[fmt.Sprint("withdrew ", jobs)]++
			return jobs, err
		}
		f.job = func(key protocol.JobKey) (Job, bool) {
			info, ok := f.inMemory.Job(key)
			seen[stateName(info.State)]++
			return info, ok
		}
	}
	random(t, counting.open(nil))
	t.Log(seen)
	want := []string{
		"ready", "claimed", "delayed", "done", "dead-lettered", "quarantined", "cancelled", "claim refused", "withdrew 0", "withdrew 1", "withdrew 2",
		"renew ok", "renew expired", "renew closed", "renew stale", "renew cancel",
		"after drain", "after hurry", "after yield", "after distrust", "after expired", "after cut", "after -",
	}
	for _, verb := range verbs {
		for _, code := range []protocol.Code{protocol.OK, protocol.Repeat, protocol.Closed, protocol.Stale} {
			want = append(want, verb.String()+" "+code.String())
		}
	}
	for _, outcome := range want {
		assert.NotZero(t, seen[outcome], "no history showed %q", outcome)
	}
}
