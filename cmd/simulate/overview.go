package main

import (
	"bytes"
	"fmt"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim"
)

// stall is one interruption of a job.
type stall struct {
	job   protocol.JobKey
	seat  int32 // whose work was interrupted
	since protocol.Instant
	long  protocol.Duration
	open  bool // it lasted to the end of the run
	cause meter.Cause
}

// rollout is one deploy.
type rollout struct {
	number int32
	began  protocol.Instant
	long   protocol.Duration // 0 while it has not ended
}

// mishap is a counter of a batch that went wrong.
type mishap struct {
	at   protocol.Instant
	job  protocol.JobKey
	text string
}

// claim is the newest one on a job.
type claim struct {
	token    protocol.Token
	at       protocol.Instant
	executed bool
}

// survey looks for what is worth replaying.
type survey struct {
	warmup   protocol.Instant
	claims   map[protocol.JobKey]claim
	open     map[protocol.JobKey]stall
	longest  []stall
	rollouts []rollout
	counts   []mishap
	jobs     protocol.JobKey
	seats    int32
}

const shown = 3 // of each, in the overview

func (v *survey) see(o *sim.Observation) {
	if o.Seat > v.seats {
		v.seats = o.Seat
	}
	if o.Kind == sim.SawUncounted || o.Kind == sim.SawCount && o.Count.Left == 0 && o.Count.Undone > 0 {
		v.counts = append(v.counts, mishap{o.At, o.Count.Job, batchInWords(o)})
	}
	if o.Kind != sim.SawRecord {
		return
	}
	switch r := &o.Record; r.Kind {
	case meter.JobEnqueued:
		v.jobs = r.Job
	case meter.ClaimGranted:
		v.claims[r.Job] = claim{token: r.Token, at: o.At}
	case meter.ExecutionStarted:
		v.claims[r.Job] = claim{token: r.Token, at: o.At, executed: true}
		v.ended(r.Job, o.At, false)
	case meter.ExecutionEnded:
		if r.How == meter.Interrupted || r.How == meter.Killed {
			v.begin(r, o.At)
		}
	case meter.LeaseExpired:
		// A claim that nobody ever worked under stalls its job from the grant on.
		if c := v.claims[r.Job]; !c.executed {
			v.begin(r, c.at)
		}
	case meter.JobFinished, meter.JobDead, meter.JobQuarantined, meter.JobCancelled:
		delete(v.open, r.Job)
		delete(v.claims, r.Job)
	case meter.RolloutBegan:
		v.rollouts = append(v.rollouts, rollout{number: r.Deploy, began: o.At})
	case meter.RolloutFinished:
		if n := len(v.rollouts); n > 0 {
			v.rollouts[n-1].long = r.Span
		}
	}
}

// begin opens a stall, unless what was interrupted is a zombie's work under an old claim, or
// the job stands still already.
func (v *survey) begin(r *meter.Record, since protocol.Instant) {
	c, claimed := v.claims[r.Job]
	if _, known := v.open[r.Job]; !known && claimed && c.token == r.Token {
		v.open[r.Job] = stall{job: r.Job, seat: r.Seat, since: since, cause: r.Cause}
	}
}

func (v *survey) ended(job protocol.JobKey, at protocol.Instant, open bool) {
	s, known := v.open[job]
	if !known {
		return
	}
	delete(v.open, job)
	if s.since < v.warmup {
		return
	}
	s.long, s.open = at.Sub(s.since), open
	v.longest = append(v.longest, s)
	sort.Slice(v.longest, func(i, j int) bool {
		a, b := &v.longest[i], &v.longest[j]
		return a.long > b.long || a.long == b.long && a.job < b.job
	})
	v.longest = v.longest[:min(len(v.longest), shown)]
}

// finish ends the stalls that are still open.
func (v *survey) finish(end protocol.Instant) {
	for job := range v.open { // in any order: the longest are sorted
		v.ended(job, end, true)
	}
}

// overview runs the world and says what of it is worth a timeline.
func (a *app) overview(cmd *cobra.Command, scn *scene, s *selection) error {
	if s.format != asTable {
		return misuse("--format %s is for a timeline; add --job K, --worker SEAT or --deploy D", s.format)
	}
	v := &survey{
		warmup: protocol.Instant(scn.Warmup),
		claims: make(map[protocol.JobKey]claim), open: make(map[protocol.JobKey]stall),
	}
	row, err := a.simulate(cmd, scn, &s.single, func(w *sim.World) func() bool {
		w.Observe(func(o sim.Observation) { v.see(&o) })
		return func() bool { return false }
	})
	if err != nil {
		return err
	}
	v.finish(protocol.Instant(scn.Duration))
	command := fmt.Sprintf("simulate replay --seed %d %s --policy %s", s.seed, strings.Join(scn.words, " "), s.policy)
	var b bytes.Buffer
	b.WriteString(wrap("", "  ", fmt.Sprintf("%s under %s, seed %d: %s jobs, seats 0 to %d, %s, %s",
		scn.Name, s.policy, s.seed, commas(float64(v.jobs)), v.seats, plural(len(v.rollouts), "deploy"),
		plural(int(row.Counts[meter.Crashes]), "crash"))))
	b.WriteString(wrap("", "  ", "A timeline is of one job (--job K), one worker (--worker SEAT) or one deploy (--deploy D); --from and --until cut it."))
	v.writeStalls(&b, command)
	v.writeRollouts(&b, command)
	v.writeCounts(&b, command)
	if err := a.show(&b); err != nil {
		return err
	}
	return s.finding(row)
}

func (v *survey) writeStalls(b *bytes.Buffer, command string) {
	if len(v.longest) == 0 {
		b.WriteString("\nNo job was interrupted after the warm-up; any job shows an undisturbed life\n  " + command + " --job 1\n")
		return
	}
	b.WriteString("\nThe longest stalls\n")
	for _, s := range v.longest {
		text := fmt.Sprintf("job %d stood still for %s from %s on", s.job, brief(s.long), clock(s.since))
		if s.open {
			text = fmt.Sprintf("job %d stood still from %s to the end of the run, %s", s.job, clock(s.since), brief(s.long))
		}
		fmt.Fprintf(b, "  %s (%v, worker %d)\n    %s --job %d\n", text, s.cause, s.seat, command, s.job)
	}
	s := v.longest[0]
	from, until := max(s.since-protocol.Instant(protocol.Minute), 0), s.since+protocol.Instant(protocol.Minute)
	fmt.Fprintf(b, "\nThe worker that the longest one began at\n    %s --worker %d --from %s --until %s\n",
		command, s.seat, short(roundSeconds(from)), short(roundSeconds(until)))
}

func (v *survey) writeRollouts(b *bytes.Buffer, command string) {
	if len(v.rollouts) == 0 {
		return
	}
	sort.SliceStable(v.rollouts, func(i, j int) bool { return v.rollouts[i].long > v.rollouts[j].long })
	b.WriteString("\nThe longest deploys\n")
	for _, r := range v.rollouts[:min(len(v.rollouts), shown)] {
		text := fmt.Sprintf("deploy %d began at %s and took %s", r.number, clock(r.began), brief(r.long))
		if r.long == 0 {
			text = fmt.Sprintf("deploy %d began at %s", r.number, clock(r.began))
		}
		fmt.Fprintf(b, "  %s\n    %s --deploy %d\n", text, command, r.number)
	}
}

func (v *survey) writeCounts(b *bytes.Buffer, command string) {
	if len(v.counts) == 0 {
		return
	}
	b.WriteString("\nCounters of batches that went wrong\n")
	for _, m := range v.counts[:min(len(v.counts), shown)] {
		b.WriteString(wrap("  ", "    ", m.text+", at "+clock(m.at)))
		fmt.Fprintf(b, "    %s --job %d\n", command, m.job)
	}
	if n := len(v.counts) - shown; n > 0 {
		fmt.Fprintf(b, "  and %d more\n", n)
	}
}
