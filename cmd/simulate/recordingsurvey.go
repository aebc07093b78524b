package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/realworld/record"
)

// recordingSurvey looks for what of a recording is worth a timeline.
type recordingSurvey struct {
	grace     protocol.Duration
	held      map[protocol.JobKey]bool // jobs that were run
	completed int
	failed    int
	lost      []protocol.JobKey // whose lease was lost
	stop      *record.Step      // the first
	ledger    []protocol.Effect
	exit      protocol.Instant // when it was at rest
	exited    bool
}

func (v *recordingSurvey) see(step *record.Step) {
	if step.Event.Kind == protocol.StopAsked && v.stop == nil {
		s := *step
		v.stop = &s
	}
	for i := range step.Effects {
		switch e := &step.Effects[i]; e.Kind {
		case protocol.Start:
			v.held[e.Job] = true
		case protocol.Line:
			v.ledger = append(v.ledger, *e)
		case protocol.Note:
			if e.Note == protocol.LeaseLost {
				v.lost = append(v.lost, e.Job)
			}
		case protocol.Settle:
			v.settles(&step.Event, e)
		case protocol.Exit:
			v.exit, v.exited = step.At, true
		}
	}
}

// settles counts how executions ended. A settling that is repeated follows no return.
func (v *recordingSurvey) settles(ev *protocol.Event, e *protocol.Effect) {
	returned := ev.Kind == protocol.HandlerReturned || ev.Kind == protocol.UndoReturned
	switch {
	case !returned || ev.Slot != e.Slot:
	case e.Verb == protocol.Ack:
		v.completed++
	case e.Verb == protocol.Fail:
		v.failed++
	}
}

// replayInWords says whether the recording replays.
func replayInWords(r *record.Recording, result *record.Result) string {
	if result.Divergence != nil {
		return fmt.Sprintf("differs at step %d, see below", result.Divergence.Number)
	}
	if r.Header.RulesVersion != protocol.RulesVersion {
		return fmt.Sprintf("rules version %d asks for the same at every step", protocol.RulesVersion)
	}
	return "the machine asks for the same at every step"
}

func endInWords(result *record.Result) string {
	switch {
	case !result.Ended:
		return "none was recorded: the worker was killed, or lives"
	case result.Broke != "":
		return fmt.Sprintf("exit status %d: the machine broke: %s", result.Status, result.Broke)
	default:
		return fmt.Sprintf("exit status %d", result.Status)
	}
}

func (v *recordingSurvey) write(b *bytes.Buffer, r *record.Recording, result *record.Result, path string) {
	h, command := &r.Header, "simulate replay "+quote(path)
	fmt.Fprintf(b, "%s, life %.8s, recorded from %s on\n", h.Seat, h.Life, h.Began.Format("2006-01-02 15:04:05 MST"))
	fact := func(name, text string) { b.WriteString(wrap(fmt.Sprintf("  %-10s", name), "            ", text)) }
	fact("by", fmt.Sprintf("%s, %s, rules version %d", strings.TrimSpace(h.Build), h.Go, h.RulesVersion))
	fact("worker", fmt.Sprintf("%s; %s %s; %s %s; lease %s, heartbeat %s, grace %s, reserve %s",
		plural(h.Slots, "slot"), some(h.Queues, "queue"), strings.Join(h.Queues, ", "), some(h.Kinds, "kind"), strings.Join(h.Kinds, ", "),
		brief(h.Config.Lease), brief(h.Config.Heartbeat), brief(h.Config.Grace), brief(h.Config.Reserve)))
	fact("recording", fmt.Sprintf("%s, %s from %s to %s", plural(len(r.Segments), "file"), plural(int(result.Steps), "step"), clock(result.From), clock(result.Until)))
	if r.Segments[0].First > 1 {
		fact("", fmt.Sprintf("it begins with step %d: what came before is not kept any more", r.Segments[0].First))
	}
	if result.LeftOut > 0 {
		fact("", plural(int(result.LeftOut), "step")+" in between missing: a file was removed, or the disk was too slow")
	}
	if result.Torn != "" {
		fact("", result.Torn)
	}
	for _, torn := range r.Torn {
		fact("", torn+" breaks off before its first step, and is left out")
	}
	fact("jobs", fmt.Sprintf("%s started, %d finished, %d failed, %s lost", plural(len(v.held), "job"), v.completed, v.failed, plural(len(v.lost), "lease")))
	fact("end", endInWords(result))
	fact("replay", replayInWords(r, result))
	v.writeDrain(b, command)
	v.writeHints(b, result, command)
}

func some(all []string, what string) string {
	if len(all) == 1 {
		return what
	}
	return what + "s"
}

func (v *recordingSurvey) writeDrain(b *bytes.Buffer, command string) {
	if v.stop == nil {
		return
	}
	fmt.Fprintf(b, "\nThe drain, from %s on: %s\n", clock(v.stop.At), recordedEvent(v.stop, v.grace))
	counts := map[protocol.Outcome]int{}
	for i := range v.ledger {
		counts[v.ledger[i].Outcome]++
	}
	for o := protocol.WasFinished; o <= protocol.WasUnsettled; o++ {
		if counts[o] > 0 {
			fmt.Fprintf(b, "  %4d %v\n", counts[o], o)
		}
	}
	if v.exited {
		fmt.Fprintf(b, "  at rest after %s\n", brief(v.exit.Sub(v.stop.At)))
	}
	fmt.Fprintf(b, "    %s --from %s\n", command, short(roundSeconds(v.stop.At)))
}

// writeHints names the jobs that came to a bad end, or any.
func (v *recordingSurvey) writeHints(b *bytes.Buffer, result *record.Result, command string) {
	var hints []string
	hint := func(job protocol.JobKey, why string) {
		if line := fmt.Sprintf("  job %d: %s\n    %s --job %d\n", job, why, command, job); job != 0 && len(hints) < shown {
			hints = append(hints, line)
		}
	}
	for _, job := range v.lost {
		hint(job, "its lease was lost")
	}
	for i := range v.ledger {
		if e := &v.ledger[i]; e.Outcome != protocol.WasFinished {
			hint(e.Job, e.Outcome.String()+" by the drain")
		}
	}
	if len(hints) > 0 {
		b.WriteString("\nWorth a look\n" + strings.Join(hints, ""))
	} else if v.stop == nil && result.Steps > 0 {
		fmt.Fprintf(b, "\nAll of it\n    %s --from %s\n", command, short(roundSeconds(result.From)))
	}
}

// document is the overview for machines.
func (v *recordingSurvey) document(r *record.Recording, result *record.Result) object {
	ledger := object{}
	for o := protocol.WasFinished; o <= protocol.WasUnsettled; o++ {
		n := 0
		for i := range v.ledger {
			if v.ledger[i].Outcome == o {
				n++
			}
		}
		if n > 0 {
			ledger = append(ledger, member{o.String(), n})
		}
	}
	doc := object{
		{"recording", r.Header}, {"steps", result.Steps}, {"from_seconds", number(float64(result.From) / 1e9)}, {"until_seconds", number(float64(result.Until) / 1e9)},
		{"steps_left_out", result.LeftOut}, {"torn", result.Torn}, {"ended", result.Ended}, {"status", result.Status}, {"broke", result.Broke},
		{"replay_rules_version", protocol.RulesVersion}, {"ledger", ledger},
	}
	if d := result.Divergence; d != nil {
		then := []string{}
		for _, e := range d.Recorded {
			then = append(then, e.String())
		}
		now := []string{}
		for i := range d.Effects {
			now = append(now, record.Of(&d.Effects[i]).String())
		}
		return append(doc, member{"divergence", object{
			{"step", d.Number}, {"at_seconds", number(float64(d.At) / 1e9)}, {"what", d.What}, {"event", d.Event.Kind.String()},
			{"recorded", then}, {"computed", now}, {"rule", d.Rule.Number}, {"functions", d.Rule.Functions},
		}})
	}
	return append(doc, member{"divergence", nil})
}
