package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
)

// redisReport is what bench redis prints.
type redisReport struct {
	Machine string       `json:"machine"`
	Rounds  int          `json:"rounds"`
	Work    []workRow    `json:"work"`
	Enqueue []enqueueRow `json:"enqueue"`
	Latency []latencyRow `json:"latency"`
	Memory  []memoryRow  `json:"memory"`
	Goals   []goal       `json:"goals"`
	Failed  []string     `json:"failed"` // measurements that did not come to an end
	Skipped []string     `json:"skipped"`
}

// workRow is of no-op jobs from enqueued to acked. Rates are the best of all rounds and
// processor times the least, which other load has disturbed least; the ratio is the median of
// those within the rounds.
type workRow struct {
	System string `json:"system"`
	Slots  int    `json:"slots"`
	rate
	OfLimit float64 `json:"of_bare_scripts,omitempty"`
	ratios  []float64
}

type enqueueRow struct {
	System string `json:"system"`
	How    string `json:"how"`
	rate
}

type latencyRow struct {
	System    string `json:"system"`
	PerSecond int    `json:"jobs_per_second"`
	waits            // the median of the rounds
	all       []waits
}

type memoryRow struct {
	System string  `json:"system"`
	Bytes  float64 `json:"bytes_per_job"`
}

// goal is something to reach.
type goal struct {
	Goal     string `json:"goal"`
	Measured string `json:"measured"`
	Met      bool   `json:"met"`
}

// rowOf returns the row that is, or a new one.
func rowOf[T any](rows *[]T, is func(*T) bool) *T {
	for i := range *rows {
		if is(&(*rows)[i]) {
			return &(*rows)[i]
		}
	}
	*rows = append(*rows, *new(T))
	return &(*rows)[len(*rows)-1]
}

// keep keeps the best of what was measured.
func (r *rate) keep(got rate) {
	if r.PerSecond == 0 {
		*r = got
		return
	}
	r.PerSecond = max(r.PerSecond, got.PerSecond)
	r.PerCall = max(r.PerCall, got.PerCall)
	r.ServerCPU, r.ClientCPU = min(r.ServerCPU, got.ServerCPU), min(r.ClientCPU, got.ClientCPU)
}

func (r *redisReport) keepWaits(system string, perSecond int, got waits) {
	row := rowOf(&r.Latency, func(l *latencyRow) bool { return l.System == system && l.PerSecond == perSecond })
	row.System, row.PerSecond = system, perSecond
	row.all = append(row.all, got)
}

func median(of []float64) float64 {
	if len(of) == 0 {
		return 0
	}
	of = slices.Sorted(slices.Values(of))
	return (of[(len(of)-1)/2] + of[len(of)/2]) / 2
}

// finish computes what all rounds say together.
func (r *redisReport) finish() {
	for i := range r.Work {
		r.Work[i].OfLimit = median(r.Work[i].ratios)
	}
	for i := range r.Latency {
		l := &r.Latency[i]
		var p50, p99 []float64
		for _, w := range l.all {
			p50, p99 = append(p50, w.P50), append(p99, w.P99)
		}
		l.waits = waits{median(p50), median(p99)}
	}
	r.Goals = r.goals()
}

func (r *redisReport) work(system string, slots int) (workRow, bool) {
	i := slices.IndexFunc(r.Work, func(w workRow) bool { return w.System == system && w.Slots == slots })
	if i < 0 {
		return workRow{}, false
	}
	return r.Work[i], true
}

// best is the faster of the settings of the worker in which everything is on.
func (r *redisReport) best(slots int) (workRow, bool) {
	w, ok := r.work("quiesce", slots)
	if one, is := r.work(oneThreadName, slots); is && one.PerSecond > w.PerSecond {
		return one, ok
	}
	return w, ok
}

func (r *redisReport) latency(system string, perSecond int) (latencyRow, bool) {
	i := slices.IndexFunc(r.Latency, func(l latencyRow) bool { return l.System == system && l.PerSecond == perSecond })
	if i < 0 {
		return latencyRow{}, false
	}
	return r.Latency[i], true
}

// goals compares with what was aimed at. Those whose figures are not there are left out.
func (r *redisReport) goals() (all []goal) {
	add := func(met bool, text, format string, args ...any) {
		all = append(all, goal{text, fmt.Sprintf(format, args...), met})
	}
	for _, aim := range []struct{ slots, rate int }{{100, 120_000}, {10, 60_000}} {
		if w, ok := r.best(aim.slots); ok {
			add(w.PerSecond >= float64(aim.rate), fmt.Sprintf("%s jobs/s at %d slots", thousands(float64(aim.rate)), aim.slots), "%s by %s", thousands(w.PerSecond), w.System)
			add(w.OfLimit >= 0.6, fmt.Sprintf("60%% of the bare scripts' rate at %d slots", aim.slots), "%.0f%%", 100*w.OfLimit)
		}
	}
	for _, e := range r.Enqueue {
		if e.System == "quiesce" && e.How == ways[2].name {
			add(e.PerSecond >= 250_000, "bulk enqueue of 250,000 jobs/s", "%s", thousands(e.PerSecond))
		}
	}
	ours, ok1 := r.work("quiesce", 100)
	for _, peer := range allSystems[1:] {
		if theirs, ok2 := r.work(peer, 100); ok1 && ok2 {
			add(ours.ServerCPU < theirs.ServerCPU, "less server CPU per job than "+peer+" at 100 slots", "%.1f against %.1f µs", ours.ServerCPU, theirs.ServerCPU)
		}
	}
	mine, ok1 := r.latency("quiesce", perSecond[0])
	if theirs, ok2 := r.latency("asynq", perSecond[1]); ok1 && ok2 {
		add(mine.P99 <= theirs.P99, fmt.Sprintf("start latency p99 at %d/s no worse than asynq's at %d/s", perSecond[0], perSecond[1]), "%.2f against %.2f ms", mine.P99, theirs.P99)
	}
	if ping, ok2 := r.latency(pingName, perSecond[0]); ok1 && ok2 {
		add(mine.P99 <= 3*ping.P99, "start latency p99 at most three times that of PING", "%.1f times", mine.P99/ping.P99)
	}
	return all
}

// thousands writes a rate as people read it.
func thousands(rate float64) string {
	s := strconv.FormatInt(int64(rate), 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// table prints the report for people.
func (r redisReport) table(out io.Writer) error {
	fmt.Fprintf(out, "%s; the best of %d rounds, ratios and latencies the median. CPU is µs per job.\n", r.Machine, r.Rounds)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\nno-op jobs, enqueued before\tslots\tjobs/s\tof bare\tserver CPU\tclient CPU\tjobs/call\t")
	for _, slots := range slotsOf(r.Work) {
		for _, w := range r.Work {
			if w.Slots == slots {
				fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%.1f\t%s\t\n", w.System, w.Slots, thousands(w.PerSecond), percent(w.OfLimit), known(w.ServerCPU), w.ClientCPU, known(w.PerCall))
			}
		}
	}
	fmt.Fprintln(t, "\nenqueue\t\tjobs/s\t\tserver CPU\tclient CPU\t\t")
	for _, e := range r.Enqueue {
		fmt.Fprintf(t, "%s, %s\t\t%s\t\t%s\t%.1f\t\t\n", e.System, e.How, thousands(e.PerSecond), known(e.ServerCPU), e.ClientCPU)
	}
	fmt.Fprintln(t, "\nenqueue to start\tjobs/s\tp50 ms\tp99 ms\t\t\t\t")
	for _, l := range r.Latency {
		fmt.Fprintf(t, "%s\t%d\t%.2f\t%.2f\t\t\t\t\n", l.System, l.PerSecond, l.P50, l.P99)
	}
	fmt.Fprintln(t, "\nmemory in Redis\t\tbytes/job\t\t\t\t\t")
	for _, m := range r.Memory {
		fmt.Fprintf(t, "%s\t\t%.0f\t\t\t\t\t\n", m.System, m.Bytes)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	t = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "goal\tmeasured\tmet")
	for _, g := range r.Goals {
		fmt.Fprintf(t, "%s\t%s\t%s\n", g.Goal, g.Measured, yes(g.Met))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, line := range r.Failed {
		fmt.Fprintln(out, "failed:", line)
	}
	return printSkipped(out, r.Skipped)
}

func printSkipped(out io.Writer, lines []string) error {
	for _, line := range lines {
		if _, err := fmt.Fprintln(out, "skipped:", line); err != nil {
			return err
		}
	}
	return nil
}

func slotsOf(rows []workRow) (all []int) {
	for _, w := range rows {
		if !slices.Contains(all, w.Slots) {
			all = append(all, w.Slots)
		}
	}
	return all
}

func percent(ratio float64) string {
	if ratio == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f%%", 100*ratio)
}

// known is a quantity, where it is known.
func known(x float64) string {
	if x == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f", x)
}

func yes(met bool) string {
	if met {
		return "yes"
	}
	return "no"
}
