package main

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"
)

// writeCSV writes one line per policy and metric. What was not measured is an empty field.
func (r *report) writeCSV(w io.Writer) error {
	c := newCSV(w)
	r.writeLines(c)
	c.Flush()
	return c.Error()
}

// newCSV begins a table. Errors stay in the writer until they are asked for at the end.
func newCSV(w io.Writer) *csv.Writer {
	c := csv.NewWriter(w)
	_ = c.Write([]string{"scenario", "policy", "metric", "unit", "mean", "lo", "hi", "n", "censored", "too_few"})
	return c
}

func (r *report) writeLines(c *csv.Writer) {
	for _, p := range r.policies {
		for _, e := range p.Metrics {
			_ = c.Write([]string{
				r.scenario.Name, p.Name, e.Name, e.Unit, plain(e.Mean), plain(e.Lo), plain(e.Hi),
				strconv.FormatInt(e.N, 10), strconv.FormatInt(e.Censored, 10),
				strconv.FormatBool(e.TooFew),
			})
		}
	}
}

func plain(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
