package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/scenarios"
	"github.com/quiesce/quiesce/scenarios/manifest"
	"github.com/quiesce/quiesce/sim/advice"
)

type advising struct {
	input
	today  string
	lease  time.Duration
	crash  time.Duration
	seeds  int
	first  uint64
	format string
	quiet  bool
}

func (a *app) adviseCommand() *cobra.Command {
	var v advising
	cmd := &cobra.Command{
		Use:   "advise --manifest FILE --jobs TRACE",
		Short: "What your deploys cost today, what each change would bring, and the lines to write",
		Long: `What your deploys cost today, what each change would bring, and the lines to write.

The fleet of the manifest runs the jobs of the trace through twenty deploys, first as it is, then
with one thing changed: how workers stop, the lease, the heartbeat, the grace, how often handlers
look for their cancellation and save their progress, how a rollout replaces workers. All of them
meet the same jobs, deploys and crashes; differences are taken in pairs, and what the data do not
tell apart is called unclear. What helps is tried together at the end.

A manifest does not say how its workers stop. Unless you do (--today), a worker that is told
QUIESCE_GRACE drains (hybrid), and any other claims no more and works on until SIGKILL
(finish-only), as most queues do.`,
		Example: `  simulate advise --manifest deploy.yaml --jobs jobs.csv
  simulate advise --manifest deploy.yaml --select worker --jobs log.json --map arrival=at,duration=ms:ms --today crash-only --lease 1m
  simulate advise --manifest compose.yaml --jobs jobs.csv --today bullmq --format json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.advise(cmd, &v) },
	}
	v.flags(cmd)
	f := cmd.Flags()
	f.Var(pathFlag(&v.today, "NAME", "policy or a real queue"), "today", "how the workers stop today: a policy or a real queue (default: see above)")
	f.Var(spanFlag(&v.lease, 5*time.Minute), "lease", "the lease of a claim today")
	f.Var(spanFlag(&v.crash, 48*time.Hour), "crash", "mean time between two crashes of a worker; 0s is never")
	f.Var(seedsFlag(&v.seeds, 8), "seeds", "replications of every trial, at least 2; in each the deploys come at other moments")
	f.Var(seedFlag(&v.first), "seed", "seed of the first replication; the others follow")
	f.Var(formatFlag(&v.format, asTable, asJSON, asCSV), "format", "how the advice is printed")
	f.BoolVar(&v.quiet, "quiet", false, "no progress bar")
	return cmd
}

func (a *app) advise(cmd *cobra.Command, v *advising) error {
	switch {
	case v.manifest == "" || v.jobs == "":
		return misuse("advise needs your manifest and your jobs; write simulate advise --manifest FILE --jobs TRACE")
	case v.seeds < 2:
		return misuse("--seeds %d gives no interval; write at least --seeds 2", v.seeds)
	case v.lease < time.Second:
		return misuse("--lease %s is too short to be renewed; write at least --lease 1s", v.lease)
	}
	r, err := v.question(cmd.Context())
	if isStop(err) {
		return &stoppedError{"stopped while the trace was read; nothing to print"}
	}
	if err != nil {
		return err
	}
	bar := newProgress(a.stderr, v.quiet, "runs of "+r.scene.Name)
	defer bar.clear()
	r.question.Progress = bar.at
	answer, err := advice.Ask(cmd.Context(), r.question)
	switch {
	case isStop(err):
		return &stoppedError{"stopped before every trial was made; nothing to print"}
	case err != nil:
		return err
	}
	bar.clear()
	r.answer = answer
	return a.print(r, v.format, "", "")
}

// mostJobs is how many jobs all trials together may run, so that the advice comes within a
// minute on two cores. Longer traces are cut.
const mostJobs = 8_000_000

// question reads the input, and says what had to be assumed.
func (v *advising) question(ctx context.Context) (*adviceReport, error) {
	s, err := v.fromFiles()
	if err != nil {
		return nil, err
	}
	profile, err := scenarios.ProfileTrace(ctx, v.jobs, v.columns)
	if err != nil {
		return nil, err
	}
	w, err := manifest.Load(v.manifest, v.selector)
	if err != nil {
		return nil, err
	}
	r := &adviceReport{scene: s, workload: w, profile: profile, jobs: v.jobs, seed: v.first}
	v.fit(r)
	today, why := v.howTheyStop(w)
	if s.Variant(today).Name == "" {
		return nil, misuse("--today %s: there is no such policy or queue; %s", today, suggest(today, s.ColumnNames()))
	}
	if why != "" {
		r.assume("%s", why)
	}
	r.question = advice.Question{
		Scenario: s.Scenario, Today: today, Seeds: v.seeds, First: v.first,
		Jobs:   advice.Lengths{P50: protocol.Duration(profile.P50), P90: protocol.Duration(profile.P90), P99: protocol.Duration(profile.P99)},
		Surges: w.RolloutSettings(model.Rollout{MaxSurge: model.IntOrPercent{Value: 25, Percent: true}}) != nil,
	}
	r.repeat = v.again()
	return r, nil
}

// howTheyStop guesses where it is not told, and then says so.
func (v *advising) howTheyStop(w *manifest.Workload) (policy, why string) {
	if v.today != "" {
		return v.today, ""
	}
	for _, p := range w.Processes {
		if p.ToldLine > 0 {
			return "hybrid", fmt.Sprintf("assumed that the workers drain today, since the manifest sets QUIESCE_GRACE on line %d (--today hybrid)", p.ToldLine)
		}
	}
	return "finish-only", "assumed that the workers claim no more at the stop signal and work on until SIGKILL (--today finish-only)"
}

// fit writes what the flags say into the scenario, and cuts a trace that would take too long.
func (v *advising) fit(r *adviceReport) {
	s := r.scene.Scenario
	old := s.Queue.Lease
	s.Queue.Lease = protocol.Duration(v.lease)
	s.Queue.Heartbeat = s.Queue.Lease / 3
	s.Duration += 2 * (s.Queue.Lease - old)
	s.Faults.Crash = protocol.Duration(v.crash)
	r.scene.assumed = unlessBegun(r.scene.assumed, "assumed lease ", "assumed network latency ")
	r.assume("assumed lease %s, heartbeat %s (--lease)", short(s.Queue.Lease), short(s.Queue.Heartbeat))
	if v.crash > 0 {
		r.assume("assumed that a worker crashes every %s on average (--crash), and network latency %v", short(s.Faults.Crash), s.Faults.Network.Latency)
	}
	const trials = 16
	if jobs := float64(r.profile.Jobs) * float64(v.seeds) * trials; jobs > mostJobs {
		share := mostJobs / jobs
		span := protocol.Duration(share * float64(s.Duration))
		at := s.Deploys.At
		for len(at) > 2 && at[len(at)-1] > protocol.Instant(span) {
			at = at[:len(at)-1]
		}
		s.Deploys.At = at
		s.Duration = max(span, protocol.Duration(at[len(at)-1])+2*s.Queue.Lease)
		r.assume("cut the trace after %s, with %s, so that the advice comes in about a minute", short(roundSeconds(protocol.Instant(s.Duration))), plural(len(at), "deploy"))
	}
}

// again is the command that gives the same advice.
func (v *advising) again() string {
	command := "simulate advise --manifest " + quote(v.manifest)
	if v.selector != "" {
		command += " --select " + quote(v.selector)
	}
	command += " --jobs " + quote(v.jobs)
	if columns := v.columns.String(); columns != "" {
		command += " --map " + quote(columns)
	}
	if v.today != "" {
		command += " --today " + v.today
	}
	return command + " --lease " + v.lease.String() + " --crash " + v.crash.String() +
		" --seeds " + strconv.Itoa(v.seeds) + " --seed " + strconv.FormatUint(v.first, 10)
}

// unlessBegun leaves out the sentences that begin so, which others replace.
func unlessBegun(all []string, begins ...string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(text string) bool {
		return slices.ContainsFunc(begins, func(b string) bool { return strings.HasPrefix(text, b) })
	})
}
