package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/model/offered"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim/lab"
)

// fact is one part of the world, in words.
type fact struct{ name, text string }

// describe says in words what world the numbers are about.
func describe(sc *model.Scenario) []fact {
	facts := []fact{
		{"fleet", fleetInWords(sc)},
		{"queue", queueInWords(&sc.Queue)},
		{"jobs", jobsInWords(sc)},
		{"deploys", deploysInWords(sc)},
	}
	if f := faultsInWords(&sc.Faults); f != "" {
		facts = append(facts, fact{"faults", f})
	}
	return facts
}

func fleetInWords(sc *model.Scenario) string {
	s := fmt.Sprintf("%s × %s", plural(sc.Fleet.Workers, "worker"), plural(sc.Fleet.Slots, "slot"))
	if n := sc.Fleet.Prefetch; n > 0 {
		s += fmt.Sprintf(" and %s waiting in each", plural(n, "more job"))
	}
	if sc.Fleet.Start != nil {
		s += ", up " + distribution(sc.Fleet.Start) + " after the start"
	}
	sup := sc.Supervisor
	return s + "; " + supervisorInWords(sup)
}

func supervisorInWords(sup model.Supervisor) string {
	title := strings.TrimPrefix(sup.Kind.Habits().Title, "a ")
	grace := "no SIGKILL at all"
	if sup.Allowed() != protocol.Forever {
		grace = "grace " + short(sup.Allowed())
	}
	s := title + ", " + grace
	switch {
	case sup.PreStop <= 0:
	case sup.Kind == model.Kubernetes:
		s += ", of it preStop " + short(sup.PreStop)
	case sup.Kind == model.Systemd || sup.Kind == model.Nomad:
		s += ", after " + sup.Kind.Habits().Before + " " + short(sup.PreStop)
	}
	if sig := sup.StopSignal(); sig != protocol.SIGTERM {
		s += ", " + model.SignalName(sig)
	}
	return s
}

func queueInWords(q *model.Queue) string {
	s := fmt.Sprintf("lease %s, heartbeat %s", short(q.Lease), short(q.Heartbeat))
	if q.Heartbeat == model.NoHeartbeat {
		s = fmt.Sprintf("lease %s, never renewed", short(q.Lease))
	}
	switch {
	case q.CountAtClaim && q.MaxAttempts == 0:
		s += "; attempts are counted at the claim"
	case q.CountAtClaim:
		s += fmt.Sprintf("; attempts are counted at the claim, dead letter after %d", q.MaxAttempts)
	case q.MaxFailures > 0:
		s += fmt.Sprintf("; dead letter after %s", plural(q.MaxFailures, "failure"))
	}
	if q.Poison > 0 {
		s += fmt.Sprintf(" or %s in a row", plural(q.Poison, "expiry"))
	}
	if q.MaxClaims > 0 {
		s += fmt.Sprintf("; at most %s at once", plural(q.MaxClaims, "claim"))
	}
	if q.Poll > 0 {
		s += "; idle workers ask every " + short(q.Poll)
	}
	if q.InStep {
		s += ", in step"
	}
	switch q.Counted {
	case model.CountedByRun:
		s += "; every run counts its batch down"
	case model.CountedAfterAck:
		s += "; batches are counted down after the ack"
	}
	if q.Service > 0 {
		s += "; a call keeps the broker busy for " + short(q.Service)
	}
	switch q.OnExpiry {
	case model.QuarantineExpired:
		s += "; an expired job is quarantined"
	case model.BuryExpired:
		s += "; an expired job is dead-lettered"
	}
	return s
}

func jobsInWords(sc *model.Scenario) string {
	if sc.Trace != nil {
		return fmt.Sprintf("from the trace, %s", plural(len(sc.Jobs), "kind"))
	}
	rate, busy := offered.Load(sc)
	s := fmt.Sprintf("%s, %s each on average", perTime(rate), prose(busy/rate))
	if n := len(sc.Jobs); n > 1 {
		s += fmt.Sprintf(", of %d kinds", n)
	}
	for i := range sc.Jobs {
		if n := sc.Jobs[i].Batch; n > 0 {
			s += fmt.Sprintf("; those of %s come in batches of %s", sc.Jobs[i].Name, commas(float64(n)))
		}
	}
	if load := lab.Load(sc); !math.IsNaN(load) {
		s += fmt.Sprintf("; they keep %s of the slots busy", percent(load))
	}
	return s
}

// perTime writes a rate in the largest unit that gives at least one.
func perTime(perSecond float64) string {
	switch {
	case perSecond >= 1:
		return threeDigits(perSecond) + " a second"
	case perSecond*60 >= 1:
		return threeDigits(perSecond*60) + " a minute"
	default:
		return threeDigits(perSecond*3600) + " an hour"
	}
}

func deploysInWords(sc *model.Scenario) string {
	d := &sc.Deploys
	var parts []string
	if d.Every > 0 {
		every := "every " + short(d.Every)
		if d.Count > 0 {
			every += fmt.Sprintf(", %d of them", d.Count)
		}
		parts = append(parts, every)
	}
	switch n := len(d.At); {
	case n == 1:
		parts = append(parts, "one at "+short(protocol.Duration(d.At[0])))
	case n > 1:
		parts = append(parts, fmt.Sprintf("%d between %s and %s", n, short(roundSeconds(d.At[0])), short(roundSeconds(d.At[n-1]))))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", and ") + "; " + rolloutInWords(&sc.Supervisor.Rollout)
}

func rolloutInWords(r *model.Rollout) string {
	switch r.Strategy {
	case model.Recreate:
		return "all old workers are stopped before the first new one starts"
	case model.OneByOne:
		s := "workers are replaced one by one, the last seat first"
		if r.Partition > 0 {
			s += fmt.Sprintf(", down to seat %d", r.Partition)
		}
		return s
	case model.OnDelete:
		return "nothing is stopped; whatever restarts is new"
	default:
		return fmt.Sprintf("rolling update, max surge %s, max unavailable %s", intOrPercent(r.MaxSurge), intOrPercent(r.MaxUnavailable))
	}
}

func intOrPercent(v model.IntOrPercent) string {
	if v.Percent {
		return fmt.Sprintf("%d%%", v.Value)
	}
	return fmt.Sprint(v.Value)
}

func faultsInWords(f *model.Faults) string {
	var parts []string
	if f.Crash > 0 {
		parts = append(parts, "each worker crashes every "+short(f.Crash)+" on average")
	}
	for _, s := range []struct {
		what  string
		spell model.Spell
	}{{"each worker stands still", f.Pause}, {"each worker is cut off", f.Partition}, {"the broker is slow", f.Slow}} {
		if s.spell.Every > 0 {
			parts = append(parts, fmt.Sprintf("%s for %s every %s on average", s.what, distribution(s.spell.Length), short(s.spell.Every)))
		}
	}
	if f.Forget > 0 {
		parts = append(parts, fmt.Sprintf("the broker forgets its last %s every %s on average", short(f.ForgetFor), short(f.Forget)))
	}
	if f.Drill > 0 {
		parts = append(parts, fmt.Sprintf("%s of drains killed on purpose", percent(float64(f.Drill)/1e9)))
	}
	if f.Liveness > 0 {
		parts = append(parts, "a liveness probe kills what drains for "+short(f.Liveness))
	}
	if f.Evict.Every > 0 {
		parts = append(parts, fmt.Sprintf("each worker is evicted with grace %s every %s on average", short(f.Evict.Grace), short(f.Evict.Every)))
	}
	if f.Preempt.Every > 0 {
		parts = append(parts, fmt.Sprintf("each worker is preempted with notice %s every %s on average", short(f.Preempt.Notice), short(f.Preempt.Every)))
	}
	if in := &f.ScaleIn; in.Every > 0 {
		who := "random"
		if in.IdleFirst {
			who = "idle ones first"
		}
		parts = append(parts, fmt.Sprintf("%s (%s) scaled in every %s for %s", plural(in.Workers, "worker"), who, short(in.Every), short(in.Back)))
	}
	if f.DriftPPM > 0 {
		parts = append(parts, fmt.Sprintf("clocks drift by up to %d ppm", f.DriftPPM))
	}
	if text := recordedFaults(f.Trace); text != "" {
		parts = append(parts, text)
	}
	net := &f.Network
	if net.Latency != nil {
		parts = append(parts, "latency "+distribution(net.Latency))
	}
	if net.Loss > 0 {
		parts = append(parts, fmt.Sprintf("%s of messages lost", percent(float64(net.Loss)/1e9)))
	}
	if net.Duplicate > 0 {
		parts = append(parts, fmt.Sprintf("%s doubled", percent(float64(net.Duplicate)/1e9)))
	}
	return strings.Join(parts, "; ")
}

// recordedFaults counts the faults of a trace by kind: 3 recorded (2 crash, 1 pause).
func recordedFaults(trace model.FaultTrace) string {
	if trace == nil {
		return ""
	}
	stream, err := trace.Open()
	if err != nil {
		return "" // The run meets the error again.
	}
	defer stream.Close() // Only read from: closing it cannot lose anything.
	var counts [model.NodePreempt + 1]int
	n := 0
	for f, ok, err := stream.Next(); ok && err == nil; f, ok, err = stream.Next() {
		counts[f.Kind]++
		n++
	}
	var kinds []string
	for kind, n := range counts {
		if n > 0 {
			kinds = append(kinds, commas(float64(n))+" "+model.FaultKind(kind).String())
		}
	}
	return fmt.Sprintf("%s recorded (%s)", commas(float64(n)), strings.Join(kinds, ", "))
}

// distribution writes a duration that differs from case to case by its median and tail.
func distribution(t *dist.Table) string {
	if t.Min() == t.Max() {
		return short(protocol.Duration(t.Max()))
	}
	return fmt.Sprintf("%s (p99 %s)", prose(float64(t.Quantile(1, 2))/1e9), prose(float64(t.Quantile(99, 100))/1e9))
}

func plural(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "sh"), strings.HasSuffix(what, "ss"):
		return commas(float64(n)) + " " + what + "es"
	case strings.HasSuffix(what, "ry"):
		return commas(float64(n)) + " " + strings.TrimSuffix(what, "y") + "ies"
	default:
		return commas(float64(n)) + " " + what + "s"
	}
}
