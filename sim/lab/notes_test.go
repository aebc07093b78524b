package lab

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/model/meter"
)

// counted returns a row with some counters set.
func counted(counts map[meter.Count]int64) *meter.Row {
	r := &meter.Row{}
	r.Counts[meter.JobsEnqueued] = 100
	for c, n := range counts {
		r.Counts[c] = n
	}
	return r
}

func TestNotesSayWhatAReaderMustKnow(t *testing.T) {
	deployed := map[meter.Count]int64{meter.Rollouts: 2, meter.Stops: 8}
	stuck := map[meter.Count]int64{meter.Rollouts: 2, meter.Stops: 8, meter.JobsStuck: 3}
	for _, c := range []struct {
		name     string
		policies []string
		rows     [][]*meter.Row // by policy
		asked    int
		want     string // a part of the only note, or nothing
	}{
		{"a plain run needs no words", []string{"hybrid"}, [][]*meter.Row{{counted(deployed), counted(deployed)}}, 2, ""},
		{"a run that was stopped", []string{"hybrid"}, [][]*meter.Row{{counted(deployed), counted(deployed)}}, 9, "stopped early: 2 of 9"},
		{"one replication", []string{"hybrid"}, [][]*meter.Row{{counted(deployed)}}, 1, "no interval"},
		{"jobs that nothing frees", []string{"none"}, [][]*meter.Row{{counted(stuck), counted(stuck)}}, 2, "under none 6 jobs are claimed by workers that are gone"},
		{"drain and hybrid without a reason to differ", []string{"drain", "hybrid"},
			[][]*meter.Row{{counted(deployed), counted(deployed)}, {counted(deployed), counted(deployed)}}, 2, "no occasion to differ"},
		{"nobody was told to stop", []string{"hybrid"}, [][]*meter.Row{{counted(map[meter.Count]int64{meter.Rollouts: 1}), counted(deployed)}}, 2, ""},
		{"nobody was ever told to stop", []string{"hybrid"},
			[][]*meter.Row{{counted(map[meter.Count]int64{meter.Rollouts: 1}), counted(map[meter.Count]int64{meter.Rollouts: 1})}}, 2, "no process was told to stop"},
		{"no deploy", []string{"hybrid"}, [][]*meter.Row{{counted(nil), counted(nil)}}, 2, "no deploy"},
		{"every job before the warm-up was over", []string{"hybrid"}, func() [][]*meter.Row {
			row := counted(map[meter.Count]int64{meter.JobsEnqueued: 0, meter.Rollouts: 2, meter.Stops: 8})
			return [][]*meter.Row{{row, row}}
		}(), 2, "no job arrived after the warm-up"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Results{Policies: c.policies, Rows: c.rows, Asked: c.asked}
			for s := range c.rows[0] {
				r.Seeds = append(r.Seeds, uint64(s))
			}
			notes := r.Notes()
			if c.want == "" {
				assert.Empty(t, notes)
				return
			}
			if assert.Len(t, notes, 1) {
				assert.Contains(t, notes[0], c.want)
			}
		})
	}
}

func TestAnOverloadedFleetIsCalledSo(t *testing.T) {
	sc := tiny()
	assert.InDelta(t, 20.0/4/8, Load(sc), 0.01, "20 s of work every 4 s on 8 slots")
	r := &Results{Policies: []string{"hybrid"}, Rows: make([][]*meter.Row, 1)}
	r.Setting = SettingOf(sc)
	assert.Empty(t, r.Notes())

	sc.Jobs[0].Arrivals = table(dist.Exponential(2 * second))
	sc.Jobs = append(sc.Jobs, sc.Jobs[0])
	assert.InDelta(t, 20.0/8*2/2*2/2, Load(sc), 0.01, "kinds add up")
	r.Setting = SettingOf(sc)
	assert.Contains(t, strings.Join(r.Notes(), "\n"), "overloaded: jobs bring 2.5")

	sc.Trace = &tornTrace{}
	assert.True(t, math.IsNaN(Load(sc)), "nobody knows before the trace is read")
	r.Setting = SettingOf(sc)
	assert.Empty(t, r.Notes())
}

// Intervals over replications that share their jobs are narrower than they look.
func TestNotesSayWhatIntervalsOverATraceMean(t *testing.T) {
	deployed := counted(map[meter.Count]int64{meter.Rollouts: 2, meter.Stops: 8})
	notes := func(runs int) []string {
		r := &Results{Policies: []string{"hybrid"}, Asked: runs, Setting: Setting{Load: math.NaN()}, Rows: [][]*meter.Row{nil}}
		for s := range runs {
			r.Seeds = append(r.Seeds, uint64(s))
			r.Rows[0] = append(r.Rows[0], deployed)
		}
		return r.Notes()
	}
	assert.Equal(t, []string{"every run has the jobs of the trace, so intervals say how much the chance of network and faults changes, and not how another week would differ"}, notes(2))
	assert.NotContains(t, strings.Join(notes(1), ";"), "intervals")
}
