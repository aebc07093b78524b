package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/quiesce/quiesce/sim/lab"
)

// object is a JSON object that keeps the order of its members, so that policies come as they
// were asked for and metrics as the meter lists them.
type object []member

type member struct {
	key   string
	value any
}

func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := enc.Encode(m.key); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := enc.Encode(m.value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// number is a JSON number, or null when there is nothing to say.
type number float64

func (n number) MarshalJSON() ([]byte, error) {
	if f := float64(n); !math.IsNaN(f) && !math.IsInf(f, 0) {
		return json.Marshal(f)
	}
	return []byte("null"), nil
}

// writeJSON writes the report for machines: everything outside "meta" follows
// from the input alone.
func (r *report) writeJSON(w io.Writer) error {
	return writeIndented(w, append(r.document(), member{"meta", r.meta.object()}))
}

// document is the report without its meta.
func (r *report) document() object {
	policies := make(object, len(r.policies))
	for i, p := range r.policies {
		policies[i] = member{p.Name, object{
			{"metrics", metricsObject(p.Metrics, true)}, {"broken", r.brokenObject(p.Name)}}}
	}
	paired := make([]object, len(r.paired))
	for i, d := range r.paired {
		paired[i] = object{{"policy", d.Policy}, {"baseline", d.Baseline}, {"metrics", metricsObject(d.Metrics, false)}}
	}
	doc := object{{"scenario", r.scenario.Name}, {"about", r.scenario.About}}
	switch {
	case r.fleet != nil:
		doc = append(doc, member{"fleet", r.fleet.object()})
	case r.run != nil:
		doc = append(doc, member{"seed", r.firstSeed}, member{"trace_hash", fmt.Sprintf("%016x", r.run.traceHash)})
	}
	doc = append(doc,
		member{"seeds", r.seeds}, member{"first_seed", r.firstSeed},
		member{"policies", policies}, member{"paired", paired})
	if r.run == nil {
		doc = append(doc, member{"verdict", r.verdict.object()}, member{"warmup", r.warmup.object()})
		if r.stop != "" {
			doc = append(doc, member{"stop", r.stop})
		}
	}
	return append(doc, member{"notes", list(r.notes)}, member{"assumed", list(r.scenario.assumed)})
}

func (m meta) object() object {
	return object{
		{"wall_seconds", number(m.wall.Seconds())},
		{"events_per_second", number(math.Round(m.eventsPerSecond()))},
		{"version", readVersion().Version},
		{"asked_seeds", m.asked},
	}
}

func (v *verdict) object() any {
	if v.text == "" {
		return nil // of a single policy
	}
	var winner any
	if v.winner != "" {
		winner = v.winner
	}
	return object{{"metric", lab.Headline[0]}, {"winner", winner}, {"best", list(v.best)}, {"text", v.text}}
}

func (w *warmup) object() any {
	var all []object
	for _, t := range w.all {
		all = append(all, object{{"policy", t.Policy}, {"of", t.Of}, {"seconds", number(float64(t.Nanos) / 1e9)}, {"steady", !t.Unsettled},
			{"shift", number(t.Shift)}, {"by_chance", t.ByChance}})
	}
	longest, by := w.suggested()
	if by == nil {
		longest = math.NaN()
	}
	return object{{"rule", "MSER-5"}, {"scenario_seconds", number(w.given)}, {"suggested_seconds", number(longest)}, {"transients", append([]object{}, all...)}}
}

// metricsObject lists metrics. With chances these are all of a policy's, and what should never
// happen comes with the chance of a job, or of a batch.
func metricsObject(all []lab.Estimate, chances bool) object {
	o := make(object, len(all))
	for i, e := range all {
		m := object{{"mean", number(e.Mean)}, {"lo", number(e.Lo)}, {"hi", number(e.Hi)}, {"unit", e.Unit}}
		if e.N > 0 {
			m = append(m, member{"n", e.N})
		}
		if e.Censored > 0 {
			m = append(m, member{"censored", e.Censored})
		}
		s := styleOfMetric(e.Name, e.Unit)
		of := s.occasions(all)
		if seen := math.Round(e.Mean * float64(e.Replications)); chances && s.per() != "" && of > 0 && seen < lab.Few {
			// A bound has no meaning in its last digits, and they would not be the same on
			// machines that fuse a multiplication and an addition.
			lo, hi := lab.RareRate(seen, of, e.Variance, e.Mean)
			m = append(m, member{s.per(), object{{"lo", number(significant(lo, 12))}, {"hi", number(significant(hi, 12))}}})
		}
		if e.TooFew {
			m = append(m, member{"too_few", true})
		}
		if p := e.Pairing; p != nil {
			m = append(m, member{"p", number(p.P)}, member{"p_holm", number(p.Adjusted)}, member{"variance_reduction", number(p.Reduction)})
			if p.Independent {
				m = append(m, member{"independent", true})
			}
		}
		o[i] = member{e.Name, m}
	}
	return o
}

// significant rounds to a number of decimal digits.
func significant(v float64, digits int) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	if err != nil {
		return v
	}
	return rounded
}

// list makes no strings an empty list instead of null.
func list(s []string) []string { return append([]string{}, s...) }

func writeIndented(w io.Writer, doc any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(doc)
}

// line writes the object with one more member on a line of its own.
func (o object) line(last member) ([]byte, error) {
	text, err := append(o, last).MarshalJSON()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = json.Compact(&b, text)
	b.WriteByte('\n')
	return b.Bytes(), err
}
