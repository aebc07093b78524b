package realworld

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/quiesce/quiesce/protocol"
)

// Signals returns the process's signals as events for worker.Run, for as long as the process
// lives: those of [Stops.Signals], for a worker that needs nothing else.
func Signals() <-chan protocol.Event {
	s := NewStops()
	s.Signals()
	return s.Events()
}

// Signals begins to listen to the process's signals. SIGTERM and SIGINT are stops (both,
// because supervisors differ in which they send), SIGTSTP and SIGUSR1 are quiet, SIGCONT is
// the end of quiet; on Windows an interrupt, and what the system has for SIGTERM, are stops.
// The Go runtime acts on none of them by itself from here on, also where the process was
// started with SIGINT ignored, as shells start what they put into the background.
//
// Other signals keep their effect: SIGHUP ends the process, SIGQUIT shows its goroutines.
func (s *Stops) Signals() {
	in := make(chan os.Signal, 64) // the runtime drops what does not fit; this one is emptied at once
	signal.Notify(in, listened...)
	s.running.Go(func() {
		defer signal.Stop(in)
		for {
			select {
			case sig := <-in:
				s.put(s.translate(sig), nil)
			case <-s.done:
				return
			}
		}
	})
}

func (s *Stops) translate(sig os.Signal) protocol.Event {
	if ev, ok := quietSignal(sig); ok {
		return ev
	}
	s.mu.Lock()
	killAt := s.killAt
	s.mu.Unlock()
	number := protocol.SIGTERM
	if sig == syscall.SIGINT {
		number = protocol.SIGINT
	}
	return protocol.StopBySignal(number, killAt())
}
