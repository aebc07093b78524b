package main

import (
	"strings"

	"github.com/quiesce/quiesce/plots"
)

// figureGroup is the metrics that share one figure: the same quantity in several statistics.
type figureGroup struct {
	file    string
	title   string
	metrics []string
}

// statistics are the endings of metrics by which they belong together.
var statistics = []struct{ ending, title string }{
	{"_mean", "mean"}, {"_p50", "median"}, {"_p90", "90th percentile"}, {"_p99", "99th percentile"}, {"_max", "longest"},
}

// families are the titles of the figures that are asked for most, by metric without its
// statistic; others go by the words of the catalogue.
var families = map[string]string{
	"deploy_stall_seconds":    "Stall of jobs that a deploy interrupts",
	"crash_stall_seconds":     "Stall of jobs that a crash interrupts",
	"lease_stall_seconds":     "Stall of jobs whose lease ran out on a living worker",
	"refusal_stall_seconds":   "Stall of jobs that a worker refused",
	"other_stall_seconds":     "Stall of jobs interrupted for other reasons",
	"stall_seconds":           "Stall of interrupted jobs",
	"queue_wait_seconds":      "Wait for the first start",
	"exit_seconds":            "From SIGTERM to exit",
	"delay_seconds_per_job":   "Delay per job, over all jobs",
	"redone_work_seconds":     "Work that is done again, per run",
	"attempts_eroded_per_job": "Attempts eroded, per job",
	"attempts_eroded":         "Attempts eroded, per run",
	"stall_share":             "Share of started jobs that stand still",
}

// defaultMetrics are what a lease is chosen by.
func defaultMetrics() []string {
	return []string{
		"deploy_stall_seconds_mean", "deploy_stall_seconds_p50", "deploy_stall_seconds_p90", "deploy_stall_seconds_p99",
		"delay_seconds_per_job", "redone_work_seconds", "attempts_eroded_per_job",
	}
}

// family splits a metric into its quantity and its statistic.
func family(metric string) (name, statistic string) {
	for _, s := range statistics {
		if base, ok := strings.CutSuffix(metric, s.ending); ok {
			return base, s.title
		}
	}
	return metric, ""
}

// figureGroups sorts metrics into figures, in the order of their first metrics.
func figureGroups(metrics []string) []figureGroup {
	var groups []figureGroup
	places := map[string]int{}
	for _, m := range metrics {
		name, _ := family(m)
		i, ok := places[name]
		if !ok {
			i = len(groups)
			places[name] = i
			groups = append(groups, figureGroup{file: fileName(name), title: familyTitle(name, m)})
		}
		groups[i].metrics = append(groups[i].metrics, m)
	}
	return groups
}

// fileName makes a name for a file of a metric: deploy-stall, redone-work.
func fileName(metric string) string {
	metric = strings.ReplaceAll(metric, "_seconds", "")
	return strings.ReplaceAll(metric, "_", "-")
}

func familyTitle(name, metric string) string {
	if t, ok := families[name]; ok {
		return t
	}
	words := inWords(metric)
	if l := catalogued(metric); l != nil {
		words = l.label
	}
	return strings.ToUpper(words[:1]) + words[1:]
}

// metricTitle names one metric by itself.
func metricTitle(metric string) string {
	name, statistic := family(metric)
	title := familyTitle(name, metric)
	if statistic == "" || families[name] == "" {
		return title
	}
	return title + ", " + statistic
}

// catalogued finds the words and the style of a metric, or nil.
func catalogued(metric string) *line {
	for i := range catalogue {
		for k := range catalogue[i].lines {
			if l := &catalogue[i].lines[k]; l.metric == metric {
				return l
			}
		}
	}
	return nil
}

// plotUnit is how the axis of a metric is written.
func plotUnit(metric, unit string) plots.Unit {
	l := catalogued(metric)
	switch {
	case unit == "s":
		return plots.Seconds
	case l != nil && l.style == asShare:
		return plots.Share
	default:
		return plots.Number
	}
}

func styleOfMetric(metric, unit string) style {
	if l := catalogued(metric); l != nil {
		return l.style
	}
	return styleOf(unit)
}
