package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/quiesce/quiesce/internal/launch"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/realworld/redis"
)

// stopped is a queue whose worker is stopped.
type stopped interface {
	// fill enqueues a job of each length.
	fill(ctx context.Context, lengths []time.Duration) error
	// start is the command of a worker process of a version of the code.
	start(ctx context.Context, slots int, version uint32) *exec.Cmd
	// left are those of some jobs that the queue still has.
	left(ctx context.Context, of []int) (map[int]bool, error)
}

// ownStopped is this module's queue.
type ownStopped struct {
	server  *redisServer
	self    string // the path of this program
	options workerOptions
	guarded bool
	keys    []protocol.JobKey
}

func (q *ownStopped) open(ctx context.Context) (*redis.Broker, *redis.Queue, error) {
	b, err := redis.Open(ctx, redis.Options{URL: q.server.URL(), Queues: q.options.queues()})
	if err != nil {
		return nil, nil, err
	}
	queue, err := b.Queue(queueName)
	return b, queue, err
}

func (q *ownStopped) fill(ctx context.Context, lengths []time.Duration) error {
	b, queue, err := q.open(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	jobs := make([]redis.Job, len(lengths))
	for i, d := range lengths {
		payload, err := json.Marshal(sleepJob{i, d})
		if err != nil {
			return err
		}
		jobs[i] = redis.Job{Kind: kind, Payload: payload}
	}
	added, err := queue.Enqueue(ctx, jobs...)
	for _, a := range added {
		q.keys = append(q.keys, a.Job)
	}
	return err
}

func (q *ownStopped) start(ctx context.Context, slots int, version uint32) *exec.Cmd {
	o := q.options
	o.server, o.slots, o.generation = q.server.URL(), slots, version
	args := append([]string{"work"}, o.flags()...)
	if q.guarded {
		args = append([]string{"guard", "--server", o.server, "--", q.self}, args...)
	}
	return exec.CommandContext(ctx, q.self, args...)
}

func (q *ownStopped) left(ctx context.Context, of []int) (map[int]bool, error) {
	b, queue, err := q.open(ctx)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	there := map[int]bool{}
	for _, job := range of {
		info, known, err := queue.Job(ctx, q.keys[job])
		if err != nil {
			return nil, err
		}
		there[job] = known && info.State != redis.Done
	}
	return there, nil
}

// peerStopped is a foreign queue.
type peerStopped struct {
	peer           peer
	best           bool
	grace, longest time.Duration
}

func (q peerStopped) fill(ctx context.Context, lengths []time.Duration) error {
	text := make([]string, len(lengths))
	for i, d := range lengths {
		text[i] = d.String()
	}
	return q.peer.ask(ctx, nil, "fill", "--sleeps", strings.Join(text, ","))
}

func (q peerStopped) start(ctx context.Context, slots int, _ uint32) *exec.Cmd {
	args := append(numbers("slots", slots), "--grace", q.grace.String(), "--longest", q.longest.String())
	if q.best {
		args = append(args, "--best")
	}
	return q.peer.command(ctx, "work", args...)
}

func (q peerStopped) left(ctx context.Context, _ []int) (map[int]bool, error) {
	var answer struct{ Left []int }
	if err := q.peer.ask(ctx, &answer, "left"); err != nil {
		return nil, err
	}
	there := map[int]bool{}
	for _, job := range answer.Left {
		there[job] = true
	}
	return there, nil
}

// course is how a worker is stopped.
type course struct {
	jobs     int
	kill     bool // SIGKILL at once, else SIGTERM
	grace    time.Duration
	patience time.Duration // how long it is watched after the stop
}

// settled is how long jobs have worked when the stop comes.
func (c course) settled() time.Duration { return c.grace / 2 }

// lengths are such that all jobs are in flight at the stop, and every other fits the grace:
// it ends in the first half, which is soon enough for whoever keeps a part of the grace for
// its own end. The others would end a fifth of the grace after it and later.
func (c course) lengths() []time.Duration {
	all := make([]time.Duration, c.jobs)
	for i := range all {
		part := c.grace * time.Duration(i) / time.Duration(c.jobs) // spread evenly
		if i%2 == 0 {
			all[i] = c.settled() + c.grace/10 + part*4/10
		} else {
			all[i] = c.settled() + c.grace*6/5 + part/2
		}
	}
	return all
}

// longest is longer than any job of the course takes.
func (c course) longest() time.Duration { return (c.settled() + c.grace*2) * 3 / 2 }

// process is a worker process and what it says.
type process struct {
	cmd  *exec.Cmd
	said chan<- occurrence
	line []byte // that it has not ended yet
	errs bytes.Buffer
	pid  int // of the worker, as it says; a guard has another
	gone <-chan struct{}
}

func startProcess(cmd *exec.Cmd, said chan<- occurrence) (*process, error) {
	p := &process{cmd: cmd, said: said}
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = p, &p.errs, withParent(syscall.SIGKILL)
	cmd.WaitDelay = time.Second // what nobody reads any more is not waited for
	gone, err := launch.Start(cmd)
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	p.gone = gone
	return p, nil
}

// Write takes in what the process prints.
func (p *process) Write(text []byte) (int, error) {
	p.line = append(p.line, text...)
	for {
		line, rest, whole := bytes.Cut(p.line, []byte("\n"))
		if !whole {
			return len(text), nil
		}
		var o occurrence
		if json.Unmarshal(line, &o) == nil {
			p.said <- o
		}
		p.line = rest
	}
}

// kill ends the worker, and the guard too if everything is to end.
func (p *process) kill(everything bool) {
	if worker, err := os.FindProcess(p.pid); p.pid > 0 && err == nil {
		_ = worker.Kill() // it fails for what has ended
	}
	if everything || p.pid == 0 {
		_ = p.cmd.Process.Kill()
	}
}

// bootLimit is how long a worker may take to start all jobs.
const bootLimit = time.Minute

// watched is what was seen of a run.
type watched struct {
	history
	exit   float64 // seconds from the stop
	killed bool    // the grace was not enough
}

// run has a worker start all jobs and a second one of the next version stand by, stops the
// first, and watches until all jobs are finished or patience ends.
func (c course) run(ctx context.Context, q stopped) (w watched, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.lengths, w.gone = c.lengths(), map[int]int64{}
	if err := q.fill(ctx, w.lengths); err != nil {
		return w, err
	}
	said := make(chan occurrence, 8*c.jobs)
	first, err := startProcess(q.start(ctx, c.jobs, 1), said)
	if err != nil {
		return w, err
	}
	if err := w.awaitStarts(ctx, first, said); err != nil {
		first.kill(true)
		return w, err
	}
	second, err := startProcess(q.start(ctx, c.jobs, 2), said)
	if err != nil {
		first.kill(true)
		return w, err
	}
	defer func() {
		second.kill(true)
		<-second.gone
	}()
	time.Sleep(time.Until(time.Unix(0, w.events[0].At).Add(c.settled())))
	if err := w.watch(ctx, c, first, second, said); err != nil {
		first.kill(true)
		return w, err
	}
	w.history.left, err = q.left(ctx, w.unfinished())
	return w, err
}

// awaitStarts waits until all jobs are running.
func (w *watched) awaitStarts(ctx context.Context, p *process, said <-chan occurrence) error {
	limit := time.NewTimer(bootLimit)
	defer limit.Stop()
	for len(w.events) < len(w.lengths) {
		select {
		case o := <-said:
			p.pid = o.PID
			w.events = append(w.events, o)
		case <-p.gone:
			return fmt.Errorf("bench: the worker ended before it had started all jobs: %s", lastLine(p.errs.String()))
		case <-limit.C:
			return fmt.Errorf("bench: only %d of %d jobs were started in %v", len(w.events), len(w.lengths), bootLimit)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// watch stops the first process and collects what happens.
func (w *watched) watch(ctx context.Context, c course, first, second *process, said <-chan occurrence) error {
	w.stop = time.Now().UnixNano()
	if c.kill {
		first.kill(false)
		w.gone[first.pid] = time.Now().UnixNano()
	} else if err := first.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("bench: SIGTERM: %w", err)
	}
	grace, patience := time.NewTimer(c.grace), time.NewTimer(c.patience)
	defer grace.Stop()
	defer patience.Stop()
	gone := first.gone
	finished := map[int]bool{}
	for _, o := range w.events {
		if o.Event == "finished" {
			finished[o.Job] = true
		}
	}
	for len(finished) < len(w.lengths) || gone != nil {
		select {
		case o := <-said:
			if o.PID != first.pid {
				second.pid = o.PID
			}
			w.events = append(w.events, o)
			if o.Event == "finished" {
				finished[o.Job] = true
			}
		case <-gone:
			at := time.Now().UnixNano()
			w.exit = seconds(at - w.stop)
			if _, known := w.gone[first.pid]; !known {
				w.gone[first.pid] = at
			}
			gone = nil
		case <-grace.C:
			if gone != nil {
				w.killed = !c.kill
				first.kill(true)
			}
		case <-second.gone:
			return fmt.Errorf("bench: the second worker ended: %s", lastLine(second.errs.String()))
		case <-patience.C:
			w.until = time.Now().UnixNano()
			if gone != nil {
				return errors.New("bench: the first worker has not ended although it was killed")
			}
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	w.until = time.Now().UnixNano()
	return nil
}

// unfinished are the jobs that nobody finished.
func (w *watched) unfinished() (all []int) {
	runs := w.executions()
	for job := range w.lengths {
		if _, done := firstFinish(runs[job]); !done {
			all = append(all, job)
		}
	}
	return all
}
