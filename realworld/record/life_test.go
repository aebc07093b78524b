package record

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// life is a worker reduced to its machine: what it is told is written in the test, and what it
// asks for is kept beside the recording.
type life struct {
	t        testing.TB
	cfg      protocol.Config
	machine  protocol.Machine
	fx       *protocol.Effects
	now      protocol.Instant
	recorder *Recorder
	steps    []made
}

type made struct {
	at protocol.Instant
	ev protocol.Event
	fx []protocol.Effect
}

// stopped is a worker.Clock that stands still.
type stopped struct{ worker.Clock }

func (stopped) Now() protocol.Instant { return 5 }

var nonce = uuid.MustParse("01234567-89ab-cdef-0123-456789abcdef")

func config() protocol.Config {
	return protocol.Config{
		Kinds: []protocol.KindConfig{{MinVersion: 1, MaxVersion: 3, Gap: protocol.Second, Undo: 2 * protocol.Second}},
		Grace: 30 * protocol.Second,
	}.WithDefaults()
}

func options(dir string) Options {
	return Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
}

func newLife(t testing.TB, opt Options) *life {
	l := &life{t: t, cfg: config(), fx: protocol.NewEffects(3, 1), now: 5}
	var err error
	l.recorder, err = New(opt)
	require.NoError(t, err)
	l.machine.Init(&l.cfg, protocol.NewMemory(&l.cfg, 3), 42)
	l.recorder.Begin(worker.Setup{
		Life: worker.Life{Seat: "web 1/7", Nonce: nonce, Generation: 3}, Config: &l.cfg, Seed: 42, Slots: 3,
		Queues: []string{"default"}, Kinds: []string{"render"}, Clock: stopped{},
	}, &l.machine)
	return l.step(protocol.Event{}).step(protocol.RegisteredAs(7, protocol.OK))
}

// step tells the machine something, as a worker does.
func (l *life) step(evs ...protocol.Event) *life {
	for _, ev := range evs {
		l.fx.Reset()
		l.machine.Step(l.now, ev, l.fx)
		l.recorder.Step(l.now, ev, l.fx.All(), &l.machine)
		l.steps = append(l.steps, made{l.now, ev, append([]protocol.Effect(nil), l.fx.All()...)})
	}
	return l
}

// pass lets time pass, with a tick at every deadline.
func (l *life) pass(d protocol.Duration) *life {
	for end := l.now.Add(d); ; {
		if at := l.machine.Deadline(); at > end {
			l.now = end
			return l
		}
		l.now = l.machine.Deadline()
		l.step(protocol.Event{})
	}
}

// run grants a job, lets it take a second and settles it.
func (l *life) run(job protocol.JobKey) *life {
	seq := l.machine.Requests()[0].Seq()
	token := protocol.Token(1_700_000_000_000_000 + job)
	l.step(protocol.GrantedJob(0, seq, job, token, 0, 1, 0), protocol.ClaimClosed(0, seq, protocol.OK, 0))
	l.pass(protocol.Second)
	l.step(protocol.SaveCursor(0, 9, true), protocol.Saved(0, job, token, protocol.OK, l.now, 9))
	return l.step(protocol.Returned(0, protocol.ReturnedNil, true), protocol.Settled(0, job, token, protocol.OK))
}

// drain stops the worker while a job runs that does not fit, and lets it come to rest.
func (l *life) drain(job protocol.JobKey) *life {
	seq := l.machine.Requests()[0].Seq()
	l.step(protocol.GrantedJob(0, seq, job, 1, 0, 1, 0), protocol.ClaimClosed(0, seq, protocol.OK, 0))
	l.step(protocol.StopBySignal(protocol.SIGTERM, protocol.Never))
	l.step(protocol.WithdrawClosed(0, l.machine.Requests()[0].Seq(), protocol.OK, 0))
	l.pass(22 * protocol.Second)
	l.step(protocol.Returned(0, protocol.ReturnedError, false), protocol.Undid(0, protocol.UndoDone))
	l.step(protocol.Settled(0, job, 1, protocol.OK))
	require.Equal(l.t, protocol.PhaseGone, l.machine.Phase())
	l.recorder.End(worker.Ending{Status: l.machine.Status()})
	return l
}

// killed leaves the recording as the death of the process does, once the disk has what was
// recorded.
func (l *life) killed() *life {
	l.recorder.out.close(time.Minute)
	return l
}

// segments lists the files of a folder.
func segments(t testing.TB, dir string) []string {
	found, err := filepath.Glob(filepath.Join(dir, "*"+Suffix))
	require.NoError(t, err)
	return found
}

// replay replays what is in a folder and returns the steps.
func replay(t testing.TB, path string) (*Recording, *Result, []made) {
	r, err := Read(path)
	require.NoError(t, err)
	var steps []made
	result, err := r.Replay(func(s *Step) bool {
		steps = append(steps, made{s.At, s.Event, append([]protocol.Effect(nil), s.Effects...)})
		return true
	})
	require.NoError(t, err)
	return r, result, steps
}

func edit(t testing.TB, path string, change func([]byte) []byte) {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, change(data), 0o600))
}
