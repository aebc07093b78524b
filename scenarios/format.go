package scenarios

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
)

// Format writes a scenario as a file that [Parse] reads as the same one: the same runs follow
// from it. It cannot write what comes from other files (traces, empirical distributions), nor
// the settings of a real queue, and says so.
func Format(s *model.Scenario) ([]byte, error) {
	w := &writer{}
	w.line("name: %s", s.Name)
	if s.About != "" {
		w.line("about: %s", strconv.Quote(s.About))
	}
	w.line("duration: %v", s.Duration)
	w.line("warmup: %v", s.Warmup)
	w.line("fleet: {workers: %d, slots: %d, prefetch: %d, start: %s}", s.Fleet.Workers, s.Fleet.Slots, s.Fleet.Prefetch, w.law(s.Fleet.Start))
	w.queue(&s.Queue)
	w.jobs(s)
	w.supervisor(&s.Supervisor)
	w.deploys(&s.Deploys)
	w.faults(&s.Faults)
	w.policies(s)
	w.finding(s.Finding)
	if w.problem != "" {
		return nil, fmt.Errorf("scenarios: %s cannot be written as a file: %s", s.Name, w.problem)
	}
	return []byte(w.b.String()), nil
}

// writer collects lines, and the first thing that has no way to be written.
type writer struct {
	b       strings.Builder
	problem string
}

func (w *writer) line(format string, args ...any) { fmt.Fprintf(&w.b, format+"\n", args...) }

func (w *writer) lineIf(is bool, format string, args ...any) {
	if is {
		w.line(format, args...)
	}
}

func (w *writer) cannot(what string) {
	if w.problem == "" {
		w.problem = what
	}
}

// entries are those of a mapping in flow style; what is left out is the default.
type entries []string

func (e *entries) add(format string, args ...any) { *e = append(*e, fmt.Sprintf(format, args...)) }

func (e *entries) addIf(is bool, format string, args ...any) {
	if is {
		e.add(format, args...)
	}
}

func (e entries) String() string { return "{" + strings.Join(e, ", ") + "}" }

var lawPattern = regexp.MustCompile(`^([a-z]+)\((.*)\)$`)

// law writes a distribution by the text that it has of itself.
func (w *writer) law(t *dist.Table) string {
	if t == nil {
		return "0s"
	}
	m := lawPattern.FindStringSubmatch(t.String())
	switch {
	case m == nil || m[1] == "empirical":
		w.cannot("a distribution is " + t.String())
		return ""
	case m[1] == "constant":
		return m[2]
	default:
		return "{" + m[1] + ": {" + strings.ReplaceAll(m[2], "=", ": ") + "}}"
	}
}

// gaps writes when jobs arrive.
func (w *writer) gaps(t *dist.Table) string {
	text := w.law(t)
	if !strings.HasPrefix(text, "{") {
		return "{every: " + text + "}"
	}
	return text
}

// percent writes a probability, which is a whole number of billionths.
func percent(p model.PPB) string {
	const one = model.Certain / 100
	text := fmt.Sprintf("%d.%07d", p/one, p%one)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + "%"
}

func (w *writer) queue(q *model.Queue) {
	if q.Habits != (model.Habits{MaxClaims: q.MaxClaims}) || q.InStep || q.Counted != model.CountedByJob || q.Heartbeat == model.NoHeartbeat {
		w.cannot("the queue has settings of a real one")
	}
	var e entries
	e.add("lease: %v", q.Lease)
	e.add("heartbeat: %v", q.Heartbeat)
	e.addIf(q.Margin > 0, "margin: %v", q.Margin)
	e.addIf(q.DriftPPM > 0, "drift: %dppm", q.DriftPPM)
	e.addIf(q.Park != 0, "long_poll: %v", max(q.Park, 0))
	e.addIf(q.Poll > 0, "poll: %v", q.Poll)
	e.addIf(q.Service > 0, "service: %v", q.Service)
	e.add("max_failures: %d", q.MaxFailures)
	e.add("poison: %d", q.Poison)
	e.addIf(q.Starving > 0, "starving: %d", q.Starving)
	e.add("backoff: {min: %v, max: %v}", q.Backoff.Min, q.Backoff.Max)
	e.addIf(q.CountAtClaim, "count_at_claim: true, max_attempts: %d", q.MaxAttempts)
	e.addIf(q.SweepPeriod > 0, "sweep: {period: %v, slack: %v}", q.SweepPeriod, q.SweepSlack)
	e.addIf(q.MaxClaims > 0, "max_claims: %d", q.MaxClaims)
	for name, v := range onExpiry {
		e.addIf(v == q.OnExpiry && v != model.Redeliver, "on_expiry: %s", name)
	}
	e.add("max_message_age: %v", q.MaxMessageAge)
	w.line("queue: %v", e)
}

func (w *writer) jobs(s *model.Scenario) {
	if s.Trace != nil {
		w.cannot("its jobs come from a trace")
		return
	}
	w.line("jobs:")
	for i := range s.Jobs {
		j := &s.Jobs[i]
		var e entries
		e.add("arrivals: %s", w.gaps(j.Arrivals))
		e.add("duration: %s", w.law(j.Work))
		e.addIf(j.Count > 0, "count: %d", j.Count)
		e.addIf(j.Checkpoint > 0, "checkpoint: %v", j.Checkpoint)
		e.add("gap: %v", j.Declared)
		e.addIf(j.Undo > 0, "undo: %v", j.Undo)
		for _, c := range []struct {
			key string
			p   model.PPB
		}{{"undo_fails", j.UndoFails}, {"deaf", j.Deaf}, {"cpu_bound", j.CPUBound}, {"fails", j.Fails}, {"oom", j.OOM}} {
			e.addIf(c.p > 0, "%s: %s", c.key, percent(c.p))
		}
		e.addIf(j.Save > 0, "save: %v", j.Save)
		e.addIf(j.Flush, "flush: true")
		e.addIf(j.Batch > 0, "batch: %d", j.Batch)
		e.addIf(j.Effects != 1, "effects: %d", j.Effects)
		e.addIf(j.Timeout > 0, "timeout: %v", j.Timeout)
		e.addIf(j.Version != 1, "version: %d", j.Version)
		e.addIf(j.NewVersion != j.Version, "new_version: %d", j.NewVersion)
		w.line("  %s: %v", j.Name, e)
	}
}

func (w *writer) supervisor(s *model.Supervisor) {
	h := s.Kind.Habits()
	var e entries
	e.add("kind: %s", h.Name)
	e.addIf(!h.Fixed(), "grace: %v", s.Grace)
	e.addIf(s.PreStop > 0, "%s: %v", h.Before, s.PreStop)
	e.addIf(s.Tells, "prestop_tells: true")
	e.addIf(s.Signal != 0, "signal: %s", model.SignalName(s.Signal))
	e.addIf(s.Repeat > 0, "repeat: %v", s.Repeat)
	var r entries
	for name, v := range strategies {
		r.addIf(v == s.Rollout.Strategy, "strategy: %s", name)
	}
	share := func(v model.IntOrPercent) string {
		if v.Percent {
			return fmt.Sprintf("%d%%", v.Value)
		}
		return strconv.Itoa(v.Value)
	}
	switch s.Rollout.Strategy {
	case model.RollingUpdate:
		r.add("max_surge: %s", share(s.Rollout.MaxSurge))
		r.add("max_unavailable: %s", share(s.Rollout.MaxUnavailable))
	case model.OneByOne:
		r.addIf(s.Rollout.Partition > 0, "partition: %d", s.Rollout.Partition)
	}
	e.add("rollout: %v", r)
	w.line("supervisor: %v", e)
}

func (w *writer) deploys(d *model.Deploys) {
	var e entries
	e.addIf(d.Every > 0, "every: %v", d.Every)
	e.addIf(d.Every > 0 && d.Count > 0, "count: %d", d.Count)
	var at []string
	for _, t := range d.At {
		at = append(at, t.String())
	}
	e.addIf(len(at) > 0, "at: [%s]", strings.Join(at, ", "))
	w.lineIf(len(e) > 0, "deploys: %v", e)
}

func (w *writer) faults(f *model.Faults) {
	if f.Trace != nil {
		w.cannot("its faults come from a trace")
	}
	w.line("faults:")
	spell := func(key string, s *model.Spell, more string) {
		if s.Every > 0 {
			w.line("  %s: {every: %v, length: %s%s}", key, s.Every, w.law(s.Length), more)
		}
	}
	w.lineIf(f.Crash > 0, "  crash: {mtbf: %v}", f.Crash)
	spell("pause", &f.Pause, "")
	spell("partition", &f.Partition, "")
	spell("slow", &f.Slow, fmt.Sprintf(", by: %v", f.SlowBy))
	w.lineIf(f.Forget > 0, "  failover: {every: %v, forgets: %v}", f.Forget, f.ForgetFor)
	w.lineIf(f.DriftPPM > 0, "  drift: %dppm", f.DriftPPM)
	w.lineIf(f.Drill > 0, "  drill: %s", percent(f.Drill))
	w.lineIf(f.Liveness > 0, "  liveness: %v", f.Liveness)
	w.lineIf(f.Evict.Every > 0, "  eviction: {every: %v, grace: %v}", f.Evict.Every, f.Evict.Grace)
	w.lineIf(f.Preempt.Every > 0, "  preemption: {every: %v, notice: %v}", f.Preempt.Every, f.Preempt.Notice)
	if in := &f.ScaleIn; in.Every > 0 {
		victims := "random"
		if in.IdleFirst {
			victims = "idle"
		}
		w.line("  scale_in: {every: %v, workers: %d, back: %v, victims: %s}", in.Every, in.Workers, in.Back, victims)
	}
	var n entries
	n.add("latency: %s", w.law(f.Network.Latency))
	n.addIf(f.Network.Loss > 0, "loss: %s", percent(f.Network.Loss))
	n.addIf(f.Network.Duplicate > 0, "duplicate: %s", percent(f.Network.Duplicate))
	w.line("  network: %v", n)
	w.lineIf(len(f.At) > 0, "  at:")
	for _, x := range f.At {
		var e entries
		e.add("time: %v", x.At)
		e.addIf(x.Node > 0, "seat: %d", x.Node)
		e.add("kind: %v", x.Kind)
		e.addIf(x.Length > 0, "length: %v", x.Length)
		w.line("    - %v", e)
	}
}

func (w *writer) policies(s *model.Scenario) {
	w.line("policies:")
	for _, name := range s.Policies {
		w.line("  - %s", w.column(s, name))
	}
}

// column writes a policy, or a variant as a policy with faults in it.
func (w *writer) column(s *model.Scenario, name string) string {
	v := s.Variant(name)
	if _, err := model.PresetNamed(name); err == nil && len(v.Preset.Faults()) == 0 {
		return name
	}
	for _, base := range model.PresetNames() {
		p, err := model.PresetNamed(base)
		if err == nil && p.Policy == v.Policy && p.Rescue == v.Rescue && p.Reserve == v.Reserve && v.Queue == nil && !v.Foreign {
			return fmt.Sprintf("{name: %s, policy: %s, unsafe: [%s]}", name, base, strings.Join(v.Preset.Faults(), ", "))
		}
	}
	w.cannot("policy " + name + " is none of the presets")
	return ""
}

func (w *writer) finding(f *model.Finding) {
	if f == nil {
		return
	}
	w.line("finding:")
	w.line("  policy: %s", f.Policy)
	w.line("  seed: %d", f.Seed)
	w.line("  invariant: %s", f.Invariant)
	var list []string
	for _, o := range f.Overrides {
		list = append(list, fmt.Sprintf("%s/%d/%d=%d", o.Stream, o.Entity, o.Index, o.Value))
	}
	w.lineIf(len(list) > 0, "  overrides: [%s]", strings.Join(list, ", "))
}
