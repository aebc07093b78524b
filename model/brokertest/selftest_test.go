package brokertest

import (
	"testing"
	"time"

	"github.com/quiesce/quiesce/model/memory"
	"github.com/quiesce/quiesce/protocol"
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
