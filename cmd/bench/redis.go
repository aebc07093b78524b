package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// redisOptions say how much is measured.
type redisOptions struct {
	systems []string
	slots   []int
	jobs    int // of the fastest, at 10 slots or more
	rounds  int
	waits   int // jobs at 100/s
}

func redisCommand(out output) *cobra.Command {
	var o redisOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use: "redis", Short: "The Redis queue: jobs a second, latency, what a job costs; asynq and river beside it", Args: cobra.NoArgs,
		Long: `The Redis queue on a redis-server of its own, and asynq and river beside it in the same run: no-op jobs through
a worker, enqueueing, the time from enqueue to start, processor time and memory per job. Systems take turns, in
several short rounds. The limit that the ratio is to are the same script calls without a worker.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt) // what was started is to end, too
			defer stop()
			r, err := measureRedis(ctx, o, out.stderr)
			if err != nil {
				return err
			}
			return out.print(r, asJSON, r.table)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.systems, "systems", slices.Clone(allSystems), "what to measure")
	f.IntSliceVar(&o.slots, "slots", []int{1, 10, 100, 1000}, "jobs at once")
	f.IntVar(&o.jobs, "jobs", 100_000, "jobs of one measurement; slower systems and fewer slots take a part of it")
	f.IntVar(&o.rounds, "rounds", 3, "how often everything is measured")
	f.IntVar(&o.waits, "waits", 1000, "jobs of which it is measured how long they take to start")
	f.BoolVar(&asJSON, "json", false, "print JSON instead of tables")
	return cmd
}

var allSystems = []string{"quiesce", "asynq", "river"}

func checkSystems(systems []string) error {
	if len(systems) == 0 {
		return errors.New("--systems is empty; name at least one of quiesce, asynq, river")
	}
	for _, s := range systems {
		if !slices.Contains(allSystems, s) {
			return fmt.Errorf("--systems %s is not known; write some of quiesce, asynq, river", s)
		}
	}
	return nil
}

func (o *redisOptions) check() error {
	for _, s := range o.slots {
		if s < 1 || s > 10_000 {
			return fmt.Errorf("--slots %d cannot be measured; write numbers from 1 to 10000", s)
		}
	}
	if o.jobs < 100 || o.rounds < 1 || o.waits < 10 {
		return errors.New("too little to measure; write at least --jobs 100, --rounds 1 and --waits 10")
	}
	return checkSystems(o.systems)
}

// contender is a row's name, and who is behind it.
type contender struct {
	name string
	jobQueue
	part int // it is given one job of so many
}

// few is how many of the jobs are measured where one call does one job.
const few = 5

// contenders are those that can be measured here. For the others there is a line that says
// why not.
func contenders(s *backends, systems []string) (all []contender) {
	for _, system := range systems {
		switch {
		case !s.can(system):
		case system == "quiesce":
			all = append(all,
				contender{limitName, own{s.redis, byNobody}, 1},
				contender{"quiesce", own{s.redis, byWorker}, 1},
				contender{oneThreadName, own{s.redis, byOneThread}, 1},
				contender{recordedName, own{s.redis, byRecorded}, 1})
		case system == "asynq":
			all = append(all, contender{system, asynqQueue{peerQueue{peer{s.peers, system, "unix:" + s.redis.Socket()}}, s.redis}, 10})
		case system == "river":
			all = append(all, contender{system, &riverQueue{peerQueue{peer{s.peers, system, ""}}, s.postgres}, 10})
		}
	}
	return all
}

// limitName is the row that ratios are to.
const limitName = "bare scripts"

// Settings of the worker that are a row of their own. No other goroutine has to be woken on another
// thread when there is one, which suits handlers that wait and do not compute.
const (
	oneThreadName = "quiesce, GOMAXPROCS=1"
	recordedName  = "quiesce, recorded"
)

// sameAgain reports whether a row differs from the others in how jobs are run alone.
func sameAgain(name string) bool {
	return name == limitName || name == oneThreadName || name == recordedName
}

// measureRedis measures everything.
func measureRedis(ctx context.Context, o redisOptions, progress io.Writer) (r redisReport, err error) {
	s := startBackends(ctx, o.systems)
	defer func() { err = errors.Join(err, s.Close()) }()
	all := contenders(s, o.systems)
	r.Skipped = s.skipped
	if len(all) == 0 {
		return r, fmt.Errorf("nothing can be measured here: %s", strings.Join(s.skipped, "; "))
	}
	r.Machine, r.Rounds = machine(ctx, s.redis), o.rounds
	for round := range o.rounds {
		fmt.Fprintf(progress, "round %d of %d\n", round+1, o.rounds)
		for _, slots := range o.slots {
			if err := r.workRound(ctx, all, slots, o.jobs); err != nil {
				return r, err
			}
		}
		if err := r.enqueueRound(ctx, all, o.jobs); err != nil {
			return r, err
		}
		if err := r.latencyRound(ctx, all, s.redis, max(o.waits/o.rounds, 10)); err != nil {
			return r, err
		}
	}
	for _, c := range all {
		if s.redis == nil || !measuresMemory(c) {
			continue
		}
		bytes, err := memoryPerJob(ctx, c, s.redis, o.jobs/few)
		if err != nil {
			return r, err
		}
		r.Memory = append(r.Memory, memoryRow{c.name, bytes})
	}
	r.finish()
	return r, nil
}

func measuresMemory(c contender) bool { return c.name == "quiesce" || c.name == "asynq" }

func (r *redisReport) workRound(ctx context.Context, all []contender, slots, jobs int) error {
	limit := 0.0
	for _, c := range all {
		n := max(jobs/c.part, 100)
		if slots < 10 {
			n = max(n/few, 50)
		}
		if err := c.empty(ctx); err != nil {
			return err
		}
		_, err := c.enqueue(ctx, way{10, 1000}, n)
		var got rate
		if err == nil {
			got, err = costs(ctx, c, n, func() (rate, error) { return c.work(ctx, slots, n) })
		}
		if err != nil {
			if err := r.goOn(ctx, fmt.Errorf("%s, %d slots: %w", c.name, slots, err)); err != nil {
				return err
			}
			continue
		}
		if c.name == limitName {
			limit = got.PerSecond
		}
		row := rowOf(&r.Work, func(w *workRow) bool { return w.System == c.name && w.Slots == slots })
		row.System, row.Slots = c.name, slots
		row.keep(got)
		if limit > 0 {
			row.ratios = append(row.ratios, got.PerSecond/limit)
		}
	}
	return nil
}

// ways are the ways of enqueueing that are measured.
var ways = []struct {
	name string
	way
}{{"one client", way{1, 1}}, {"50 clients", way{50, 1}}, {"bulk of 1,000", way{1, 1000}}}

func (r *redisReport) enqueueRound(ctx context.Context, all []contender, jobs int) error {
	for _, how := range ways {
		for _, c := range all {
			if sameAgain(c.name) || c.name == "asynq" && how.bulk > 1 {
				continue // it would be the same once more; asynq has no bulk
			}
			n := max(jobs/c.part, 100)
			if how.bulk == 1 {
				n = max(jobs/c.part/few, 100)
			}
			if err := c.empty(ctx); err != nil {
				return err
			}
			got, err := costs(ctx, c, n, func() (rate, error) { return c.enqueue(ctx, how.way, n) })
			if err != nil {
				if err := r.goOn(ctx, fmt.Errorf("%s, %s: %w", c.name, how.name, err)); err != nil {
					return err
				}
				continue
			}
			row := rowOf(&r.Enqueue, func(e *enqueueRow) bool { return e.System == c.name && e.How == how.name })
			row.System, row.How = c.name, how.name
			row.keep(got)
		}
	}
	return nil
}

// perSecond are the rates at which latency is measured: the load, and a tenth of it.
var perSecond = []int{100, 10}

func (r *redisReport) latencyRound(ctx context.Context, all []contender, server *redisServer, jobs int) error {
	for _, rate := range perSecond {
		n := max(jobs*rate/perSecond[0], 10)
		for _, c := range all {
			if sameAgain(c.name) {
				continue
			}
			if err := c.empty(ctx); err != nil {
				return err
			}
			// Beside this module's queue it is measured what a round trip takes at the moment.
			pinged := make(chan error, 1)
			if c.name == "quiesce" {
				go func() { pinged <- r.pings(ctx, server, rate, n) }()
			} else {
				pinged <- nil
			}
			got, err := c.latency(ctx, rate, n)
			if err := errors.Join(err, <-pinged); err != nil {
				if err := r.goOn(ctx, fmt.Errorf("%s, %d jobs a second: %w", c.name, rate, err)); err != nil {
					return err
				}
				continue
			}
			r.keepWaits(c.name, rate, got)
		}
	}
	return nil
}

// goOn notes that one measurement failed, and has the others go on unless all are to end: a
// busy machine makes clients give up now and then.
func (r *redisReport) goOn(ctx context.Context, err error) error {
	r.Failed = append(r.Failed, err.Error())
	return context.Cause(ctx)
}

// pingName is the row of what a round trip to Redis takes.
const pingName = "PING"

func (r *redisReport) pings(ctx context.Context, server *redisServer, perSecond, n int) error {
	tick := time.NewTicker(time.Second / time.Duration(perSecond))
	defer tick.Stop()
	all := make([]time.Duration, n)
	for i := range all {
		<-tick.C
		took, err := server.ping(ctx)
		if err != nil {
			return err
		}
		all[i] = took
	}
	r.keepWaits(pingName, perSecond, quantiles(all))
	return nil
}
