package model

import "github.com/quiesce/quiesce/protocol"

// stopSignals are the signals that ask processes to stop in practice, by their number on Linux.
var stopSignals = []struct {
	name   string
	signal protocol.Signal
}{
	{"SIGTERM", protocol.SIGTERM}, {"SIGINT", protocol.SIGINT}, {"SIGQUIT", 3}, {"SIGHUP", 1},
	{"SIGUSR1", 10}, {"SIGUSR2", 12}, {"SIGWINCH", 28},
}

// SignalNamed returns the stop signal of a name such as SIGTERM, or 0 for one that is not
// used to stop processes.
func SignalNamed(name string) protocol.Signal {
	for _, s := range stopSignals {
		if s.name == name {
			return s.signal
		}
	}
	return 0
}

// SignalName returns the usual name of a signal; the protocol only has names for those it
// tells apart.
func SignalName(signal protocol.Signal) string {
	for _, s := range stopSignals {
		if s.signal == signal {
			return s.name
		}
	}
	return signal.String()
}
