package model

import (
	"fmt"
	"sort"
	"strings"

	"github.com/quiesce/quiesce/internal/deviation"
)

// Variant is a named column of a comparison that is none of the presets: a way of stopping
// with a fault in it, or a queue with a setting changed.
type Variant struct {
	Preset
	Queue   *Queue // instead of the scenario's; nil is the scenario's
	Foreign bool   // its workers know neither undo nor what a handler declares
}

// Under returns the preset that a name in Policies stands for, and the scenario as it is
// under it: a real queue brings its own settings. Names are looked for among the scenario's
// variants, the policies and the real queues, in this order. The scenario is not changed.
func (s *Scenario) Under(name string) (Preset, *Scenario, error) {
	v := s.Variant(name)
	if v.Name == "" {
		return Preset{}, nil, fmt.Errorf("there is no policy %q; use one of %s", name, strings.Join(s.ColumnNames(), ", "))
	}
	return v.Preset, s.as(&v), nil
}

// Variant returns what a name stands for; its Name is empty when it stands for nothing.
func (s *Scenario) Variant(name string) Variant {
	for i := range s.Variants {
		if s.Variants[i].Name == name {
			return s.Variants[i]
		}
	}
	if p, err := PresetNamed(name); err == nil {
		return Variant{Preset: p}
	}
	if q, err := QueuePresetNamed(name); err == nil {
		queue := q.Settings(s.Queue)
		return Variant{Preset: q.Preset, Queue: &queue, Foreign: true}
	}
	return Variant{}
}

// ColumnNames returns every name that Under knows.
func (s *Scenario) ColumnNames() []string {
	var names []string
	for i := range s.Variants {
		names = append(names, s.Variants[i].Name)
	}
	return append(append(names, PresetNames()...), QueuePresetNames()...)
}

// as returns the scenario as one variant has it.
func (s *Scenario) as(v *Variant) *Scenario {
	if v.Queue == nil && !v.Foreign {
		return s
	}
	c := *s
	if c.Cooldown == 0 {
		c.Cooldown = 2 * s.Queue.Lease // the same interruptions are counted in every column
	}
	if v.Queue != nil {
		c.Queue = *v.Queue
	}
	if v.Foreign {
		c.Jobs = append([]Job(nil), s.Jobs...)
		for i := range c.Jobs {
			c.Jobs[i].Undo, c.Jobs[i].UndoFails, c.Jobs[i].Declared = 0, 0, 0
		}
	}
	return &c
}

// UnsafeNames returns the names of the faults that Unsafe can build into a way of stopping.
func UnsafeNames() []string {
	var names []string
	for _, id := range deviation.All() {
		names = append(names, id.String())
	}
	sort.Strings(names)
	return names
}

// Unsafe returns the preset with faults built in, for comparison with what it is without
// them. No worker in production can be built from the result: it is a value of the lab.
func (p Preset) Unsafe(faults ...string) (Preset, error) {
	for _, name := range faults {
		id, ok := deviation.Named(name)
		if !ok {
			return Preset{}, fmt.Errorf("there is no fault %q; use one of %s", name, strings.Join(UnsafeNames(), ", "))
		}
		p.Deviations = p.Deviations.With(id)
	}
	return p, nil
}

// Sound reports whether every promise of the protocol is expected to be kept: no fault is built
// in, and it is not the imitation of a real queue.
func (p Preset) Sound() bool {
	_, err := QueuePresetNamed(p.Name)
	return p.Deviations == deviation.Set{} && err != nil
}

// Faults returns the names of the faults that are built in, sorted.
func (p Preset) Faults() []string {
	var names []string
	for _, id := range deviation.All() {
		if p.Deviations.Has(id) {
			names = append(names, id.String())
		}
	}
	return names
}
