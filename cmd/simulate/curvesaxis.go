package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quiesce/quiesce/internal/spelling"
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/plots"
	"github.com/quiesce/quiesce/scenarios"
)

// axis is one number of a scenario that is varied.
type axis struct {
	scenarios.Range
	name string // of the flag: --lease or --vary
	text string // of its value
}

func (x axis) flag() string { return x.name + " " + quote(x.text) }

// axisLabels are the words for the numbers that are varied most; others go by their path.
var axisLabels = map[string]string{
	"queue.lease":       "lease",
	"queue.heartbeat":   "heartbeat",
	"supervisor.grace":  "grace",
	"fleet.workers":     "workers",
	"fleet.slots":       "slots per worker",
	"deploys.every":     "time between two deploys",
	"faults.crash.mtbf": "mean time between two crashes of a worker",
}

func (x axis) label() string {
	if l, ok := axisLabels[x.Path]; ok {
		return l
	}
	return x.Path
}

// plot is the axis in a figure.
func (x axis) plot() plots.Axis {
	p := plots.Axis{Label: x.label()}
	switch x.Unit {
	case "s":
		p.Unit = plots.Seconds
	case "%":
		p.Unit = plots.Share
	case "1/s":
		p.Label += " (a second)"
	case "ppm":
		p.Label += " (ppm)"
	}
	return p
}

func (x axis) texts() []string {
	all := make([]string, len(x.Values))
	for i, v := range x.Values {
		all[i] = v.Text
	}
	return all
}

func leaseFlag(to *[]axis) *value {
	return &value{kind: "30s,1m,...", set: func(s string) error { return addAxis(to, "queue.lease", s, "--lease", s) }}
}

func varyFlag(to *[]axis) *value {
	return &value{kind: "PATH=RANGE", set: func(s string) error {
		path, values, ok := strings.Cut(s, "=")
		if path = strings.TrimSpace(path); !ok || path == "" || values == "" {
			return fmt.Errorf("is not a path with a range; write it like --vary queue.lease=30s..1h:log:9")
		}
		return addAxis(to, path, values, "--vary", s)
	}}
}

func addAxis(to *[]axis, path, values, flag, text string) error {
	if slices.ContainsFunc(*to, func(x axis) bool { return x.Path == path }) {
		return fmt.Errorf("varies %s a second time; give one range for it", path)
	}
	r, err := scenarios.ParseRange(path, values)
	if err != nil {
		return err
	}
	*to = append(*to, axis{r, flag, text})
	return nil
}

// metricsFlag takes names of metrics.
func metricsFlag(c *sweep) *value {
	return &value{kind: "a,b,c", set: func(s string) error {
		var known []string
		for _, m := range (&meter.Row{}).Metrics() {
			known = append(known, m.Name)
		}
		c.metrics, c.asked = nil, true
		for _, name := range strings.Split(s, ",") {
			name = strings.TrimSpace(name)
			if !slices.Contains(known, name) {
				return fmt.Errorf("there is no metric %q; %s", name, suggestMetric(name, known))
			}
			if slices.Contains(c.metrics, name) {
				return fmt.Errorf("names %s twice; name each metric once", name)
			}
			c.metrics = append(c.metrics, name)
		}
		return nil
	}}
}

// suggestMetric names the metrics that may be meant; all of them would fill a screen.
func suggestMetric(name string, known []string) string {
	const list = "simulate run SCENARIO --policy P lists all"
	if w := spelling.Nearest(name, known); w != "" {
		return fmt.Sprintf("did you mean %s? (%s)", w, list)
	}
	var like []string
	for _, k := range known {
		if name != "" && strings.Contains(k, name) {
			like = append(like, k)
		}
	}
	if len(like) == 0 {
		return list
	}
	return fmt.Sprintf("there are %s; %s", strings.Join(like[:min(len(like), 8)], ", "), list)
}

// point is one place in the plane of a sweep.
type point struct {
	at       []scenarios.Value // by axis
	scenario *model.Scenario
	result   *pointResult // nil until it is finished
}

func (p *point) label(axes []axis) string {
	if len(axes) == 1 {
		return p.at[0].Text
	}
	parts := make([]string, len(axes))
	for i, x := range axes {
		parts[i] = x.label() + " " + p.at[i].Text
	}
	return strings.Join(parts, ", ")
}

// load reads the scenario once for every point, the first axis running fastest.
func load(name string, axes []axis) ([]point, error) {
	var points []point
	outer := []scenarios.Value{{}}
	if len(axes) == 2 {
		outer = axes[1].Values
	}
	for _, y := range outer {
		for _, x := range axes[0].Values {
			p := point{at: []scenarios.Value{x, y}[:len(axes)]}
			var overrides []scenarios.Override
			for i, a := range axes {
				overrides = append(overrides, scenarios.Override{Path: a.Path, Value: p.at[i].Text, From: a.name + " " + a.text})
			}
			sc, err := scenarios.LoadWith(name, overrides...)
			if err != nil {
				return nil, err
			}
			p.scenario = sc
			points = append(points, p)
		}
	}
	return points, nil
}
