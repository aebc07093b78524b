package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/plots"
	"github.com/quiesce/quiesce/scenarios"
	"github.com/quiesce/quiesce/sim/lab"
)

// curvesReport is everything that curves has to say, before it is given a form.
type curvesReport struct {
	scene *scene
	*sweep
	groups []figureGroup
	points []point
	notes  []string
	stalls []string // notes about stalls alone
	repeat string
	wall   time.Duration
}

// pointResult is what was measured at one point.
type pointResult struct {
	policies []lab.Policy
	theory   float64 // of theoryMetric under theoryPolicy, NaN when there is none
}

// The one curve that theory gives.
const (
	theoryPolicy = "crash-only"
	theoryMetric = "deploy_stall_seconds_mean"
	theoryName   = "theory: lease less the age of its last renewal"
)

// take takes in the results and returns how many points were finished.
func (r *curvesReport) take(points []point, results []*lab.Results) (finished int) {
	r.points = points
	var stays, late, full []string // points without a deploy, without a stall that could end, and overloaded ones
	for i := range points {
		p := &points[i]
		if i >= len(results) || results[i] == nil {
			continue
		}
		finished++
		p.result = &pointResult{policies: results[i].Estimates(), theory: math.NaN()}
		if slices.Contains(r.sweep.policies, theoryPolicy) {
			p.result.theory = lab.CrashOnlyStall(p.scenario)
		}
		r.wall = max(r.wall, results[i].Wall)
		switch {
		case results[i].Rows[0][0].Counts[meter.Rollouts] == 0:
			stays = append(stays, p.label(r.axes))
		case !p.interrupted():
			late = append(late, p.label(r.axes))
		}
		if lab.Load(p.scenario) >= 1 {
			full = append(full, p.label(r.axes))
		}
	}
	if finished < len(points) {
		r.note("stopped early: %d of %d points were finished, the others are left out", finished, len(points))
	}
	if r.seeds == 1 {
		r.note("one replication has no interval; use --seeds 5 or more")
	}
	if r.sharesHeartbeat() {
		q := r.scene.Queue
		r.note("the heartbeat keeps its share of the lease, %s of %s", short(q.Heartbeat), short(q.Lease))
	}
	if same := r.unmoved(results); len(same) > 0 {
		r.note("what is varied changes nothing under %s; a real queue, for one, has its own settings", and(same))
	}
	switch {
	case len(stays) == finished:
		r.note("no deploy fell into the measured part of any run")
	case len(stays) > 0:
		r.note("no deploy fell into the measured part of the run at %s", places(stays, finished, "any point"))
	}
	if len(late) > 0 {
		r.stalls = append(r.stalls, fmt.Sprintf("no stall after a deploy was measured at %s: nobody was interrupted, or only in the last two leases of a run, whose stalls are left out as most could not end; a longer duration would show them", places(late, finished, "any point")))
	}
	if len(full) > 0 {
		r.note("the fleet is overloaded at %s, so waits grow with the length of the run", places(full, finished, "every point"))
	}
	r.notes = append(r.notes, scenarios.Notes(r.scene.Scenario)...)
	return finished
}

// places names points in a sentence, not more than can be taken in.
func places(labels []string, of int, all string) string {
	const most = 6
	switch {
	case len(labels) == of && of > 1:
		return all
	case len(labels) > most:
		return fmt.Sprintf("%s and %s", strings.Join(labels[:most-1], "; "), plural(len(labels)-most+1, "other point"))
	}
	return strings.Join(labels, "; ")
}

func (r *curvesReport) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

func (r *curvesReport) allNotes() []string { return append(slices.Clone(r.notes), r.stalls...) }

// unmoved returns the policies whose runs were the same, event by event, at every point.
func (r *curvesReport) unmoved(results []*lab.Results) (same []string) {
	for i, policy := range r.sweep.policies {
		seen, points := map[uint64]bool{}, 0
		for _, res := range results {
			if res != nil {
				points++
				seen[res.Rows[i][0].TraceHash] = true
			}
		}
		if points > 1 && len(seen) == 1 {
			same = append(same, policy)
		}
	}
	return same
}

func (r *curvesReport) varies(path string) bool {
	return slices.ContainsFunc(r.axes, func(x axis) bool { return x.Path == path })
}

// sharesHeartbeat reports whether renewals follow a lease that is varied.
func (r *curvesReport) sharesHeartbeat() bool {
	return r.varies("queue.lease") && !r.varies("queue.heartbeat")
}

// estimate finds a metric of a policy at a point, or nil.
func (p *point) estimate(policy int, name string) *lab.Estimate {
	if p.result == nil {
		return nil
	}
	return metric(p.result.policies[policy].Metrics, name)
}

// signs are what a figure has that its caption must explain.
type signs struct {
	bound bool
	gap   bool
	few   int // quantiles that are not shown, as they would be little else than the largest values
}

// see looks at a metric of a policy at a point, unless the point was not finished.
func (s *signs) see(p *point, policy int, name string) {
	if p.result == nil {
		return
	}
	switch e := p.estimate(policy, name); {
	case e == nil || math.IsNaN(e.Mean):
		s.gap = true
	case e.TooFew:
		s.few++
	default:
		s.bound = s.bound || e.Censored > 0
	}
}

// interrupted reports whether a stall after a deploy was measured under any policy.
func (p *point) interrupted() bool {
	for i := range p.result.policies {
		if e := p.estimate(i, theoryMetric); e != nil && e.N > 0 {
			return true
		}
	}
	return false
}

// unit is that of a metric; all points agree.
func (r *curvesReport) unit(name string) string {
	for _, m := range (&meter.Row{}).Metrics() {
		if m.Name == name {
			return m.Unit
		}
	}
	return ""
}

// hasTheory reports whether theory has something to say about a metric.
func (r *curvesReport) hasTheory(name string) bool {
	return name == theoryMetric && slices.ContainsFunc(r.points, func(p point) bool {
		return p.result != nil && !math.IsNaN(p.result.theory)
	})
}

// figureFile is a figure with the name of its files.
type figureFile struct {
	name   string
	figure func() plots.Figure
}

// figures are one per group over one axis, and one per metric over two.
func (r *curvesReport) figures() []figureFile {
	var all []figureFile
	for _, g := range r.groups {
		if len(r.axes) == 1 {
			all = append(all, figureFile{g.file, func() plots.Figure { return r.lines(g) }})
			continue
		}
		for _, m := range g.metrics {
			all = append(all, figureFile{"heat-" + fileName(m), func() plots.Figure { return r.heat(m) }})
		}
	}
	return all
}

// files are the names of all that is written into --out.
func (r *curvesReport) files() []string {
	names := []string{"curves.csv", "curves.json", "curves.txt"}
	for _, f := range r.figures() {
		for _, format := range plots.Formats() {
			names = append(names, f.name+"."+format)
		}
	}
	return names
}

// outputs are those files.
func (r *curvesReport) outputs() map[string]write {
	out := map[string]write{"curves.csv": r.writeCSV, "curves.json": r.writeJSON, "curves.txt": r.writeTable}
	for _, f := range r.figures() {
		for _, format := range plots.Formats() {
			out[f.name+"."+format] = pictureWriter(f, format)
		}
	}
	return out
}
