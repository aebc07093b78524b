package realworld

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/quiesce/quiesce/protocol"
)

// SystemdOptions configure what systemd is told and asked.
type SystemdOptions struct {
	// Extend is how long a drain may take in all, beyond TimeoutStopSec if need be: systemd is
	// asked for more again and again until then. 0 asks for nothing.
	Extend time.Duration
	Logger *slog.Logger // slog.Default
}

// Notifier tells systemd what the worker does, and can ask it for more time.
type Notifier struct {
	stops  *Stops
	worker Worker
	log    *slog.Logger

	mu    sync.Mutex
	until time.Time // the drain may last so long; systemd is asked again and again
}

// lookEvery is how often the worker's state is looked at. Nothing hangs on it but how soon
// systemd learns.
const lookEvery = 250 * time.Millisecond

// silence is how long systemd bears to hear nothing after it was asked for more; it is asked
// at every look.
const silence = 5 * time.Second

// Systemd tells systemd (or whoever gave the process NOTIFY_SOCKET) when the worker is ready,
// that it stops, how it is, and, where WatchdogSec is set, that its loop turns. It returns at
// once and ends with stops. Without NOTIFY_SOCKET nothing is told.
//
// With Extend it is best called before stops.Signals, so that the first signal has the longer
// budget from the beginning.
func Systemd(stops *Stops, w Worker, o SystemdOptions) *Notifier {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	n := &Notifier{stops: stops, worker: w, log: o.Logger}
	there, err := daemon.SdNotify(false, "STATUS=starting")
	if err != nil {
		o.Logger.Warn("systemd cannot be told anything", "error", err)
	}
	if !there {
		return n
	}
	if o.Extend > 0 {
		stops.mu.Lock()
		stops.killAt = func() protocol.Instant { return stops.clock.Now().Add(protocol.Duration(o.Extend)) }
		stops.mu.Unlock()
	}
	stops.running.Go(func() { n.watch(o.Extend) })
	if every, err := daemon.SdWatchdogEnabled(false); err != nil {
		o.Logger.Warn("the watchdog is not fed", "error", err)
	} else if every > 0 {
		stops.running.Go(func() { n.feed(every / 2) })
	}
	return n
}

// AskMore asks systemd not to kill the process before until, and moves the drain's SIGKILL
// there. It is heeded until the drain has cancelled its first handler.
func (n *Notifier) AskMore(until time.Time) {
	n.mu.Lock()
	n.until = until
	n.mu.Unlock()
	n.askAgain()
	n.stops.KillAt(until)
}

// askAgain keeps systemd waiting.
func (n *Notifier) askAgain() {
	n.mu.Lock()
	left := min(time.Until(n.until), silence)
	n.mu.Unlock()
	if left > 0 {
		n.tell(fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", left.Microseconds()))
	}
}

func (n *Notifier) tell(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		n.log.Debug("systemd was not told", "state", state, "error", err)
	}
}

// watch tells of every change, and during a drain again and again.
func (n *Notifier) watch(extend time.Duration) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	asked := n.stops.Asked()
	var ready, stopping bool
	for {
		select {
		case <-n.stops.done:
			return
		case <-asked:
			asked = nil
			if extend > 0 {
				n.AskMore(time.Now().Add(extend))
			}
		case <-look.C:
		}
		left, draining := n.worker.SecondsLeft()
		if stopping = stopping || draining || asked == nil; stopping {
			n.tell(fmt.Sprintf("STOPPING=1\nSTATUS=draining, %.0f s left", left))
			n.askAgain()
			continue
		}
		if now := n.worker.Ready(); now != ready {
			ready = now
			if ready {
				n.tell("READY=1\nSTATUS=claiming jobs")
			} else {
				n.tell("STATUS=quiet")
			}
		}
	}
}

// feed feeds the watchdog as long as the worker's loop turns.
func (n *Notifier) feed(every time.Duration) {
	ctx, cancel := n.stops.context()
	defer cancel()
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		turn, end := context.WithTimeout(ctx, every)
		err := n.stops.Alive(turn)
		end()
		if err == nil {
			n.tell("WATCHDOG=1")
		}
		select {
		case <-t.C:
		case <-n.stops.done:
			return
		}
	}
}
