package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/sim/explore"
)

// exploration is what the flags of explore ask for.
type exploration struct {
	format    string
	quiet     bool
	world     string
	deviation deviation.ID
	all       bool
	list      bool
	symmetry  bool
	partial   bool
	cycles    bool
	lanes     int
	most      int
}

func (a *app) exploreCommand() *cobra.Command {
	x := exploration{symmetry: true, partial: true, lanes: runtime.GOMAXPROCS(0)}
	cmd := &cobra.Command{
		Use:   "explore [WORLD]",
		Short: "Search small worlds completely, in every order of what can happen",
		Long: `Search small worlds completely, in every order of what can happen.

The machine and the reference broker are the ones that the simulator and production run. A
world says how many workers and jobs there are, how long leases and graces last, and how many
faults may strike; every order of deliveries, losses, crashes, signals, pauses and timers is
tried, and every invariant looked for in every state. A counter-example is the shortest.

Without a name every world is searched but the large ones, which take minutes. --deviation
breaks one rule on purpose, to see it caught: without a name in the world that shows it. How to
read it: docs/exploring.md`,
		Example: `  simulate explore
  simulate explore --list
  simulate explore three-by-three --quiet
  simulate explore --deviation lease-from-reply
  simulate explore tight --cycles --deviation distrusts-early`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.explore(cmd, args, &x) },
	}
	f := cmd.Flags()
	f.Var(formatFlag(&x.format, asTable, asJSON, asCSV), "format", "how results are printed")
	f.BoolVar(&x.quiet, "quiet", false, "show no progress")
	f.Var(worldFlag(&x.world), "world", "the world to search, like the argument")
	f.Var(deviationFlag(&x.deviation), "deviation", "break one rule on purpose")
	f.BoolVar(&x.all, "all", false, "search the large worlds, too")
	f.BoolVar(&x.list, "list", false, "name the worlds, and search none")
	f.BoolVar(&x.symmetry, "symmetry", true, "take states for one that differ in names alone")
	f.BoolVar(&x.partial, "por", true, "try one order of steps that commute and that nobody sees")
	f.BoolVar(&x.cycles, "cycles", false, "look for fair cycles, too: without symmetry, and only in worlds of a few million transitions")
	f.Var(countFlag(&x.lanes, mostLanes, "parts that are searched at once"), "workers", "parts that are searched at once (default: one per core)")
	f.Var(countFlag(&x.most, math.MaxInt, "states"), "max-states", "give up when so many states were seen (default: never)")
	return cmd
}

// worldFlag is the name of a world.
func worldFlag(to *string) *value {
	return &value{kind: "NAME", set: func(s string) error {
		if _, ok := explore.Named(s); !ok {
			return fmt.Errorf("is not a world; %s", suggest(s, worldNames()))
		}
		*to = s
		return nil
	}}
}

func worldNames() (names []string) {
	for _, w := range explore.Worlds() {
		names = append(names, w.Name)
	}
	return names
}

// deviationFlag is the name of a deviation. It is an option of a search, which has no
// workers but those of its world.
func deviationFlag(to *deviation.ID) *value {
	return &value{kind: "NAME", set: func(s string) error {
		id, ok := deviation.Named(s)
		if !ok {
			var names []string
			for _, d := range deviation.All() {
				names = append(names, d.String())
			}
			return fmt.Errorf("is not a deviation; %s", suggest(s, names))
		}
		*to = id
		return nil
	}}
}

// mostLanes is more parts than there are cores to search them on. Each holds memory of its own
// for each other one, so that a slip of the finger would take all there is.
const mostLanes = 256

// countFlag is a whole number from 1 to most.
func countFlag(to *int, most int, what string) *value {
	return &value{kind: "N", set: func(s string) error {
		n, err := strconv.Atoi(s)
		switch {
		case err != nil && !errors.Is(err, strconv.ErrRange) || n < 1:
			return fmt.Errorf("is not a number of %s; write a whole number from 1 on", what)
		case n > most || err != nil:
			return fmt.Errorf("are more %s than there can be; write at most %d", what, most)
		}
		*to = n
		return nil
	}}
}

func (a *app) explore(cmd *cobra.Command, args []string, x *exploration) error {
	worlds, err := x.worlds(args)
	if err != nil {
		return err
	}
	r := &exploreReport{list: x.list, worlds: worlds}
	if !x.list {
		opts := explore.Options{MaxStates: x.most, Symmetry: x.symmetry, Partial: x.partial, Edges: x.cycles, Lanes: x.lanes, Each: atOnce}
		bar := newStatus(a.stderr, x.quiet)
		for _, w := range worlds {
			if x.deviation != deviation.None {
				w.Deviations = deviation.Of(x.deviation)
			}
			runtime.GC() // what the search before left is not this one's to collect
			from := time.Now()
			before, measured := cpuTime()
			collects := collectLater()
			opts.Progress = func(p explore.Progress) bool {
				if p.States >= collectFrom {
					collects()
				}
				bar.show(w.Name, p, time.Since(from))
				return cmd.Context().Err() == nil
			}
			rep := explore.Run(w, opts)
			found := search{Report: rep, took: time.Since(from)}
			if after, ok := cpuTime(); ok && measured {
				found.cpu = after - before
			}
			collects()
			r.searches = append(r.searches, found)
			if cmd.Context().Err() != nil {
				break
			}
		}
		bar.clear()
	}
	if err := a.print(r, x.format, "", ""); err != nil {
		return err
	}
	switch broken := r.broken(); {
	case broken > 0:
		return &findingError{fmt.Sprintf("%d of %d worlds do not hold", broken, len(r.searches))}
	case cmd.Context().Err() != nil:
		return &stoppedError{fmt.Sprintf("stopped early, in world %d of %d", len(r.searches), len(worlds))}
	}
	return nil
}

// worlds are those to search.
func (x *exploration) worlds(args []string) (worlds []explore.World, err error) {
	switch {
	case len(args) > 1:
		return nil, misuse("explore takes one world, and there are %d; without a name it searches them all", len(args))
	case len(args) == 1 && x.world != "" && x.world != args[0]:
		return nil, misuse("explore takes one world, and there are two: %s and --world %s", args[0], x.world)
	case len(args) == 1:
		if err := worldFlag(&x.world).Set(args[0]); err != nil {
			return nil, misuse("%s %v", args[0], err)
		}
	}
	if x.deviation != deviation.None && x.world == "" && !x.all && !x.list {
		caught := explore.RefutationOf(x.deviation)
		x.world, x.cycles = caught.World, x.cycles || caught.Cycles
	}
	for _, w := range explore.Worlds() {
		if x.world == w.Name || x.world == "" && (x.all || x.list || !w.Large) {
			worlds = append(worlds, w)
		}
	}
	return worlds, nil
}

// collectFrom is from how many states on garbage is collected while a search goes on. A smaller one asks
// for thirty megabytes or so and keeps half of that, and while a collector marks every store of a
// pointer takes longer.
const collectFrom = 1 << 17

// collectLater has no garbage collected until it is told to.
func collectLater() (collects func()) {
	percent := debug.SetGCPercent(-1)
	return sync.OnceFunc(func() { debug.SetGCPercent(percent) })
}

// atOnce runs the parts of a search in goroutines; the explorer itself starts none.
func atOnce(n int, do func(int)) {
	if n == 1 {
		do(0)
		return
	}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}

// status is a line on a terminal that says how far a search has come: nobody knows how far it
// has to go. Elsewhere it is nothing.
type status struct {
	w    io.Writer
	last time.Time
}

func newStatus(w io.Writer, quiet bool) *status {
	f, ok := w.(*os.File)
	if quiet || !ok || !term.IsTerminal(int(f.Fd())) {
		return &status{}
	}
	return &status{w: f}
}

func (s *status) show(world string, p explore.Progress, took time.Duration) {
	if s.w == nil || time.Since(s.last) < 200*time.Millisecond {
		return
	}
	s.last = time.Now()
	fmt.Fprintf(s.w, "\r\x1b[K%s: depth %d, %s states, %s states/s", world, p.Depth, thousands(p.States), thousands(int(float64(p.States)/took.Seconds())))
}

func (s *status) clear() {
	if s.w != nil {
		fmt.Fprint(s.w, "\r\x1b[K")
	}
}

// thousands writes a number with its thousands apart.
func thousands(n int) string {
	s := strconv.Itoa(n)
	var b strings.Builder
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}
