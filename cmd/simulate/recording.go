package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/realworld/record"
)

// replayRecording steps through the flight recording of a worker.
func (a *app) replayRecording(cmd *cobra.Command, path string, s *selection) error {
	for _, name := range []string{"seed", "policy", "jobs", "map", "manifest", "select", "worker", "deploy"} {
		if cmd.Flags().Changed(name) {
			return misuse("--%s is for the run of a scenario, and %s is the recording of one worker; leave it out", name, path)
		}
	}
	r, err := record.Read(path)
	if err != nil {
		return err
	}
	if s.export.asked() {
		return a.exportRecording(cmd, r, s)
	}
	asked := false
	for _, name := range []string{"job", "from", "until"} {
		asked = asked || cmd.Flags().Changed(name)
	}
	if asked || s.format == asCSV {
		return a.recordingTimeline(r, path, s)
	}
	return a.recordingOverview(r, path, s)
}

// recordingTimeline prints what happened to the worker, or to one of its jobs.
func (a *app) recordingTimeline(r *record.Recording, path string, s *selection) error {
	t := newTimeline(a.stdout, fmt.Sprintf("%s, life %.8s, recorded from %s on", r.Header.Seat, r.Header.Life, r.Header.Began.Format("2006-01-02 15:04:05 MST")), s)
	w := recordingWatch{out: t, job: protocol.JobKey(max(s.job, 0)), all: s.job < 0, grace: r.Header.Config.Grace}
	result, err := r.Replay(func(step *record.Step) bool {
		if step.At > s.until {
			return false
		}
		w.see(step)
		return !t.failed()
	})
	if err != nil {
		_ = t.flush()
		return err
	}
	if err := t.flush(); err != nil {
		return fmt.Errorf("the timeline cannot be written to stdout: %w", err)
	}
	if result.Divergence != nil {
		if s.format == asTable {
			fmt.Fprintln(a.stdout)
			a.writeDivergence(r, result, path)
		}
		return divergence(r, result)
	}
	if t.lines > 0 {
		return nil
	}
	switch {
	case s.job >= 0 && !w.seen:
		return misuse("--job %d: this worker had nothing to do with it from %s to %s", s.job, clock(result.From), clock(result.Until))
	default:
		return misuse("nothing happened between --from %v and --until %v; the recording has %s to %s", s.from, s.until, clock(result.From), clock(result.Until))
	}
}

// divergence is the finding that a replay is not what was recorded.
func divergence(r *record.Recording, result *record.Result) error {
	d := result.Divergence
	return &findingError{fmt.Sprintf("the replay differs from the recording at step %d, %s: %s", d.Number, clock(d.At), d.What)}
}

// recordingOverview says whose recording it is, whether it replays, and what of it is worth
// a timeline.
func (a *app) recordingOverview(r *record.Recording, path string, s *selection) error {
	v := recordingSurvey{grace: r.Header.Config.Grace, held: map[protocol.JobKey]bool{}}
	result, err := r.Replay(func(step *record.Step) bool { v.see(step); return true })
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if s.format == asJSON {
		err = writeIndented(&b, v.document(r, result))
	} else {
		v.write(&b, r, result, path)
	}
	if err == nil {
		err = a.show(&b)
	}
	if err != nil || result.Divergence == nil {
		return err
	}
	if s.format == asTable {
		fmt.Fprintln(a.stdout)
		a.writeDivergence(r, result, path)
	}
	return divergence(r, result)
}

// writeDivergence says all that is known about the first step that differs.
func (a *app) writeDivergence(r *record.Recording, result *record.Result, path string) {
	d := result.Divergence
	var b strings.Builder
	b.WriteString(wrap("", "  ", fmt.Sprintf("Step %d, %s: %s", d.Number, clock(d.At), d.What)))
	fact := func(name, text string) { b.WriteString(wrap(fmt.Sprintf("  %-9s", name), "           ", text)) }
	text := recordedEvent(&d.Step, r.Header.Config.Grace)
	if text == "" {
		text = d.Event.Kind.String()
	}
	fact("event", text)
	then := make([]string, len(d.Recorded))
	for i, e := range d.Recorded {
		then[i] = e.String()
	}
	now := make([]string, len(d.Effects))
	for i := range d.Effects {
		now[i] = record.Of(&d.Effects[i]).String()
	}
	fact("then", joined(then))
	fact("now", joined(now))
	if strings.Join(then, ";") == strings.Join(now, ";") && len(then) > 0 {
		fact("", "the same in kind: an instant, a token or another number in them differs")
	}
	if d.Rule.Number > 0 {
		fact("rule", fmt.Sprintf("%d. %s (%s)", d.Rule.Number, d.Rule.Name, d.Rule.Functions))
	}
	fact("versions", versionsInWords(r))
	fmt.Fprintf(&b, "\nWhat led to it\n    simulate replay %s --from %s --until %s\n", quote(path), short(roundSeconds(max(d.At-protocol.Instant(10*protocol.Second), 0))), short(protocol.Duration(d.At)))
	fmt.Fprint(a.stdout, b.String())
}

func joined(all []string) string {
	if len(all) == 0 {
		return "nothing"
	}
	return strings.Join(all, "; ")
}

func versionsInWords(r *record.Recording) string {
	if r.Header.RulesVersion != protocol.RulesVersion {
		return fmt.Sprintf("recorded under rules version %d, replayed under %d: the rules have changed in between", r.Header.RulesVersion, protocol.RulesVersion)
	}
	return fmt.Sprintf("recorded and replayed under rules version %d: one of the two does not keep the rules, or the recording is of a modified build (%s)", protocol.RulesVersion, strings.TrimSpace(r.Header.Build))
}
