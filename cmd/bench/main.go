// Command bench measures what the simulator and the Redis queue cost, in comparable tables.
//
//	bench sim    [--workers 1000,10000,100000] [--slots 1,4,16] [--simulated 4m] [--json]
//	bench redis  [--slots 1,10,100,1000] [--jobs 100000] [--rounds 3] [--json]
//	bench drain  [--jobs 20,2000] [--grace 10s] [--patience 5m] [--json]
//
// Of sim, a world is the whole: the production machine, the reference broker, the network, a
// rollout and the meter. A hold is the world's event queue alone, with as many events
// pending. An M/M/c queue is a model small enough to say what other simulators need for it,
// through the simulator's engine and by hand.
//
// redis measures jobs a second through a worker, enqueueing, latency, processor time and
// memory per job; drain, what SIGTERM and SIGKILL cost the jobs of a worker. Both put asynq
// and river beside it, as far as they can be had.
//
// Numbers are of this machine at this moment, the best of several rounds; compare ratios within one run.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// output is where commands print: results to stdout.
type output struct{ stdout, stderr io.Writer }

// print prints a result as JSON or by table.
func (o output) print(result any, asJSON bool, table func(io.Writer) error) error {
	if !asJSON {
		return table(o.stdout)
	}
	e := json.NewEncoder(o.stdout)
	e.SetIndent("", "  ")
	return e.Encode(result)
}

// run is main with everything it touches as arguments. It returns the exit status: 0 fine,
// 2 misuse.
func run(args []string, stdout, stderr io.Writer) int {
	root := &cobra.Command{Use: "bench", Short: "Measure what the simulator and the Redis queue cost", SilenceUsage: true, SilenceErrors: true, DisableSuggestions: true}
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(flagError)
	out := output{stdout, stderr}
	root.AddCommand(simCommand(out), redisCommand(out), drainCommand(out), workCommand(out), guardCommand())
	if err := root.ExecuteContext(context.Background()); err != nil {
		if strings.HasPrefix(err.Error(), "unknown command") {
			err = fmt.Errorf("%w; bench --help lists what there is", err)
		}
		fmt.Fprintln(stderr, "bench:", err)
		return 2
	}
	return 0
}

// flagError says what to write instead.
func flagError(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	if !errors.As(err, &value) {
		return fmt.Errorf("%w; %s --help lists what there is", err, cmd.CommandPath())
	}
	f := value.GetFlag()
	return fmt.Errorf("--%s %q cannot be read; write it like --%s=%s", f.Name, value.GetValue(), f.Name, strings.Trim(f.DefValue, "[]"))
}

// options say what is measured.
type options struct {
	workers, slots []int
	simulated      time.Duration
	events         int64
	customers      int64
	best           int
}

func simCommand(out output) *cobra.Command {
	var o options
	var asJSON bool
	cmd := &cobra.Command{
		Use: "sim", Short: "Full worlds of several sizes, the event queue alone, an M/M/c queue, and all cores", Args: cobra.NoArgs,
		Long: `Full worlds of several sizes, each beside a hold loop on its event queue with as many
pending events; an M/M/c queue of a thousand servers through the engine and in a loop written by
hand; and how much of each core is left when all of them run replications.

Memory is about 3.4 KB per worker with 4 slots and 1.5 KB with one, of which 1 KB and 650 bytes are the
worker at rest; the others are its jobs and what a rollout leaves. It is up to twice that while it
grows. The default takes four to six minutes of CPU time and 2 GB. A million workers are not among
it: --workers 1000,1000000 --slots 1 takes two minutes of CPU time and 2 to 3 GB, with 4 slots four
times that.`,
		RunE: func(*cobra.Command, []string) error {
			if err := o.check(); err != nil {
				return err
			}
			r, err := measureAll(o)
			if err != nil {
				return err
			}
			return out.print(r, asJSON, r.print)
		},
	}
	f := cmd.Flags()
	f.IntSliceVar(&o.workers, "workers", []int{1000, 10_000, 100_000}, "sizes of the fleet")
	f.IntSliceVar(&o.slots, "slots", []int{1, 4, 16}, "jobs at once per worker")
	f.DurationVar(&o.simulated, "simulated", 4*time.Minute, "how long each world is run, with one deploy in the middle")
	f.Int64Var(&o.events, "events", 2_000_000, "small worlds are repeated with other seeds until so many events have happened")
	f.Int64Var(&o.customers, "customers", 1_000_000, "customers of the M/M/c queue; 0 leaves it out")
	f.IntVar(&o.best, "best", 3, "everything is measured so many times, in turn, and the best of each is printed")
	f.BoolVar(&asJSON, "json", false, "print JSON instead of a table")
	return cmd
}

func (o *options) check() error {
	for _, n := range append(append([]int{}, o.workers...), o.slots...) {
		if n < 1 || n > 10_000_000 {
			return fmt.Errorf("%d workers or slots cannot be measured; write numbers from 1 to 10000000", n)
		}
	}
	switch {
	case o.simulated < time.Minute || o.simulated > 1000*time.Hour:
		return fmt.Errorf("--simulated %v cannot be measured; write 1m to 1000h", o.simulated)
	case o.events < 1000:
		return fmt.Errorf("--events %d is too few to measure; write at least 1000", o.events)
	case o.customers < 0:
		return fmt.Errorf("--customers %d: write 0 to leave the queue out", o.customers)
	case o.best < 1:
		return fmt.Errorf("--best %d measures nothing; write at least 1", o.best)
	}
	return nil
}

// report is everything that was measured. A row's zero fields were not.
type report struct {
	Rows   []row    `json:"rows"`
	Growth []growth `json:"growth"`
	Queue  *queue   `json:"queue,omitempty"`
	Cores  cores    `json:"cores"`
}

// growth is how much more a job costs in the largest fleet than in the smallest.
type growth struct {
	Slots    int     `json:"slots"`
	Smallest int     `json:"smallest"` // workers
	Largest  int     `json:"largest"`
	Cost     float64 `json:"cost"` // of a job in the largest, in CPU time, over that in the smallest
}

// row is what one of the measured things cost. CPU time is that of the process, its garbage
// collector included.
type row struct {
	What                string  `json:"what"` // world, hold, engine or loop
	Workers             int     `json:"workers,omitempty"`
	Slots               int     `json:"slots,omitempty"`
	Simulated           string  `json:"simulated,omitempty"`
	Runs                int     `json:"runs"`
	Pending             int     `json:"pending"` // events, at the end
	Events              int64   `json:"events"`
	Jobs                int64   `json:"jobs_completed,omitempty"`
	CPUSeconds          float64 `json:"cpu_seconds"`
	JobsPerCPUSecond    float64 `json:"jobs_per_cpu_second,omitempty"`
	EventsPerSecond     float64 `json:"events_per_cpu_second"`
	NanosecondsPerEvent float64 `json:"ns_per_event"`
	AllocationsPerEvent float64 `json:"allocations_per_event"`
	BytesAtRest         float64 `json:"bytes_per_worker_at_rest,omitempty"` // of live heap, when all workers wait for the first job
	BytesPerWorker      float64 `json:"bytes_per_worker,omitempty"`         // of live heap at the end of the run, with its jobs
}

// rate fills in what follows from the counts and the time they took.
func (r *row) rate(cpu time.Duration, mallocs uint64) {
	r.CPUSeconds = cpu.Seconds()
	r.EventsPerSecond = float64(r.Events) / r.CPUSeconds
	r.NanosecondsPerEvent = r.CPUSeconds * 1e9 / float64(r.Events)
	r.JobsPerCPUSecond = float64(r.Jobs) / r.CPUSeconds
	r.AllocationsPerEvent = float64(mallocs) / float64(r.Events)
}

func measureAll(o options) (report, error) {
	var r report
	for range o.best {
		rows, err := measureSizes(o)
		if err != nil {
			return r, err
		}
		r.keep(rows)
	}
	for i := range r.Rows {
		if x := &r.Rows[i]; x.What == "world" { // which is the same in every round
			var err error
			if x.BytesAtRest, err = atRest(x.Workers, x.Slots); err != nil {
				return r, err
			}
		}
	}
	r.Growth = growths(o, r.Rows)
	if o.customers > 0 {
		q, rows, err := measureQueue(o.customers, o.best)
		if err != nil {
			return r, err
		}
		r.Queue, r.Rows = &q, append(r.Rows, rows...)
	}
	var err error
	r.Cores, err = measureCores(o.events, o.best)
	return r, err
}

// measureSizes measures worlds of all sizes once, and the event queue of each.
func measureSizes(o options) (rows []row, err error) {
	for _, slots := range o.slots {
		for _, workers := range o.workers {
			world, err := measureWorlds(workers, slots, o.simulated, o.events)
			if err != nil {
				return nil, err
			}
			rows = append(rows, world, measureHold(world.Pending, o.events))
		}
	}
	return rows, nil
}

// keep keeps of each row the faster.
func (r *report) keep(rows []row) {
	if r.Rows == nil {
		r.Rows = rows
		return
	}
	for i := range rows {
		if rows[i].EventsPerSecond > r.Rows[i].EventsPerSecond {
			r.Rows[i] = rows[i]
		}
	}
}

// growths compares the largest fleet with the smallest, for each number of slots.
func growths(o options, rows []row) []growth {
	all := []growth{}
	smallest, largest := slices.Min(o.workers), slices.Max(o.workers)
	for _, slots := range o.slots {
		rate := map[int]float64{}
		for _, x := range rows {
			if x.What == "world" && x.Slots == slots {
				rate[x.Workers] = x.JobsPerCPUSecond
			}
		}
		if smallest < largest && rate[largest] > 0 {
			all = append(all, growth{slots, smallest, largest, rate[smallest] / rate[largest]})
		}
	}
	return all
}

func (r report) print(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tworkers\tslots\tpending\tevents\tns/event\tevents/s\tjobs/CPU s\tallocs/event\tbytes/worker\twith jobs\t")
	some := func(format string, n float64) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprintf(format, n)
	}
	for _, x := range r.Rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%.0f\t%.0f\t%s\t%.4f\t%s\t%s\t\n", x.What, some("%.0f", float64(x.Workers)), some("%.0f", float64(x.Slots)),
			x.Pending, x.Events, x.NanosecondsPerEvent, x.EventsPerSecond, some("%.0f", x.JobsPerCPUSecond), x.AllocationsPerEvent, some("%.0f", x.BytesAtRest), some("%.0f", x.BytesPerWorker))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, g := range r.Growth {
		fmt.Fprintf(out, "slots: %d; a job costs %.2f times as much with %d workers as with %d\n", g.Slots, g.Cost, g.Largest, g.Smallest)
	}
	if q := r.Queue; q != nil {
		fmt.Fprintf(out, "M/M/%d at load %v: mean wait %.4f service times through the engine, %.4f in the loop; theory %.4f\n",
			q.Servers, q.Load, q.EngineWait, q.LoopWait, q.TheoryWait)
	}
	c := r.Cores
	_, err := fmt.Fprintf(out, "cores: %d replications at once on %d cores, %.0f%% efficient by the clock, %.0f%% by CPU time per replication\n",
		c.Replications, c.Cores, 100*c.ByClock, 100*c.ByCPU)
	return err
}
