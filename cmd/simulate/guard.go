package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/quiesce/quiesce/realworld/guard"
	"github.com/quiesce/quiesce/realworld/redis"
)

// redisVar gives --redis where a password must not stand in a list of processes.
const redisVar = "QUIESCE_REDIS"

func (a *app) guardCommand() *cobra.Command {
	var server, namespace string
	var patience time.Duration
	cmd := &cobra.Command{
		Use:   "guard [flags] -- COMMAND [ARGUMENTS]",
		Short: "Start a worker and stand by it: signals, orphans, and its claims should it crash",
		Long: `Guard starts a worker, passes signals on, reaps orphans, and ends with the worker's status. When the worker
dies with claims that it had not settled, they become claimable once all its processes are gone, instead of when their
leases end. For that the guard needs the Redis that the worker uses, and the worker says guard.Tell.`,
		Example: "  simulate guard --redis redis://localhost:6379 -- ./worker --slots 10",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return misuse("guard what? write simulate guard -- ./worker and its arguments")
			}
			o := guard.Options{Command: args, Patience: patience, Logger: slog.New(slog.NewTextHandler(a.stderr, nil))}
			where := "--redis"
			if server == "" {
				server, where = os.Getenv(redisVar), "$"+redisVar
			}
			if server != "" {
				if err := checkRedis(where, server); err != nil {
					return err
				}
				o.Release = releaseOnRedis(server, namespace)
			}
			status, err := guard.Run(o)
			if err == nil && status != 0 {
				err = &passedOnError{status}
			}
			return err
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows the command is its own
	cmd.Flags().Var(pathFlag(&server, "URL", "Redis"), "redis", "URL of the worker's Redis; default $"+redisVar+"; without it claims wait for their leases")
	cmd.Flags().StringVar(&namespace, "namespace", "", "the first part of every key; as the worker's")
	cmd.Flags().Var(spanFlag(&patience, 10*time.Second), "patience", "how long a Redis that does not answer is asked again")
	return cmd
}

// releaseOnRedis ends the leases of the dead. It connects when somebody has died: a guard is
// otherwise no client.
func releaseOnRedis(server, namespace string) guard.Releaser {
	return func(ctx context.Context, dead guard.Life) (int, error) {
		var queues []redis.QueueConfig
		if err := json.Unmarshal(dead.Broker, &queues); err != nil {
			return 0, fmt.Errorf("the worker does not say how its queues are set; it must give its []redis.QueueConfig to guard.Tell: %w", err)
		}
		b, err := redis.Open(ctx, redis.Options{URL: server, Namespace: namespace, Queues: queues})
		if err != nil {
			return 0, err
		}
		defer b.Close()
		return b.Abandon(ctx, dead.Incarnation, dead.Queue)
	}
}

// passedOnError ends the command with the status of another.
type passedOnError struct{ code int }

func (e *passedOnError) Error() string { return fmt.Sprintf("the worker ended with status %d", e.code) }

// passedOn is the status that is another command's.
func passedOn(err error) (int, bool) {
	var e *passedOnError
	if errors.As(err, &e) {
		return e.code, true
	}
	return 0, false
}
