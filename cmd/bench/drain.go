package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

// drainOptions say what is stopped.
type drainOptions struct {
	systems         []string
	jobs            []int
	grace, patience time.Duration
}

func drainCommand(out output) *cobra.Command {
	var o drainOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use: "drain", Short: "What SIGTERM and SIGKILL cost the jobs of a worker; asynq and river beside it", Args: cobra.NoArgs,
		Long: `A worker process is told to stop while its jobs run, half of which fit the grace, or is killed at once. A second
one of the next version stands by. Everything is watched until all jobs are finished, or for as long as --patience:
what is not finished then has taken at least so long. asynq and river run with their defaults and with the best of
their public settings. All scenarios run side by side: they mostly sleep.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt) // what was started is to end, too
			defer stop()
			r, err := measureDrain(ctx, o, out.stderr)
			if err != nil {
				return err
			}
			return out.print(r, asJSON, r.table)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.systems, "systems", slices.Clone(allSystems), "what to stop")
	f.IntSliceVar(&o.jobs, "jobs", []int{20, 2000}, "jobs in flight")
	f.DurationVar(&o.grace, "grace", 10*time.Second, "between SIGTERM and SIGKILL")
	f.DurationVar(&o.patience, "patience", 5*time.Minute, "how long to watch after the stop")
	f.BoolVar(&asJSON, "json", false, "print JSON instead of a table")
	return cmd
}

// leastGrace is that of which workers keep less than half for their own end.
const leastGrace = 4 * time.Second

// leastPatience, times the grace, is how long jobs take that are begun anew at its end.
const leastPatience = 4

func (o *drainOptions) check() error {
	if runtime.GOOS == "windows" {
		return errors.New("drain needs SIGTERM, which Windows does not have; run it in WSL")
	}
	for _, n := range o.jobs {
		if n < 2 || n > 10_000 {
			return fmt.Errorf("--jobs %d cannot be measured; write numbers from 2 to 10000", n)
		}
	}
	if o.grace < leastGrace || o.patience < leastPatience*o.grace {
		return fmt.Errorf("a grace of %v and a patience of %v are too short; write at least %v, and %d times the grace", o.grace, o.patience, leastGrace, leastPatience)
	}
	return checkSystems(o.systems)
}

// variant is a row's system with settings.
type variant struct {
	name     string
	system   string
	best     bool
	lease    time.Duration
	guarded  bool
	onlyKill bool // SIGTERM would make no difference
}

// asynqLease is what asynq's leases are; comparing like with like takes the same.
const asynqLease = 30 * time.Second

var variants = []variant{
	{name: "quiesce", system: "quiesce"},
	{name: "quiesce, lease 30s", system: "quiesce", lease: asynqLease, onlyKill: true},
	{name: "quiesce, guarded", system: "quiesce", guarded: true, onlyKill: true},
	{name: "asynq", system: "asynq"},
	{name: "asynq, best", system: "asynq", best: true},
	{name: "river", system: "river"},
	{name: "river, best", system: "river", best: true},
}

// drainRow is one stop.
type drainRow struct {
	System  string  `json:"system"`
	Jobs    int     `json:"jobs"`
	Signal  string  `json:"signal"`
	Exit    float64 `json:"exit_seconds"`
	Killed  bool    `json:"killed_at_grace"`
	outcome         // of those in flight
	Problem string  `json:"problem,omitempty"` // it could not be measured
}

type drainReport struct {
	Machine  string     `json:"machine"`
	Grace    float64    `json:"grace_seconds"`
	Patience float64    `json:"patience_seconds"`
	Rows     []drainRow `json:"rows"`
	Skipped  []string   `json:"skipped"`
}

func measureDrain(ctx context.Context, o drainOptions, progress io.Writer) (r drainReport, err error) {
	s := startBackends(ctx, o.systems)
	defer func() { err = errors.Join(err, s.Close()) }()
	r = drainReport{Machine: machine(ctx, s.redis), Grace: o.grace.Seconds(), Patience: o.patience.Seconds(), Skipped: s.skipped}
	var all sync.WaitGroup
	var runs []func()
	for _, jobs := range o.jobs {
		for _, kill := range []bool{false, true} {
			for _, v := range variants {
				if !slices.Contains(o.systems, v.system) || !s.can(v.system) || v.onlyKill && !kill {
					continue
				}
				i := len(r.Rows)
				r.Rows = append(r.Rows, drainRow{System: v.name, Jobs: jobs, Signal: signalName(kill)})
				c := course{jobs: jobs, kill: kill, grace: o.grace, patience: o.patience}
				runs = append(runs, func() { r.Rows[i].measure(ctx, s, v, c) })
			}
		}
	}
	if len(runs) == 0 {
		return r, fmt.Errorf("nothing can be measured here: %s", strings.Join(s.skipped, "; "))
	}
	fmt.Fprintf(progress, "%d stops, watched for at most %v\n", len(runs), o.patience)
	for _, run := range runs {
		all.Go(run)
		// Their busy moments should not meet.
		select {
		case <-time.After(o.grace / 10):
		case <-ctx.Done():
		}
	}
	all.Wait()
	return r, context.Cause(ctx)
}

func signalName(kill bool) string {
	if kill {
		return "SIGKILL"
	}
	return "SIGTERM"
}

// measure runs one stop, on a server of its own where that is cheap.
func (row *drainRow) measure(ctx context.Context, s *backends, v variant, c course) {
	fail := func(err error) {
		if err != nil {
			row.Problem = err.Error()
		}
	}
	var q stopped
	if v.system == "river" {
		url, err := s.postgres.fresh(ctx)
		if err != nil {
			fail(err)
			return
		}
		q = peerStopped{peer{s.peers, v.system, url}, v.best, c.grace, c.longest()}
	} else {
		server, err := startRedis(ctx)
		if err != nil {
			fail(err)
			return
		}
		defer server.Close()
		if q, err = onRedis(s, server, v, c); err != nil {
			fail(err)
			return
		}
	}
	w, err := c.run(ctx, q)
	fail(err)
	if err == nil {
		row.outcome, row.Exit, row.Killed = w.reckon(), w.exit, w.killed
	}
}

func onRedis(s *backends, server *redisServer, v variant, c course) (stopped, error) {
	if v.system == "asynq" {
		return peerStopped{peer{s.peers, v.system, "unix:" + server.Socket()}, v.best, c.grace, c.longest()}, nil
	}
	self, err := os.Executable()
	return &ownStopped{server: server, self: self, options: workerOptions{lease: v.lease, grace: c.grace}, guarded: v.guarded}, err
}

// table prints the report for people.
func (r drainReport) table(out io.Writer) error {
	fmt.Fprintf(out, "%s; grace %.0f s, half of the jobs fit it. Times in seconds, those of a job on average; ≥: not over after %.0f s.\n", r.Machine, r.Grace, r.Patience)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	last := ""
	for _, row := range r.Rows {
		if head := fmt.Sprintf("%s, %d jobs", row.Signal, row.Jobs); head != last {
			last = head
			fmt.Fprintf(t, "\n%s\tadded/job\tworst\tstall\tworst\tredone\texit\toverlap\tlost\texecutions\t\n", head)
		}
		if row.Problem != "" {
			fmt.Fprintf(t, "%s\t–\t–\t–\t–\t–\t–\t–\t–\t–\t\n", row.System)
			continue
		}
		atLeast := ""
		if row.Unfinished > 0 {
			atLeast = "≥"
		}
		fmt.Fprintf(t, "%s\t%s%.2f\t%s%.2f\t%s%.2f\t%s%.2f\t%.2f\t%s\t%.2f\t%d\t%.2f\t\n", row.System, atLeast, row.AddedMean, atLeast, row.AddedMax,
			atLeast, row.StallMean, atLeast, row.StallMax, row.Redone, row.exit(), row.Overlap, row.Lost, row.Executions)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, row := range r.Rows {
		if row.Problem != "" {
			fmt.Fprintf(out, "%s, %s, %d jobs: %s\n", row.System, row.Signal, row.Jobs, row.Problem)
		}
	}
	return printSkipped(out, r.Skipped)
}

func (row *drainRow) exit() string {
	switch {
	case row.Signal == signalName(true):
		return "–"
	case row.Killed:
		return "killed"
	default:
		return fmt.Sprintf("%.2f", row.Exit)
	}
}
