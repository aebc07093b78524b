// Package sim runs a fleet of workers in virtual time: the machine of package protocol that runs
// in production, the reference broker of package model, supervisors with their rollouts, handlers,
// a network, and whatever goes wrong. A [World] is one run of a scenario under one policy with one
// seed:
//
//	w, err := sim.NewWorld(scenario, preset, 1, nil)
//	...
//	row, err := w.Run(nil) // a *meter.Row: every metric is computed from it
//
// # Time
//
// Whatever happens is an event on an agenda (package sim/agenda), which leaves by instant, then by
// kind, then in the order in which it came. Between two events nothing happens, so a simulated day
// costs what its events cost. A process is stepped when something comes to it or when its machine's
// deadline is over; a tick is queued only where nothing else attends to it before.
//
// # Chance
//
// Random numbers are addressed, not drawn in turn: by purpose ([Stream]), by whom they are about,
// and by which one it is. The same scenario, policy and seed therefore give the same events, whose
// hash is [World.TraceHash], on any machine; one number more in one place shifts none in another;
// and all policies see the same arrivals, work and crashes, which is what makes their differences
// small and worth comparing. An override replaces one number: that is how a finding is replayed.
//
// # Where to look
//
// world.go has the events and the loop, fleet.go the seats and the rollout, process.go a worker's
// life, network.go the way of a request and of its answer, handlers.go what runs in a slot, faults.go
// and stops.go what goes wrong and who is stopped, record.go what is measured, and foresee.go what
// makes worlds of a million workers bearable.
//
// Below it are the explorer (sim/explore), which tries every order of events in a small world, the
// hunt for broken invariants in random ones (sim/hunt), the invariants themselves (sim/invariant),
// and the statistics over many runs (sim/lab).
package sim
