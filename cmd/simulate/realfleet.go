package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/realworld/fleet"
	"github.com/quiesce/quiesce/realworld/redis/local"
	"github.com/quiesce/quiesce/sim"
	"github.com/quiesce/quiesce/sim/lab"
)

// realFleet is runs with real processes.
type realFleet struct {
	input
	output
	policy   string
	policies []string
	seeds    int
	first    uint64
	speed    float64
	redis    string
}

func (a *app) fleetCommand() *cobra.Command {
	var c realFleet
	cmd := &cobra.Command{
		Use:   "fleet SCENARIO|FILE",
		Short: "The same scenario with real processes, real signals and a real Redis",
		Long: `The same scenario with real processes, real signals and a real Redis.

Every worker is a process of its own that embeds the worker of this library; its supervisor
here starts, replaces and kills it as the scenario says, with SIGTERM and SIGKILL. Jobs,
faults and what each execution does are those of simulate run and compare with the same
seed, and the same meter reads what happened, so the numbers can be laid side by side.

A run takes the scenario's time divided by --speed. What processes, sockets and Redis need is
not shortened: at --speed 10 a round trip of half a millisecond counts as five. What real
processes cannot do (a partition, a broker that forgets) is refused.

Without --redis a redis-server of its own is started, and ended afterwards.`,
		Example: `  simulate fleet small-fleet --speed 10
  simulate fleet small-fleet --policies crash-only,hybrid --seeds 3 --speed 10
  simulate fleet my-scenario.yaml --policy hybrid --redis redis://localhost:6379`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.runFleet(cmd, args, &c) },
	}
	c.input.flags(cmd)
	c.output.flags(cmd)
	f := cmd.Flags()
	f.Var(policyFlag(&c.policy, ""), "policy", "the one way of stopping to run")
	f.Var(policiesFlag(&c.policies), "policies", "policies to compare; the first is the baseline (default: those of the scenario that real processes can follow)")
	f.Var(seedsFlag(&c.seeds, 1), "seeds", "replications per policy, one after the other")
	c.processFlags(f, 1)
	return cmd
}

// processFlags are those of every command that runs real processes.
func (c *realFleet) processFlags(f *pflag.FlagSet, speed float64) {
	f.Var(seedFlag(&c.first), "seed", "seed of the first replication; the others follow")
	f.Var(speedFlag(&c.speed, speed), "speed", "how many seconds of the scenario pass in one second")
	f.Var(pathFlag(&c.redis, "URL", "Redis"), "redis", "URL of a Redis to run on, such as redis://localhost:6379 (default: one of its own)")
}

// speedFlag is how fast the scenario's time runs.
func speedFlag(to *float64, unset float64) *value {
	*to = unset
	return &value{kind: "X", text: strconv.FormatFloat(unset, 'g', -1, 64), set: func(s string) error {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || !(v >= 0.01 && v <= 1000) {
			return fmt.Errorf("is not a speed; write a number from 0.01 to 1000, such as --speed 10")
		}
		*to = v
		return nil
	}}
}

func (a *app) runFleet(cmd *cobra.Command, args []string, c *realFleet) error {
	stage, err := c.begin(cmd, args, "simulate fleet small-fleet --speed 10 takes half a minute")
	if err != nil {
		return err
	}
	defer stage.end()
	results, facts, err := a.runFleets(cmd.Context(), c, stage)
	if results == nil || len(results.Seeds) == 0 && err != nil {
		return err
	}
	r := c.report(stage.scene, results, facts, stage.left)
	if perr := a.print(r, c.format, c.dir, stage.base); perr != nil {
		return perr
	}
	if err == nil {
		err = facts.finding()
	}
	return err
}

// stage is what real processes are to play, and where.
type stage struct {
	scene    *scene
	policies []string
	left     []string // a sentence for each policy of the scenario that they cannot follow
	base     string   // of the files that --out asks for
	url      string   // of the Redis
	end      func()   // ends the Redis, if it was started for this
}

// begin is the beginning of every command that runs real processes. example is said to whoever
// names no scenario.
func (c *realFleet) begin(cmd *cobra.Command, args []string, example string) (*stage, error) {
	if len(args) == 0 && c.jobs == "" && c.manifest == "" {
		return nil, misuse("name a scenario; %s", example)
	}
	t := &stage{base: cmd.Name()}
	var err error
	if t.scene, err = c.load(cmd, args); err != nil {
		return nil, err
	}
	if t.policies, t.left, err = c.columns(cmd, t.scene); err != nil {
		return nil, err
	}
	if err := checkOut(c.dir, t.base); err != nil {
		return nil, err
	}
	if t.url, t.end, err = c.server(cmd.Context()); err != nil {
		return nil, err
	}
	return t, nil
}

// server returns the Redis to run on: the one that was named, or one of its own, which end ends.
func (c *realFleet) server(ctx context.Context) (url string, end func(), err error) {
	if c.redis != "" {
		return c.redis, func() {}, checkRedis("--redis", c.redis)
	}
	server, err := local.Start(ctx, local.Options{})
	var missing *local.Missing
	switch {
	case errors.As(err, &missing):
		return "", nil, misuse("no redis-server to run on: %v; or name one that runs, with --redis redis://HOST:6379", missing)
	case err != nil:
		return "", nil, err
	}
	return server.URL(), func() { _ = server.Close() }, nil // it kept nothing
}

// columns returns the policies to run, and for those of the scenario that real processes
// cannot follow a sentence each.
func (c *realFleet) columns(cmd *cobra.Command, s *scene) (policies, left []string, err error) {
	asked := c.policies
	if c.policy != "" {
		if len(asked) > 0 {
			return nil, nil, misuse("--policy runs one policy and --policies compares several; give one of them")
		}
		asked = []string{c.policy}
	}
	if len(asked) > 0 {
		flag := "policies"
		if c.policy != "" {
			flag = "policy"
		}
		if err := checkPolicies(s.Scenario, flag, asked...); err != nil {
			return nil, nil, err
		}
	}
	refused := &fleet.Refusal{Scenario: s.Name} // under every policy
	for _, name := range append(slices.Clone(asked), s.Policies...) {
		if slices.Contains(policies, name) || len(asked) > 0 && !slices.Contains(asked, name) {
			continue
		}
		preset, under, err := s.Under(name)
		if err != nil {
			return nil, nil, err
		}
		if err := fleet.Check(under, &preset, c.speed); err != nil {
			if len(asked) > 0 {
				return nil, nil, misuse("%v", err)
			}
			var why *fleet.Refusal
			if !errors.As(err, &why) {
				return nil, nil, misuse("%v", err)
			}
			refused.Add(why)
			left = append(left, fmt.Sprintf("left out: %v", err))
			continue
		}
		policies = append(policies, name)
	}
	if len(policies) == 0 {
		return nil, nil, misuse("%v", refused)
	}
	return policies, left, nil
}

// fleetFacts is what is known of runs with real processes beside their metrics.
type fleetFacts struct {
	speed    float64
	redis    string
	policies []string
	accounts []fleet.Account // by policy: the sums over its runs
}

// runFleets runs every policy with every seed, one run at a time: two would take the
// processor away from each other. When it is stopped the results are of what was finished.
func (a *app) runFleets(ctx context.Context, c *realFleet, t *stage) (*lab.Results, *fleetFacts, error) {
	s, policies := t.scene, t.policies
	facts := &fleetFacts{speed: c.speed, redis: "a Redis of its own", policies: policies, accounts: make([]fleet.Account, len(policies))}
	if c.redis != "" {
		facts.redis = "the Redis that was named"
	}
	results := &lab.Results{
		Scenario: s.Name, Setting: lab.SettingOf(s.Scenario), Policies: policies,
		Rows: make([][]*meter.Row, len(policies)), Asked: c.seeds,
	}
	start := time.Now()
	bar := newProgress(a.stderr, c.quiet, "seconds of "+s.Name)
	defer bar.clear()
	length := int(s.Duration / protocol.Second)
	for n := range c.seeds {
		seed := c.first + uint64(n)
		rows := make([]*meter.Row, len(policies))
		for i, name := range policies {
			begun := (n*len(policies) + i) * length
			row, account, err := fleetOnce(ctx, s.Scenario, name, seed, t.url, c.speed, func(now, _ protocol.Instant) {
				bar.at(begun+int(now/protocol.Instant(protocol.Second)), c.seeds*len(policies)*length)
			})
			switch {
			case ctx.Err() != nil:
				return results, facts, &stoppedError{fmt.Sprintf("stopped early: %d of %d replications were finished under every policy", n, c.seeds)}
			case err != nil:
				return nil, nil, fmt.Errorf("policy %s, seed %d: %w", name, seed, err)
			}
			rows[i] = row
			facts.accounts[i].Add(account)
		}
		for i := range rows {
			results.Rows[i] = append(results.Rows[i], rows[i])
		}
		results.Seeds = append(results.Seeds, seed)
		results.Wall = time.Since(start)
	}
	return results, facts, nil
}

// fleetOnce runs one scenario under one policy with one seed.
func fleetOnce(ctx context.Context, sc *model.Scenario, policy string, seed uint64, url string, speed float64, progress func(now, end protocol.Instant)) (*meter.Row, *fleet.Account, error) {
	preset, under, err := sc.Under(policy)
	if err != nil {
		return nil, nil, err
	}
	plan := fleet.Plan{Scenario: under, Preset: preset, Seed: seed, URL: url, Speed: speed, Progress: progress}
	outside := sim.NewOutside(under, seed)
	plan.Chance = outside
	jobs, err := outside.Jobs()
	if err != nil {
		return nil, nil, err
	}
	for _, j := range jobs {
		plan.Jobs = append(plan.Jobs, fleet.Job(j))
	}
	faults, err := outside.SeatFaults(fleet.Seats(under))
	if err != nil {
		return nil, nil, err
	}
	kinds := map[sim.SeatFaultKind]fleet.FaultKind{
		sim.SeatCrash: fleet.Crash, sim.SeatPause: fleet.Pause, sim.SeatEviction: fleet.Evict, sim.SeatPreempted: fleet.Preempt,
	}
	for _, f := range faults {
		plan.Faults = append(plan.Faults, fleet.Fault{At: f.At, Seat: f.Seat, Kind: kinds[f.Kind], Length: f.Length})
	}
	return fleet.Run(ctx, plan)
}

// fates draws how executions behave, as the simulator does.
func fates(seed uint64, kind *model.Job, job protocol.JobKey, execution int) fleet.Fate {
	return fleet.Fate(sim.FateOf(seed, kind, job, execution))
}

// unknown are metrics that real processes do not have.
var unknown = []string{"events"}

func (c *realFleet) report(s *scene, results *lab.Results, facts *fleetFacts, left []string) *report {
	plan := lab.Plan{Scenario: s.Scenario, Policies: results.Policies, Seeds: c.seeds, First: c.first}
	single := len(results.Policies) == 1 && c.seeds == 1
	r := newComparison(s, plan, results, "")
	if single {
		r = newReport(s, plan, results)
		r.run = &runFacts{}
		r.notes = withoutSingle(r.notes)
	}
	r.fleet = facts
	for i := range r.policies {
		for _, name := range unknown {
			if e := metric(r.policies[i].Metrics, name); e != nil {
				*e = lab.Estimate{Name: e.Name, Unit: e.Unit, Mean: math.NaN(), Lo: math.NaN(), Hi: math.NaN()}
			}
		}
	}
	r.meta.events = math.NaN()
	r.notes = append(append(r.notes, left...), fleet.Notes(s.Scenario)...)
	r.notes = append(r.notes, facts.notes()...)
	r.repeat = fmt.Sprintf("simulate fleet %s --policies %s --seeds %d --seed %d --speed %v", strings.Join(s.words, " "), strings.Join(results.Policies, ","), c.seeds, c.first, c.speed)
	if c.redis != "" {
		r.repeat += " --redis " + quote(withoutPassword(c.redis))
	}
	return r
}

func (f *fleetFacts) pace() string {
	if f.speed == 1 {
		return "their own speed"
	}
	return fmt.Sprintf("%v times their speed", f.speed)
}

// tooLate is how late something may come, in real time, without a word.
const tooLate = 100 * time.Millisecond

// notes says what the numbers cannot say.
func (f *fleetFacts) notes() []string {
	notes := []string{"events are the simulator's, so there are none; real time is no two times the same, so neither are these numbers"}
	for i, a := range f.accounts {
		notes = append(notes, fmt.Sprintf("under %s %s, %d of them ended by SIGKILL, ran %s: %d lost, %d acked twice, %d settled with a stale token",
			f.policies[i], plural(a.Processes, "process"), a.Killed, plural(a.Jobs, "job"), a.Lost, a.AckedTwice, a.Stale))
		if a.Late > tooLate {
			notes = append(notes, fmt.Sprintf("under %s this machine was too busy to play the scenario: something came %v late, which is %v of its time; leave it alone, or lower --speed",
				f.policies[i], a.Late.Round(time.Millisecond), time.Duration(float64(a.Late)*f.speed).Round(100*time.Millisecond)))
		}
		if a.Withdrawn > 0 {
			notes = append(notes, fmt.Sprintf("under %s %s went back with a withdrawn request; which ones nobody saw, so their stall is not measured", f.policies[i], plural(a.Withdrawn, "job")))
		}
		if a.Unheard > 0 {
			notes = append(notes, fmt.Sprintf("under %s %s granted to a worker that died before it heard of them; the next worker was told", f.policies[i], wasWere(a.Unheard, "job")))
		}
	}
	return notes
}

func (f *fleetFacts) object() object {
	accounts := make(object, len(f.accounts))
	for i, a := range f.accounts {
		accounts[i] = member{f.policies[i], object{
			{"processes", a.Processes}, {"killed", a.Killed}, {"jobs", a.Jobs}, {"done", a.Done}, {"given_up", a.Given}, {"unfinished", a.Unfinished},
			{"lost", a.Lost}, {"acked_twice", a.AckedTwice}, {"stale_settlements", a.Stale}, {"withdrawn", a.Withdrawn}, {"unheard", a.Unheard}, {"late_seconds", a.Late.Seconds()},
		}}
	}
	return object{{"speed", f.speed}, {"accounts", accounts}}
}

// finding reports a promise that did not hold.
func (f *fleetFacts) finding() error {
	for i := range f.accounts {
		if text := f.accounts[i].Broken(); text != "" {
			return &findingError{fmt.Sprintf("under %s %s", f.policies[i], text)}
		}
	}
	return nil
}
