package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quiesce/quiesce/sim/hunt"
	"github.com/quiesce/quiesce/sim/invariant"
)

func (a *app) explainCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "explain FINDING",
		Short: "Say what a finding hangs on, and from when on it was inevitable",
		Long: `Say what a finding hangs on, and from when on it was inevitable.

FINDING is a scenario file that simulate hunt left. Everything about its run is varied, one thing
at a time: what may vary freely is no part of the cause. Then the run is made as it was up to each
line of its story, and lets chance, and the faults that are still to come, be others from there:
from the line on after which no future saves it, it was inevitable.`,
		Example: `  simulate explain findings/no-job-lost-1415.yaml`,
		Args:    cobra.ArbitraryArgs,
		RunE:    func(_ *cobra.Command, args []string) error { return a.explain(args, format) },
	}
	cmd.Flags().Var(formatFlag(&format, asTable, asJSON), "format", "how the result is printed")
	return cmd
}

func (a *app) explain(args []string, format string) error {
	if len(args) != 1 {
		return misuse("explain takes one finding; write simulate explain findings/FILE.yaml")
	}
	sc, name, err := loadFinding(args[0])
	if err != nil {
		return err
	}
	if name == "panic" {
		return misuse("%s is a panic of the machine, and says itself where; simulate replay %s shows it", args[0], quote(args[0]))
	}
	id, err := invariant.Named(name)
	if err != nil {
		return err
	}
	o, err := hunt.Try(sc)
	if err != nil {
		return misuse("%s: %v", args[0], err)
	}
	if o.Broke(id) == nil {
		return misuse("%s is not broken any more in %s; there is nothing to explain", name, args[0])
	}
	e, err := hunt.Explain(sc, id)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if format == asJSON {
		if err := writeIndented(&b, explanationObject(name, e)); err != nil {
			return err
		}
	} else {
		writeExplanation(&b, name, e)
	}
	return a.show(&b)
}

func writeExplanation(b *bytes.Buffer, name string, e *hunt.Explanation) {
	fmt.Fprintf(b, "%s\n\n", name)
	writeLines(b, e.Story.Lines[:e.Inevitable])
	b.WriteString(wrap("  -- ", "     ", fmt.Sprintf("from here on it was inevitable: none of %d other futures saved it", e.Futures)))
	writeLines(b, e.Story.Lines[e.Inevitable:])
	writeWhat(b, e.Story)
	b.WriteString("\nWhat it hangs on\n")
	some := false
	for _, f := range e.Facts {
		if !f.Free() {
			some = true
			b.WriteString(wrap("  - ", "    ", fmt.Sprintf("%s: it is saved by %s", f.What, strings.Join(f.SavedBy, ", "))))
		}
	}
	if !some {
		b.WriteString("  nothing that was varied saves it\n")
	}
	b.WriteString("What may vary freely\n")
	for _, f := range e.Facts {
		if f.Free() {
			b.WriteString(wrap("  - ", "    ", fmt.Sprintf("%s (%d others tried)", f.What, f.Tried)))
		}
	}
}

func explanationObject(name string, e *hunt.Explanation) object {
	facts := []object{}
	for _, f := range e.Facts {
		facts = append(facts, object{{"what", f.What}, {"free", f.Free()}, {"tried", f.Tried}, {"saved_by", list(f.SavedBy)}})
	}
	what, story := storyObjects(e.Story)
	return object{{"invariant", name}, {"what", what}, {"story", story}, {"inevitable_from", e.Inevitable}, {"futures", e.Futures}, {"facts", facts}}
}
