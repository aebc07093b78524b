package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"

	"github.com/quiesce/quiesce/protocol/worker"
)

// fdVar names the descriptor on which a guard listens to its worker.
const fdVar = "QUIESCE_GUARD_FD"

// Life is what a worker tells its guard before it claims the first job of a queue.
type Life struct {
	Incarnation uint64          `json:"incarnation"`
	Queue       string          `json:"queue"`
	Broker      json.RawMessage `json:"broker,omitempty"` // the settings given to Tell
}

// Tell returns a broker that tells the guard of this process, if it has one, which life it
// lives and in which queues, before anything is claimed. settings are what the guard's own
// broker must agree with the worker's on, as JSON: for package redis its []QueueConfig. The
// guard's process keeps them in memory and nowhere else.
func Tell(b worker.Broker, settings any) (worker.Broker, error) {
	v, guarded := os.LookupEnv(fdVar)
	if !guarded {
		return b, nil
	}
	fd, err := strconv.Atoi(v)
	if err != nil || fd < 3 {
		return nil, fmt.Errorf("guard: %s=%q is not a descriptor; it is set by the guard and by nobody else", fdVar, v)
	}
	text, err := json.Marshal(settings)
	if err != nil {
		return nil, fmt.Errorf("guard: settings: %w", err)
	}
	closeOnExec(fd)
	if err := os.Unsetenv(fdVar); err != nil { // children are not the guard's workers
		return nil, fmt.Errorf("guard: %w", err)
	}
	return &telling{Broker: b, guard: json.NewEncoder(os.NewFile(uintptr(fd), "guard")), settings: text, told: map[claimant]bool{}}, nil
}

// telling tells the guard on the way to the broker.
type telling struct {
	worker.Broker
	settings json.RawMessage

	mu    sync.Mutex
	guard *json.Encoder
	told  map[claimant]bool
}

// claimant is what has claims that a guard can end.
type claimant struct {
	incarnation uint64
	queue       string
}

// Claim tells the guard of a queue before the first request for its jobs goes out. A guard
// that cannot be told is gone, and the leases do its work.
func (t *telling) Claim(ctx context.Context, req worker.ClaimRequest) (worker.ClaimAnswer, error) {
	c := claimant{req.Incarnation, req.Queue}
	t.mu.Lock()
	if !t.told[c] {
		t.told[c] = true
		_ = t.guard.Encode(Life{Incarnation: c.incarnation, Queue: c.queue, Broker: t.settings})
	}
	t.mu.Unlock()
	return t.Broker.Claim(ctx, req)
}
