// Package realworld connects workers to the operating system and to whoever supervises them.
//
//	stops := realworld.NewStops()
//	defer stops.Close()
//	realworld.Systemd(stops, w, realworld.SystemdOptions{}) // does nothing where there is no systemd
//	stops.Signals()                                         // SIGTERM, SIGINT, SIGTSTP, SIGUSR1, SIGCONT
//	e, err := realworld.Listen("unix:/run/render/0.sock", w, stops, realworld.EndpointOptions{})
//	…
//	defer e.Close()
//	err = w.Run(ctx, stops.Events())
//
// A worker that needs signals and nothing else has them from [Signals].
//
// # What tells a worker to stop
//
// [Stops] gathers what comes from signals, from a preStop hook or a spot notice, and from the
// supervisor, in the order of arrival, and loses none of it. What a stop means is decided by
// package protocol: only the repeat of a signal hurries.
//
// # When SIGKILL comes
//
// The best source wins: a message of the supervisor ([Stops.Supervisor], [Notifier.AskMore]),
// the pod's own deletion fields ([Pod.KillAt]), QUIESCE_GRACE, an option ([Grace]).
//
// # Who lived here before
//
// [TakeSeat] holds a kernel lock for as long as the process lives, so that the next process
// in the seat knows whether this one is dead, and removes what it left on the disk.
package realworld
