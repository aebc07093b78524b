package main

import (
	"bytes"
	"fmt"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim/lab"
)

// broken is a promise of the protocol that was seen to be broken under a policy.
type broken struct {
	policy    string
	invariant string
	runs      int   // in which it was
	times     int64 // over all of them
	expected  bool  // the policy has faults built in, or is a real queue: it is part of the price
	seed      uint64
	at        protocol.Instant // the first time, in the run of that seed
	text      string
}

// brokenIn gathers what was broken over all runs, by policy and then as it was first met.
func brokenIn(results *lab.Results) []broken {
	var all []broken
	for p, rows := range results.Rows {
		first := len(all)
		for s, row := range rows {
			for _, b := range row.Broken {
				k := first
				for k < len(all) && all[k].invariant != b.Invariant {
					k++
				}
				if k == len(all) {
					all = append(all, broken{
						policy: results.Policies[p], invariant: b.Invariant, expected: b.Expected,
						seed: results.Seeds[s], at: b.At, text: b.Text,
					})
				}
				all[k].runs++
				all[k].times += b.Times
			}
		}
	}
	return all
}

// finding is the error of a report in which something is broken that must not be, or nil.
func (r *report) finding() error {
	for _, b := range r.broken {
		if !b.expected {
			return &findingError{fmt.Sprintf("%s is broken under %s: seed %d, at %v: %s", b.invariant, b.policy, b.seed, b.at, b.text)}
		}
	}
	return nil
}

// writeBroken says which promises are broken, the unexpected first.
func (r *report) writeBroken(b *bytes.Buffer) {
	for _, part := range []struct {
		title    string
		expected bool
	}{{"Broken promises", false}, {"Promises that are broken on purpose, or by the queue as it is", true}} {
		var lines []string
		for _, x := range r.broken {
			if x.expected == part.expected {
				lines = append(lines, fmt.Sprintf("under %s %s, in %s of %d: %s (seed %d, at %v)", x.policy, x.invariant, plural(x.runs, "run"), r.seeds, x.text, x.seed, x.at))
			}
		}
		if len(lines) == 0 {
			continue
		}
		b.WriteString(part.title + "\n")
		for _, l := range lines {
			b.WriteString(wrap("  - ", "    ", l))
		}
		b.WriteByte('\n')
	}
}

// brokenObject lists what is broken under one policy.
func (r *report) brokenObject(policy string) []object {
	all := []object{}
	for _, b := range r.broken {
		if b.policy == policy {
			all = append(all, object{{"invariant", b.invariant}, {"expected", b.expected}, {"runs", b.runs}, {"times", b.times},
				{"seed", b.seed}, {"at_seconds", number(float64(b.at) / 1e9)}, {"text", b.text}})
		}
	}
	return all
}

// firstFinding is the first finding of several reports.
func firstFinding(all []*report) error {
	for _, r := range all {
		if err := r.finding(); err != nil {
			return err
		}
	}
	return nil
}
