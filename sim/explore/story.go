package explore

import (
	"fmt"
	"strings"

	"github.com/quiesce/quiesce/protocol"
)

// Line is one event of a story.
type Line struct {
	At   protocol.Duration // since the beginning
	What string
}

func (l Line) String() string { return fmt.Sprintf("%-5v %s", l.At, l.What) }

// teller follows a path and tells it. States on the way are the canonical ones, so it keeps
// count of which worker and job go by which name.
type teller struct {
	e       *engine
	st      *state
	elapsed protocol.Duration
	workers [maxWorkers]int
	jobs    [maxJobs + 1]protocol.JobKey
	lines   []Line
}

// newTeller begins where the world does.
func (s *search) newTeller() *teller {
	e := newEngine(s.world)
	e.coder.symmetry = s.opts.Symmetry
	t := &teller{e: e, st: e.empty()}
	for i := range t.workers {
		t.workers[i] = i
	}
	for j := range t.jobs {
		t.jobs[j] = protocol.JobKey(j)
	}
	t.become(e.initial())
	return t
}

// become goes on from the canonical form of a state.
func (t *teller) become(st *state) {
	form := append([]byte(nil), t.e.encode(st)...)
	workers, jobs := t.workers, t.jobs
	for k, seat := range t.e.coder.order[:t.e.world.Workers] {
		t.workers[k] = workers[seat]
	}
	for j := 1; j <= t.e.world.Jobs; j++ {
		t.jobs[t.e.coder.ranks.jobs[j]] = jobs[j]
	}
	t.e.decode(t.st, form)
}

// makes tells an action and makes it. It returns what it broke.
func (t *teller) makes(a action) Broken {
	if a.kind == failover { // after it has carried out and answered what it lacks then
		t.lines = append(t.lines, Line{t.elapsed, t.describe(action{deliver, a.a, 0})})
	}
	t.lines = append(t.lines, Line{t.elapsed, t.describe(a)})
	c := t.e.empty()
	t.e.copyAll(t.st, c)
	t.e.apply(c, a)
	t.elapsed += c.now.Sub(t.st.now)
	if c.broken.Invariant != "" {
		return c.broken
	}
	t.become(c)
	return Broken{}
}

// path returns the way to a state as actions.
func (s *search) path(id uint32) []action {
	var acts []action
	for {
		parent, act := s.parentOf(id)
		if parent == nobody {
			break
		}
		acts = append(acts, actionOf(act))
		id = parent
	}
	for i, j := 0, len(acts)-1; i < j; i, j = i+1, j-1 {
		acts[i], acts[j] = acts[j], acts[i]
	}
	return acts
}

// story tells the way to a finding.
func (s *search) story(f finding) []Line {
	t := s.newTeller()
	for _, a := range s.path(f.state) {
		t.makes(a)
	}
	if f.acted {
		if b := t.makes(actionOf(f.act)); b.Invariant != "" {
			s.report.Broken = b
		}
	}
	s.report.Broken.What = t.rename(s.report.Broken.What)
	return t.lines
}

// rename puts the names of the story into a text about the state it has come to.
func (t *teller) rename(what string) string {
	words := strings.Split(what, " ")
	for k := 1; k < len(words); k++ {
		w := words[k]
		if w == "" || w[0] < '0' || w[0] > '9' {
			continue
		}
		switch n := int(w[0] - '0'); words[k-1] {
		case "worker":
			words[k] = fmt.Sprint(t.workers[n]) + w[1:]
		case "job":
			words[k] = fmt.Sprint(t.jobs[n]) + w[1:]
		}
	}
	return strings.Join(words, " ")
}

func (t *teller) worker(i int) string { return fmt.Sprintf("worker %d", t.workers[i]) }
func (t *teller) job(j protocol.JobKey) string {
	return fmt.Sprintf("job %d", t.jobs[j])
}

// describe tells an action as a line of a story.
func (t *teller) describe(a action) string {
	st, i := t.st, int(a.a)
	switch a.kind {
	case deliver:
		return "delivered: " + t.message(&st.messages[i])
	case lose:
		return "lost: " + t.message(&st.messages[i])
	case double:
		return "delivered, with a copy still to come: " + t.message(&st.messages[i])
	case breakCall:
		return "fails, carried out or not: " + t.message(&st.messages[i])
	case failover:
		return "broker: goes on from a copy that lacks it"
	case comeBack:
		h := &st.workers[i/maxSlots].hands[i%maxSlots]
		who := t.worker(i/maxSlots) + ": "
		if h.state == undoing {
			return who + "the partial work of " + t.job(h.job) + " " + undoReturns[a.b].says
		}
		kind := "the handler of "
		if h.state == told {
			kind = "the cancelled handler of "
		}
		return who + kind + t.job(h.job) + " " + handlerReturns[a.b].says
	case saveProgress:
		h := &st.workers[i/maxSlots].hands[i%maxSlots]
		how := ""
		if a.b == 1 {
			how = " at once"
		}
		return t.worker(i/maxSlots) + ": the handler of " + t.job(h.job) + " saves its progress" + how
	case nudge:
		w := &st.workers[i]
		said := t.worker(i) + ": " + nudgeNames[t.e.world.Scripts[a.b][w.next]]
		if w.paused {
			said += ", which it cannot hear yet"
		}
		return said
	case cancelJob:
		return "an operator cancels " + t.job(protocol.JobKey(i))
	case cancelSlot:
		return t.worker(i/maxSlots) + ": hears that " + t.job(st.workers[i/maxSlots].slots[i%maxSlots].Job()) + " is cancelled by an operator"
	case lie:
		return t.worker(i/maxSlots) + ": hears, and nobody said it, that " + falsehoods[a.b].says
	case tickBroker:
		return "broker: a timer fires"
	case passTime:
		return fmt.Sprintf("time passes to %v", t.elapsed+t.e.nextInstant(st).Sub(st.now))
	default:
		return t.worker(i) + ": " + plainNames[a.kind]
	}
}

var plainNames = [...]string{
	fireTimer: "a timer fires", wakeUp: "goes on (SIGCONT)", start: "a new process starts in its place", tellEstimate: "learns how long jobs take",
	crash: "crashes", pause: "is stopped (SIGSTOP)", kill: "is killed (SIGKILL)",
}

var nudgeNames = [...]string{
	Term: "SIGTERM", Int: "SIGINT", Notice: "a notice that it will be stopped", Context: "its context is done",
	Supervisor: "its supervisor says stop", Sooner: "its supervisor says stop, and SIGKILL nearer", Nearer: "SIGKILL is moved nearer", Later: "SIGKILL is moved away", Quiet: "quiet", Resume: "resume", Regain: "reaches the broker again",
}

func (t *teller) message(m *message) string {
	w := t.worker(int(m.worker))
	switch m.kind {
	case hangup:
		return "the end of the connection of " + w
	case toBroker:
		kind := protocol.EffectKind(m.tag)
		says := fmt.Sprintf("%s → broker: %v", w, kind)
		switch {
		case kind == protocol.Claim || kind == protocol.Withdraw:
			return fmt.Sprintf("%s request %d", says, m.seq)
		case kind == protocol.Settle:
			return fmt.Sprintf("%s → broker: %v %s", w, m.verb, t.job(m.job))
		case m.job != 0:
			return says + " " + t.job(m.job)
		}
		return says
	}
	says := fmt.Sprintf("broker → %s: ", w)
	if m.n > 0 {
		for k, g := range m.grants[:m.n] {
			if k > 0 {
				says += ", "
			}
			says += t.job(g.job)
		}
		return fmt.Sprintf("%s granted to request %d", says, m.seq)
	}
	says += fmt.Sprintf("%v %v", protocol.EventKind(m.tag), m.code)
	if m.job != 0 {
		says += ", " + t.job(m.job)
	}
	return says
}
