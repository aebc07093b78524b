package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/quiesce/quiesce/sim/lab"
)

// printable is what print can write in every format.
type printable interface {
	writeTable(io.Writer) error
	writeJSON(io.Writer) error
	writeCSV(io.Writer) error
}

// reports are those of one comparison, one per load, with the results that they are made of.
type reports struct {
	all     []*report
	results []*lab.Results
}

func (s *reports) add(r *report, results *lab.Results) {
	s.all, s.results = append(s.all, r), append(s.results, results)
}

// printable returns the only report, or all of them with what changes from one to the next.
func (s *reports) printable() printable {
	if len(s.all) == 1 {
		return s.all[0]
	}
	return s
}

func (s *reports) writeTable(w io.Writer) error {
	for _, r := range s.all {
		if err := r.writeTable(w); err != nil {
			return err
		}
		if _, err := io.WriteString(w, "\n"); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	b.WriteString("From load to load\n")
	for i, r := range s.all {
		b.WriteString(wrap("  - ", "    ", r.scenario.Name+": "+order(s.results[i])))
	}
	for _, line := range s.flips() {
		b.WriteString(wrap("  - ", "    ", line))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// order lists policies from the least delay per job to the most.
func order(r *lab.Results) string {
	var names []string
	for _, rank := range r.Judge().Order {
		names = append(names, fmt.Sprintf("%s %s", rank.Policy, seconds(rank.Mean)))
	}
	return "delay per job " + strings.Join(names, ", ")
}

// flips says whether the ranking depends on the load.
func (s *reports) flips() []string {
	var lines []string
	for _, f := range lab.Flips(s.results) {
		low, high := s.all[f.Low].scenario.Name, s.all[f.High].scenario.Name
		if f.Clear {
			lines = append(lines, fmt.Sprintf("the ranking flips: %s delays jobs less than %s in %s, and more in %s",
				f.Better, f.Worse, low, high))
		} else {
			lines = append(lines, fmt.Sprintf("%s and %s change places between %s and %s, but are not told apart clearly in both; more replications would tell",
				f.Better, f.Worse, low, high))
		}
	}
	if len(lines) == 0 {
		lines = append(lines, "the ranking by delay per job is the same at every load")
	}
	return lines
}

func (s *reports) writeJSON(w io.Writer) error {
	var docs []object
	for _, r := range s.all {
		docs = append(docs, r.document())
	}
	var m meta
	for _, r := range s.all {
		m.wall += r.meta.wall
		m.events += r.meta.events
		m.asked += r.meta.asked
	}
	return writeIndented(w, object{{"loads", docs}, {"ranking", list(s.flips())}, {"meta", m.object()}})
}

func (s *reports) writeCSV(w io.Writer) error {
	c := newCSV(w)
	for _, r := range s.all {
		r.writeLines(c)
	}
	c.Flush()
	return c.Error()
}

// atLoads returns the scenario once for each load, or as it is.
func (c *comparison) atLoads(s *scene) ([]*scene, error) {
	if len(c.loads) == 0 {
		return []*scene{s}, nil
	}
	var all []*scene
	for _, load := range c.loads {
		sc, err := lab.AtLoad(s.Scenario, load)
		if err != nil {
			return nil, misuse("--load %v: %v; leave --load out, or choose another scenario", load, err)
		}
		at := *s
		at.Scenario = sc
		at.words = append(append([]string(nil), s.words...), "--load", fmt.Sprint(load))
		all = append(all, &at)
	}
	return all, nil
}
