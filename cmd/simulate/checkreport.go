package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/quiesce/quiesce/scenarios/manifest"
	"github.com/quiesce/quiesce/scenarios/manifest/lint"
)

// checkReport is what was found in manifests.
type checkReport struct {
	files     int
	workloads []manifest.Workload
	findings  []lint.Finding
	quiet     bool
}

// severities are in the order in which findings are counted.
var severities = []lint.Severity{lint.Error, lint.Warning, lint.Note}

// writeTable writes each finding as compilers do, so that editors find their way; what is the same
// of several workloads of a file is said once.
func (r *checkReport) writeTable(w io.Writer) error {
	var b strings.Builder
	said := make(map[string]bool)
	for i, f := range r.findings {
		if said[sameAs(&f)] {
			continue
		}
		said[sameAs(&f)] = true
		who := f.Workload
		if others := r.alike(i); f.Severity == lint.Note && len(others) > 1 {
			who = fmt.Sprintf("%s: %s", plural(len(others), "workload"), firstFew(others))
		} else if len(others) > 1 {
			said[sameAs(&f)] = false
		}
		head := fmt.Sprintf("%s:%d: %s: %s %s [%s; %s]", f.File, f.Line, f.Severity, f.Field, f.Problem, f.Lint, who)
		b.WriteString(wrap("", "    ", head))
		b.WriteString(wrap("    ", "    ", "→ "+f.Remedy))
	}
	if !r.quiet {
		if len(r.findings) > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(r.summary() + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// sameAs is equal of findings that differ in the workload and its place alone.
func sameAs(f *lint.Finding) string {
	return strings.Join([]string{f.File, f.Lint, f.Field, f.Problem, f.Remedy}, "\x00")
}

// alike names the workloads of which the same is to be said.
func (r *checkReport) alike(i int) []string {
	var who []string
	for j := range r.findings {
		if sameAs(&r.findings[j]) == sameAs(&r.findings[i]) {
			who = append(who, r.findings[j].Workload)
		}
	}
	return who
}

// firstFew names no more than fit a line or two.
func firstFew(names []string) string {
	const few = 6
	if len(names) > few+1 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
	}
	return strings.Join(names, ", ")
}

func (r *checkReport) summary() string {
	looked := fmt.Sprintf("%s in %s", plural(len(r.workloads), "workload"), plural(r.files, "file"))
	if len(r.findings) == 0 {
		return looked + ": nothing found"
	}
	var counts []string
	for _, s := range severities {
		if n := lint.Count(r.findings, s); n > 0 {
			counts = append(counts, plural(n, s.String()))
		}
	}
	return looked + ": " + strings.Join(counts, ", ")
}

func (r *checkReport) writeJSON(w io.Writer) error {
	findings := make([]object, len(r.findings))
	for i, f := range r.findings {
		findings[i] = object{{"lint", f.Lint}, {"severity", f.Severity.String()}, {"file", f.File}, {"line", f.Line},
			{"workload", f.Workload}, {"field", f.Field}, {"problem", f.Problem}, {"remedy", f.Remedy}}
	}
	doc := object{{"files", r.files}, {"workloads", len(r.workloads)}}
	for _, s := range severities {
		doc = append(doc, member{s.String() + "s", lint.Count(r.findings, s)})
	}
	return writeIndented(w, append(doc, member{"findings", findings}))
}

func (r *checkReport) writeCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	_ = c.Write([]string{"file", "line", "severity", "lint", "workload", "field", "problem", "remedy"})
	for _, f := range r.findings {
		_ = c.Write([]string{f.File, strconv.Itoa(f.Line), f.Severity.String(), f.Lint, f.Workload, f.Field, f.Problem, f.Remedy})
	}
	c.Flush()
	return c.Error()
}
