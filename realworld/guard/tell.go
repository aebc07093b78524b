package guard

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// fdVar names the descriptor on which a guard listens to its worker.
const fdVar = "QUIESCE_GUARD_FD"

// Life is what a worker tells its guard, once for each queue, before it claims anything.
type Life struct {
	Incarnation uint64          `json:"incarnation"`
	Queue       string          `json:"queue"`
	Broker      json.RawMessage `json:"broker,omitempty"` // the settings given to Tell
}

// Tell returns an observer for worker.Options that tells the guard of this process, if it has
// one, which life it lives and which queues it claims from, before anything is claimed.
// settings are what the guard's own broker must agree with the worker's on, as JSON: for
// package redis its []QueueConfig. The guard keeps them in memory and nowhere else. It is
// called once per process; its observer may be given to several workers.
func Tell(settings any) (worker.Observer, error) {
	t := &telling{}
	v, guarded := os.LookupEnv(fdVar)
	if !guarded {
		return t, nil
	}
	fd, err := strconv.Atoi(v)
	if err != nil || fd < 3 {
		return nil, fmt.Errorf("guard: %s=%q is not a descriptor; it is set by the guard and by nobody else", fdVar, v)
	}
	if t.settings, err = json.Marshal(settings); err != nil {
		return nil, fmt.Errorf("guard: settings: %w", err)
	}
	closeOnExec(fd)
	if err := os.Unsetenv(fdVar); err != nil { // children are not the guard's workers
		return nil, fmt.Errorf("guard: %w", err)
	}
	t.guard = os.NewFile(uintptr(fd), "guard")
	return t, nil
}

// telling looks on and tells the guard, which always listens.
type telling struct {
	settings json.RawMessage
	guard    *os.File // nil is nobody
	mu       sync.Mutex
	queues   []string
}

func (t *telling) Begin(setup worker.Setup, _ worker.State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, q := range setup.Queues {
		if !slices.Contains(t.queues, q) {
			t.queues = append(t.queues, q)
		}
	}
}

// Step tells the guard when the broker has said which life this is. No claim is asked for
// before the observers have seen that. A guard that cannot be told is gone, and the leases do
// its work.
func (t *telling) Step(_ protocol.Instant, ev protocol.Event, _ []protocol.Effect, _ worker.State) {
	if t.guard == nil || ev.Kind != protocol.Registered || ev.Code != protocol.OK {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, q := range t.queues {
		_ = json.NewEncoder(t.guard).Encode(Life{Incarnation: ev.Seq, Queue: q, Broker: t.settings})
	}
}

func (t *telling) Executed(worker.Execution) {}
func (t *telling) End(worker.Ending)         {}
