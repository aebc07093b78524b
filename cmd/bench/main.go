// Command bench measures what the simulator costs, in one comparable table.
//
//	bench sim [--workers 1000,10000,100000] [--slots 1,4,16] [--events 2000000] [--json]
//
// Every row is one full world: the production machine, the reference broker, the network, a
// rollout and the meter. Numbers are of this machine at this moment; compare ratios within
// one run.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main with everything it touches as arguments. It returns the exit status: 0 fine,
// 2 misuse.
func run(args []string, stdout, stderr io.Writer) int {
	root := &cobra.Command{Use: "bench", Short: "Measure what the simulator costs", SilenceUsage: true, SilenceErrors: true}
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.AddCommand(simCommand(stdout))
	if err := root.Execute(); err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 2
	}
	return 0
}

func simCommand(stdout io.Writer) *cobra.Command {
	var (
		workers, slots []int
		events         int64
		asJSON         bool
	)
	cmd := &cobra.Command{
		Use: "sim", Short: "Full worlds of several sizes", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			for _, n := range append(append([]int{}, workers...), slots...) {
				if n < 1 || n > 10_000_000 {
					return fmt.Errorf("%d workers or slots cannot be measured; write numbers from 1 to 10000000", n)
				}
			}
			if events < 1000 {
				return fmt.Errorf("--events %d is too few to measure; write at least 1000", events)
			}
			var rows []row
			for _, w := range workers {
				for _, s := range slots {
					r, err := measure(w, s, events)
					if err != nil {
						return err
					}
					rows = append(rows, r)
				}
			}
			if asJSON {
				e := json.NewEncoder(stdout)
				e.SetIndent("", "  ")
				return e.Encode(rows)
			}
			return table(stdout, rows)
		},
	}
	f := cmd.Flags()
	f.IntSliceVar(&workers, "workers", []int{1000, 10_000, 100_000}, "sizes of the fleet")
	f.IntSliceVar(&slots, "slots", []int{1, 4, 16}, "jobs at once per worker")
	f.Int64Var(&events, "events", 2_000_000, "about how many events each world is run for")
	f.BoolVar(&asJSON, "json", false, "print JSON instead of a table")
	return cmd
}

func table(out io.Writer, rows []row) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "workers\tslots\tsimulated\tevents\tjobs/CPU s\tevents/s\tns/event\tallocs/event\tbytes/worker\t")
	for _, r := range rows {
		fmt.Fprintf(t, "%d\t%d\t%s\t%d\t%.0f\t%.0f\t%.0f\t%.4f\t%.0f\t\n",
			r.Workers, r.Slots, r.Simulated, r.Events, r.JobsPerCPUSecond, r.EventsPerSecond, r.NanosecondsPerEvent, r.AllocationsPerEvent, r.BytesPerWorker)
	}
	return t.Flush()
}
