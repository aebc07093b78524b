package guard

import (
	"context"
	"log/slog"
	"time"
)

// Releaser ends the leases of a life that is dead for certain, with everything it started:
// redis.Broker.Abandon. They count as run out. It returns how many claims that were.
type Releaser func(ctx context.Context, dead Life) (claims int, err error)

// Options of a guard. What is zero has the default named beside it.
type Options struct {
	Command []string // the worker and its arguments
	Release Releaser // nobody: the claims of the dead wait for their leases
	// Patience is how long the broker is asked again, should it not answer. Whoever restarts
	// the worker waits for it.
	Patience time.Duration // 10 s
	Logger   *slog.Logger  // slog.Default
}

// Limits of the guard.
const (
	defaultPatience = 10 * time.Second
	attempt         = 2 * time.Second        // limit of one call of the broker
	firstPause      = 100 * time.Millisecond // between two calls, doubled each time
	lastPause       = time.Second
	clearing        = 5 * time.Second // how long processes may take to die of SIGKILL
	lastWords       = time.Second     // how long what the dead have said may take to be read
)

func (o Options) withDefaults() Options {
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

// release has the leases of the dead ended, or gives up after a while.
func (o Options) release(dead []Life) {
	ctx, cancel := context.WithTimeout(context.Background(), o.Patience)
	defer cancel()
	for _, life := range dead {
		log := o.Logger.With("incarnation", life.Incarnation, "queue", life.Queue)
		claims, err := o.releaseOne(ctx, life)
		if err != nil {
			log.Error("the claims of the dead worker wait for their leases", "error", err)
			continue
		}
		log.Info("the leases of the dead worker are ended", "claims", claims)
	}
}

func (o Options) releaseOne(ctx context.Context, life Life) (int, error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		once, cancel := context.WithTimeout(ctx, attempt)
		claims, err := o.Release(once, life)
		cancel()
		if err == nil {
			return claims, nil
		}
		select {
		case <-ctx.Done():
			return 0, err
		case <-time.After(pause):
		}
	}
}
