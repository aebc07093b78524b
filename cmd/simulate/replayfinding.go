package main

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/quiesce/quiesce/sim/hunt"
	"github.com/quiesce/quiesce/sim/invariant"
)

// replayFinding makes the run again that a finding names, and tells its story.
func (a *app) replayFinding(file string) error {
	sc, name, err := loadFinding(file)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	_, err = hunt.Try(sc)
	var p *hunt.PanicError
	if errors.As(err, &p) {
		b.WriteString(wrap("", "  ", p.Value))
		return a.broken(&b, "the machine panics")
	}
	if err != nil {
		return misuse("%s: %v", file, err)
	}
	id, err := invariant.Named(name)
	if err != nil {
		fmt.Fprintln(&b, "the machine does not panic any more")
		return a.show(&b)
	}
	story, err := hunt.Tell(sc, id)
	if err != nil {
		return err
	}
	if story == nil {
		fmt.Fprintf(&b, "%s is kept: seed %d under %s does not break it any more\n", name, sc.Finding.Seed, sc.Finding.Policy)
		return a.show(&b)
	}
	fmt.Fprintf(&b, "%s: %s\n\n", name, id.About())
	writeLines(&b, story.Lines)
	writeWhat(&b, story)
	return a.broken(&b, name+" is broken")
}

// broken shows what was composed and reports a finding.
func (a *app) broken(out *bytes.Buffer, what string) error {
	if err := a.show(out); err != nil {
		return err
	}
	return &findingError{what}
}
