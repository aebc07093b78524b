package fleet

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/scenarios"
)

// followed is what real processes do as the scenario says; parts of parts are followed with them.
var followed = []string{
	"Name", "About", "Remarks", "Duration", "Warmup", "Cooldown", "Policies", "Variants", "Fleet.Workers", "Fleet.Slots", "Fleet.Start", "Trace", "Deploys",
	"Queue.Lease", "Queue.Heartbeat", "Queue.DriftPPM", "Queue.MaxFailures", "Queue.Poison", "Queue.Starving", "Queue.Backoff",
	"Queue.MaxAttempts",   // with CountAtClaim only
	"Queue.SweepPeriod",   // under policies with a sweep only
	"Queue.SweepSlack",    // the same
	"Queue.MaxMessageAge", // of the simulator's network; the broker on Redis has its own
	"Jobs.Name", "Jobs.Arrivals", "Jobs.Count", "Jobs.Work", "Jobs.Checkpoint", "Jobs.Declared", "Jobs.Undo", "Jobs.UndoFails",
	"Jobs.Deaf", "Jobs.Fails", "Jobs.OOM", "Jobs.Save", "Jobs.Flush", "Jobs.Effects", "Jobs.Timeout", "Jobs.Version", "Jobs.NewVersion",
	"Supervisor.Kind", "Supervisor.Grace", "Supervisor.PreStop", "Supervisor.Tells", "Supervisor.Repeat", "Supervisor.Rollout",
	"Faults.Crash", "Faults.Pause", "Faults.Drill", "Faults.Liveness", "Faults.Evict", "Faults.Preempt", "Faults.ScaleIn",
	"Faults.SlowBy", "Faults.ForgetFor", // of Slow and Forget
}

// asked is what a scenario may ask for and real processes cannot do, and what is said then.
var asked = map[string]struct {
	set  func(*model.Scenario)
	says string
	note bool // it is left out, and no reason not to run
}{
	"Queue.Margin":       {set: func(sc *model.Scenario) { sc.Queue.Margin = 3 * protocol.Second }, says: "queue.margin"},
	"Queue.Park":         {set: func(sc *model.Scenario) { sc.Queue.Park = model.NoLongPoll }, says: "queue.long_poll"},
	"Queue.CountAtClaim": {set: func(sc *model.Scenario) { sc.Queue.CountAtClaim = true }, says: "queue.count_at_claim"},
	"Queue.OnExpiry":     {set: func(sc *model.Scenario) { sc.Queue.OnExpiry = model.BuryExpired }, says: "queue.on_expiry"},
	"Queue.Poll":         {set: func(sc *model.Scenario) { sc.Queue.Poll = protocol.Second }, says: "queue.poll"},
	"Queue.InStep":       {set: func(sc *model.Scenario) { sc.Queue.InStep = true }, says: "in_step"},
	"Queue.Counted":      {set: func(sc *model.Scenario) { sc.Queue.Counted = model.CountedAfterAck }, says: "(counted)"},
	"Queue.Service":      {set: func(sc *model.Scenario) { sc.Queue.Service = 1 }, says: "queue.service"},
	"Fleet.Prefetch":     {set: func(sc *model.Scenario) { sc.Fleet.Prefetch = 5 }, says: "fleet.prefetch"},
	"Queue.Habits":       {set: func(sc *model.Scenario) { sc.Queue.ExpiryFails = true }, says: "habits of another broker"},
	"Jobs.Batch":         {set: func(sc *model.Scenario) { sc.Jobs[0].Batch = 9 }, says: "jobs.resize.batch"},
	"Jobs.CPUBound":      {set: func(sc *model.Scenario) { sc.Jobs[0].CPUBound = 1 }, says: "jobs.resize.cpu_bound"},
	"Supervisor.Signal":  {set: func(sc *model.Scenario) { sc.Supervisor.Signal = model.SignalNamed("SIGQUIT") }, says: "supervisor.signal: SIGQUIT stops no worker"},
	"Faults.Partition":   {set: func(sc *model.Scenario) { sc.Faults.Partition.Every = protocol.Hour }, says: "faults.partition"},
	"Faults.Slow":        {set: func(sc *model.Scenario) { sc.Faults.Slow.Every = protocol.Hour }, says: "faults.slow"},
	"Faults.Forget":      {set: func(sc *model.Scenario) { sc.Faults.Forget = protocol.Hour }, says: "faults.failover"},
	"Faults.DriftPPM":    {set: func(sc *model.Scenario) { sc.Faults.DriftPPM = 1 }, says: "faults.drift"},
	"Faults.At": {set: func(sc *model.Scenario) {
		sc.Faults.At = []model.NodeFault{{Kind: model.NodePause}, {Kind: model.NodePartition}}
	}, says: "cuts a node off"},
	"Faults.Trace": {set: func(sc *model.Scenario) { sc.Faults.Trace = cuts{} }, says: "cuts a node off"},
	"Finding":      {set: func(sc *model.Scenario) { sc.Finding = &model.Finding{Overrides: make([]model.Override, 1)} }, says: "finding.overrides"},

	"Faults.Network.Loss":      {set: func(sc *model.Scenario) { sc.Faults.Network.Loss = 1 }, says: "loss", note: true},
	"Faults.Network.Duplicate": {set: func(sc *model.Scenario) { sc.Faults.Network.Duplicate = 1 }, says: "duplicates", note: true},
	"Faults.Network.Latency":   {set: func(sc *model.Scenario) { sc.Faults.Network.Latency = new(dist.Table) }, says: "latency", note: true},
}

// cuts is a recorded trace with one fault.
type cuts struct{}

func (cuts) Open() (model.FaultStream, error) { return cuts{}, nil }
func (cuts) Close() error                     { return nil }
func (cuts) Next() (model.NodeFault, bool, error) {
	return model.NodeFault{Kind: model.NodePartition}, true, nil
}

// small is a scenario that real processes can follow.
func small(t *testing.T) (*model.Scenario, *model.Preset) {
	t.Helper()
	sc, err := scenarios.Load("small-fleet")
	require.NoError(t, err)
	preset, under, err := sc.Under("hybrid")
	require.NoError(t, err)
	under.Faults.Network = model.Network{}
	return under, &preset
}

// Before anything starts it is said what real processes cannot do, all of it in one error.
func TestWhatRealProcessesCannotDoIsSaid(t *testing.T) {
	sc, preset := small(t)
	require.NoError(t, Check(sc, preset, 10))
	require.Empty(t, Notes(sc))
	for field, a := range asked {
		t.Run(field, func(t *testing.T) {
			sc, preset := small(t)
			a.set(sc)
			err := Check(sc, preset, 10)
			if a.note {
				assert.NoError(t, err)
				assert.Contains(t, strings.Join(Notes(sc), "\n"), a.says)
				return
			}
			require.ErrorContains(t, err, "small-fleet: ")
			assert.ErrorContains(t, err, a.says)
			assert.ErrorContains(t, err, "; simulate run and compare can do it")
		})
	}
	sc.Queue.Poll, sc.Faults.DriftPPM = 1, 1
	assert.EqualError(t, Check(sc, preset, 10), "small-fleet: queue.poll: package worker has no such option; faults.drift: all processes of one machine have one clock; simulate run and compare can do it")
}

// What holds under every policy is said once.
func TestRefusalsAreAddedUp(t *testing.T) {
	r := &Refusal{Scenario: "s", Reasons: []string{"a", "b"}}
	r.Add(&Refusal{Scenario: "s", Reasons: []string{"b", "c"}})
	assert.EqualError(t, r, "s: a; b; c; simulate run and compare can do it")
}

// A part of a scenario that is new is neither followed nor refused until somebody has decided.
func TestNothingOfAScenarioIsPassedOver(t *testing.T) {
	known := map[string]bool{}
	for _, field := range slices.AppendSeq(slices.Clone(followed), maps.Keys(asked)) {
		assert.False(t, known[field], "%s is decided twice", field)
		known[field] = true
	}
	var look func(of reflect.Type, path string)
	look = func(of reflect.Type, path string) {
		for i := range of.NumField() {
			f := of.Field(i)
			field := strings.TrimPrefix(path+"."+f.Name, ".")
			below := f.Type
			if below.Kind() == reflect.Slice {
				below = below.Elem()
			}
			switch {
			case known[field]:
				delete(known, field)
			case below.Kind() == reflect.Struct:
				look(below, field)
			default:
				t.Errorf("Scenario.%s: do real processes follow it? If not, refuse it in Check, or say so in Notes", field)
			}
		}
	}
	look(reflect.TypeFor[model.Scenario](), "")
	assert.Empty(t, known, "there is no such part of a scenario")
}
