package model

import (
	"fmt"
	"sort"
	"strings"

	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/protocol"
)

// Rescue is what brings a job back whose worker vanished. It is a setting of the broker.
type Rescue uint8

// Ways of rescue.
const (
	RescueByExpiry Rescue = iota // the job is claimable when its lease has run out
	RescueBySweep                // a sweep frees it some time after
	NoRescue                     // it stays claimed until an operator acts
	LostWithHolder               // claiming deletes it from the queue: only what its holder sends brings it back
)

// Preset is a way of stopping that can be compared with others: a worker's policy and what
// its broker does for vanished workers.
type Preset struct {
	Name       string
	About      string
	Policy     protocol.Policy
	Rescue     Rescue
	Deviations deviation.Set
	Reserve    protocol.Duration // the workers' part of the grace for settling and exit; 0 is the protocol's default
}

var presets = []Preset{
	{Name: "none", About: "dies at the signal; nothing frees its jobs",
		Policy: protocol.Policy{OnStop: protocol.DieOnStop}, Rescue: NoRescue},
	{Name: "crash-only", About: "dies at the signal; the lease's end frees its jobs",
		Policy: protocol.Policy{OnStop: protocol.DieOnStop}},
	{Name: "deaf", About: "notices no signal and claims on until SIGKILL",
		Policy: protocol.Policy{OnStop: protocol.IgnoreOnStop}},
	{Name: "finish-only", About: "stops claiming and waits for its handlers until SIGKILL",
		Policy: protocol.Policy{LateClaim: protocol.RunLateClaim, Deadline: protocol.NoDeadline}},
	{Name: "drain", About: "finishes or hands back; nothing frees the jobs of a worker that crashes",
		Rescue: NoRescue},
	{Name: "drain+sweep", About: "finishes or hands back; a late sweep frees the jobs of a worker that crashes",
		Rescue: RescueBySweep},
	{Name: "hybrid", About: "finishes or hands back; the lease's end frees what is left"},
	{Name: "release-now", About: "cancels at the signal and hands back; the lease's end frees what is left",
		Policy: protocol.Policy{OnStop: protocol.CancelOnStop}},
	{Name: "adaptive", About: "goes on with a job while that is expected to finish it sooner",
		Policy: protocol.Policy{Estimates: protocol.Adaptive}},
}

// PresetNames returns the names of all presets, in the order of the documentation.
func PresetNames() []string {
	names := make([]string, len(presets))
	for i, p := range presets {
		names[i] = p.Name
	}
	return names
}

// PresetNamed returns the preset with a name; the error lists the names there are.
func PresetNamed(name string) (Preset, error) {
	for _, p := range presets {
		if p.Name == name {
			return p, nil
		}
	}
	names := PresetNames()
	sort.Strings(names)
	return Preset{}, fmt.Errorf("there is no policy %q; use one of %s", name, strings.Join(names, ", "))
}
