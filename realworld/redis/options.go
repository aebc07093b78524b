package redis

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// Options of a Broker. What is zero has the default named beside it.
type Options struct {
	// URL of the server: redis://user:password@host:6379/0, rediss:// for TLS, or
	// unix:///path. More nodes of a cluster, or the sentinels, are added as addr=host:port;
	// master_set=NAME says that they are sentinels.
	URL string
	// Client changes what the URL says, for what it cannot say: certificates, a dialer.
	Client func(*rueidis.ClientOption)

	Namespace string        // "quiesce"; the first part of every key
	Queues    []QueueConfig // at least one; those that workers claim from or jobs are added to
	Build     string        // of the handlers, kept with failures; the main module's version or revision
	Timeout   time.Duration // 1 s; limit of one script call, beside that of the caller's context
	Logger    *slog.Logger  // slog.Default

	clock  string // the first line of scripts; tests move time
	schema int    // that this build knows; tests are of another build

	remembered time.Duration // how often a claim that waits looks whether it is known; tests have no time
}

// QueueConfig is what a queue does with its jobs. Processes that share a queue should agree
// on it; when they do not, that of the process counts that makes the call.
type QueueConfig struct {
	Name       string        // at most 200 bytes, without braces, spaces and control characters
	Partitions int           // 1, at most 64; more spread a queue over the nodes of a cluster. They can be added, not taken away
	Lease      time.Duration // 5 m; must be what workers expect

	MaxFailures int           // 25; a job that failed so often is dead-lettered. Negative is never
	Poison      int           // 3; a job whose lease ran out so often in a row is dead-lettered. Negative is never
	Starving    int           // 10; a job interrupted so often without progress is counted as starving. Negative is never
	OnExpiry    OnExpiry      // Redeliver; of kinds of which their worker does not say that expiry means quarantine
	BackoffMin  time.Duration // 15 s; delay after the first failure, doubled with each
	BackoffMax  time.Duration // 24 h
	Spread      time.Duration // BackoffMin; at most so much is added to a delay, so that what failed together does not come back together. Negative is nothing
}

// OnExpiry is what happens to a job whose lease ran out.
type OnExpiry uint8

// What expiry does.
const (
	Redeliver         OnExpiry = iota // the job is claimable again
	QuarantineExpired                 // it is parked until an operator looks at it
)

// withDefaults fills in zeros and reports everything that cannot work.
func (o Options) withDefaults() (Options, error) {
	var errs []error
	if o.Namespace == "" {
		o.Namespace = "quiesce"
	}
	if bad(o.Namespace) {
		errs = append(errs, fmt.Errorf("redis: namespace %q must be at most 200 bytes without braces, spaces and control characters", o.Namespace))
	}
	if o.Build == "" {
		o.Build = buildOfThis()
	}
	if o.Timeout == 0 {
		o.Timeout = time.Second
	}
	if o.Timeout < 0 {
		errs = append(errs, fmt.Errorf("redis: timeout %v must be positive", o.Timeout))
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.clock == "" {
		o.clock = serverClock
	}
	if o.remembered == 0 {
		o.remembered = rememberedEvery
	}
	if o.schema == 0 {
		o.schema = Schema
	}
	if len(o.Queues) == 0 {
		errs = append(errs, errors.New(`redis: no queues; name at least one, for example Queues: []QueueConfig{{Name: "default"}}`))
	}
	queues := make([]QueueConfig, len(o.Queues))
	for i, q := range o.Queues {
		q, err := q.withDefaults()
		errs = append(errs, err)
		for _, other := range queues[:i] {
			if other.Name == q.Name {
				errs = append(errs, fmt.Errorf("redis: queue %q is named twice", q.Name))
			}
		}
		queues[i] = q
	}
	o.Queues = queues
	return o, errors.Join(errs...)
}

func (q QueueConfig) withDefaults() (QueueConfig, error) {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("redis: queue %q: "+format, append([]any{q.Name}, args...)...))
		}
	}
	setTime := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	setInt := func(n *int, v int) {
		if *n == 0 {
			*n = v
		}
		*n = max(*n, 0)
	}
	refuse(bad(q.Name), "the name must have 1 to 200 bytes without braces, spaces and control characters")
	if q.Partitions == 0 {
		q.Partitions = 1
	}
	refuse(q.Partitions < 1 || q.Partitions > MaxPartitions, "%d partitions; there can be 1 to %d", q.Partitions, MaxPartitions)
	setTime(&q.Lease, 5*time.Minute)
	refuse(q.Lease < time.Millisecond, "lease %v must be at least 1ms", q.Lease)
	setInt(&q.MaxFailures, 25)
	setInt(&q.Poison, 3)
	setInt(&q.Starving, 10)
	refuse(q.OnExpiry > QuarantineExpired, "OnExpiry %d is none; use Redeliver or QuarantineExpired", q.OnExpiry)
	setTime(&q.BackoffMin, 15*time.Second)
	setTime(&q.BackoffMax, max(24*time.Hour, q.BackoffMin))
	refuse(q.BackoffMin < 0 || q.BackoffMax < q.BackoffMin, "backoff %v to %v must be positive and rising", q.BackoffMin, q.BackoffMax)
	setTime(&q.Spread, q.BackoffMin)
	q.Spread = max(q.Spread, 0)
	return q, errors.Join(errs...)
}

// policy is a queue's settings as scripts read them.
func (q QueueConfig) policy() string {
	return fmt.Sprintf("%d %d %d %d %d %d %d", q.Lease.Microseconds(), q.MaxFailures, q.Poison, q.Starving, q.OnExpiry,
		q.BackoffMin.Microseconds(), q.BackoffMax.Microseconds())
}

// bad reports whether a name cannot be part of a key.
func bad(name string) bool {
	return name == "" || len(name) > 200 || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == '{' || r == '}' || r == 0x7f })
}

func buildOfThis() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return info.Main.Version
}
