package fleet

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
)

// ending is how a life ended.
type ending uint8

const (
	lives   ending = iota
	exited         // by its own decision
	killed         // by SIGKILL in its drain
	crashed        // by a fault
	dropped        // told to stop before it ran
)

// life is one worker process, from its creation to its end. Only the supervisor's goroutine
// touches it.
type life struct {
	seat       int32
	number     int // of this seat's lives, from 1
	generation uint32

	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr tail

	created   protocol.Instant
	due       protocol.Instant // when it was to begin to run
	up, ready bool
	stopping  bool // chosen to be stopped; not counted as part of the fleet any more
	cause     meter.Cause
	termAt    protocol.Instant // when it was told to stop; Never before
	sent      ending           // why it was sent SIGKILL, if it was
	ended     ending
	endAt     protocol.Instant // when it worked last
	reapedAt  protocol.Instant // when there was no process any more; 0 while there is
	endCause  meter.Cause
	goingAt   protocol.Instant // when it told the broker that it would stop
	paused    bool
	pauses    []span
	waits     bool // it was told to stop, and stood still
	busy      int  // handlers that run
	facts     []fact
}

// span is a time in which a process stood still; to is Never while it does.
type span struct{ from, to protocol.Instant }

// report is what a life's reader hands to the supervisor.
type report struct {
	from  *life
	facts []fact
	err   error // what was reported is not to be understood
	over  bool  // the process has ended; state says how
	state *os.ProcessState
}

// spawn starts the process of a life.
func (l *life) spawn(config *processConfig, command []string, to chan<- report) error {
	text, err := json.Marshal(config)
	if err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), variable+"="+string(text))
	cmd.Stderr = &l.stderr
	cmd.SysProcAttr = attributes()
	if l.stdin, err = cmd.StdinPipe(); err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("fleet: start a worker process: %w", err)
	}
	l.cmd = cmd
	go l.read(out, to)
	return nil
}

// read hands on what the process reports, until it is over.
func (l *life) read(from io.Reader, to chan<- report) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil { // a line without an end was cut off with its process
			break
		}
		var f fact
		if err := json.Unmarshal(line, &f); err != nil {
			to <- report{from: l, err: fmt.Errorf("fleet: a worker process reports %q: %w", bytes.TrimSpace(line), err)}
			continue
		}
		to <- report{from: l, facts: []fact{f}}
	}
	_ = l.cmd.Wait() // how it ended is in its state
	to <- report{from: l, over: true, state: l.cmd.ProcessState}
}

// signal sends a signal. A process that has ended does not mind.
func (l *life) signal(s os.Signal) { _ = l.cmd.Process.Signal(s) }

// kill sends SIGKILL, once.
func (l *life) kill(why ending, now protocol.Instant) {
	if l.sent == lives && l.ended == lives {
		l.sent, l.endAt = why, now
		_ = l.cmd.Process.Kill()
	}
}

// notice tells the process when it will be killed.
func (l *life) notice(killAt protocol.Instant) {
	_, _ = fmt.Fprintf(l.stdin, "notice %d\n", killAt) // a process that has ended does not mind
}

// lastWords is why a process ended that should not have, as far as it said.
func (l *life) lastWords(state *os.ProcessState) string {
	text := strings.TrimSpace(l.stderr.String())
	if text == "" {
		return state.String()
	}
	return state.String() + ": " + text
}

// tail keeps the end of what is written to it.
type tail struct{ buf []byte }

const longestTail = 4096

func (t *tail) Write(b []byte) (int, error) {
	t.buf = append(t.buf, b...)
	if n := len(t.buf) - longestTail; n > 0 {
		t.buf = append(t.buf[:0], t.buf[n:]...)
	}
	return len(b), nil
}

func (t *tail) String() string { return string(t.buf) }
