package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/realworld/record"
	"github.com/quiesce/quiesce/sim"
)

// selection is what of a run is shown.
type selection struct {
	single
	job, worker, deploy int64 // -1: not asked for
	from, until         protocol.Instant
	export              export
}

func (a *app) replayCommand() *cobra.Command {
	var s selection
	cmd := &cobra.Command{
		Use:   "replay --seed N [SCENARIO|FILE] --policy P --job K  |  replay RECORDING",
		Short: "Step through a run, or through the flight recording of a worker in production",
		Long: `Step through a run: the timeline of one job, one worker or one deploy.

The run is simulated again from its seed, which gives the same run to the last event. Times
are counted from its start. Without --job, --worker and --deploy the command says which of
them are worth looking at.

RECORDING is a flight recording (realworld/record): a segment, whose others are found beside
it, or a folder with that of one life. Every step is made again on the machine of
this version and compared with what was recorded; times are on the worker's clock. --job,
--from and --until show a timeline. A step that differs is named, and the exit status is 1.

--perfetto and --html write everything between --from and --until (of one seat, with --worker)
to a file to look at.

A file that simulate hunt left names its run itself: without further flags its story is told,
and the exit status is 1 as long as the promise is broken in it.`,
		Example: `  simulate replay --seed 1 three-minute-render --policy hybrid
  simulate replay --seed 1 three-minute-render --policy hybrid --job 57
  simulate replay --seed 1 three-minute-render --policy hybrid --worker 3 --from 59m --until 62m
  simulate replay --seed 1 three-minute-render --policy hybrid --deploy 1
  simulate replay --seed 1 three-minute-render --from 55m --until 70m --html deploy.html
  simulate replay /var/lib/render/flight
  simulate replay /var/lib/render/flight --perfetto flight.json
  simulate replay /var/lib/render/flight --from 1h12m --until 1h13m`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.replay(cmd, args, &s) },
	}
	s.single.flags(cmd)
	f := cmd.Flags()
	f.Var(formatFlag(&s.format, asTable, asJSON, asCSV), "format", "how the timeline is printed; json is one object per line")
	f.BoolVar(&s.quiet, "quiet", false, "no progress bar")
	f.Var(numberFlag(&s.job, "job", 1), "job", "show what happened to this job")
	f.Var(numberFlag(&s.worker, "worker", 0), "worker", "show what this worker did, by the number of its seat")
	f.Var(numberFlag(&s.deploy, "deploy", 1), "deploy", "show this deploy: stops, outcomes, exits")
	f.Var(sinceStartFlag(&s.from, 0), "from", "show nothing before this time since the start")
	f.Var(sinceStartFlag(&s.until, protocol.Never), "until", "stop at this time since the start")
	f.Var(pathFlag(&s.export.perfetto, "FILE", "file"), "perfetto", "write a trace for https://ui.perfetto.dev to this file: workers, slots, jobs, signals, stalls")
	f.Var(pathFlag(&s.export.html, "FILE", "file"), "html", "write a page to this file that shows the same in any browser, without a network")
	return cmd
}

func (a *app) replay(cmd *cobra.Command, args []string, s *selection) error {
	if s.from > s.until {
		return misuse("--from %v is after --until %v; swap them", s.from, s.until)
	}
	if len(args) == 1 && record.Is(args[0]) {
		return a.replayRecording(cmd, args[0], s)
	}
	if len(args) == 1 && isFolder(args[0]) {
		return misuse("%s is a folder without a flight recording (*%s); name the folder that the worker records into, or a scenario file", args[0], record.Suffix)
	}
	scn, err := s.load(cmd, args)
	if err != nil {
		return err
	}
	if err := s.named(cmd, scn); err != nil {
		return err
	}
	if end := protocol.Instant(scn.Duration); s.from > end {
		return misuse("--from %v is after the end of the run at %v", s.from, end)
	}
	if s.export.asked() {
		return a.exportWorld(cmd, scn, s)
	}
	if s.job >= 0 || s.worker >= 0 || s.deploy >= 0 {
		return a.timeline(cmd, scn, s)
	}
	if scn.Finding != nil && s.policy == scn.Finding.Policy && s.seed == scn.Finding.Seed {
		return a.replayFinding(args[0])
	}
	return a.overview(cmd, scn, s)
}

// watcher picks what belongs to the timeline out of everything that happens.
type watcher interface {
	see(o *sim.Observation)
	done() bool    // nothing more can belong to it
	close()        // the run is over: says what is left to say
	missed() error // when nothing was seen: why
}

func (s *selection) watcher(scn *scene, t *timeline) (watcher, error) {
	asked := 0
	for _, n := range []int64{s.job, s.worker, s.deploy} {
		if n >= 0 {
			asked++
		}
	}
	switch {
	case asked > 1:
		return nil, misuse("--job, --worker and --deploy are three different timelines; give one of them")
	case s.job >= 0:
		return newJobWatch(protocol.JobKey(s.job), scn, t), nil
	case s.worker >= 0:
		return newWorkerWatch(s.worker, scn, t), nil
	default:
		return newDeployWatch(s.deploy, scn, t), nil
	}
}

// timeline replays a run and prints what a watcher picks, as it happens.
func (a *app) timeline(cmd *cobra.Command, scn *scene, s *selection) error {
	t := newTimeline(a.stdout, fmt.Sprintf("%s under %s, seed %d", scn.Name, s.policy, s.seed), s)
	w, err := s.watcher(scn, t)
	if err != nil {
		return err
	}
	row, err := a.simulate(cmd, scn, &s.single, func(world *sim.World) func() bool {
		over := false
		world.Observe(func(o sim.Observation) {
			if over = over || o.At > s.until || w.done(); !over {
				w.see(&o)
			}
		})
		return func() bool { return over || t.failed() }
	})
	var stopped *stoppedError
	if err != nil && !errors.Is(err, sim.ErrStopped) {
		if errors.As(err, &stopped) && t.lines > 0 {
			_ = t.flush()
			return &stoppedError{"stopped early: the timeline ends before the run does"}
		}
		return err
	}
	if t.lines == 0 {
		if err := w.missed(); err != nil {
			return err
		}
		return misuse("nothing happened to it between --from %v and --until %v; widen them", s.from, s.until)
	}
	if !t.failed() {
		w.close()
	}
	if err := t.flush(); err != nil {
		return fmt.Errorf("the timeline cannot be written to stdout: %w", err)
	}
	return s.finding(row)
}
