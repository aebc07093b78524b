package explore

import "github.com/quiesce/quiesce/protocol"

// corners are worlds for what the others come by too seldom, or never: rows of the state
// tables in states that take several things to go wrong at once, and brokers of another kind.
func corners(world func(name, about string, change func(*World)) World) []World {
	return []World{
		world("asleep", "a process that sleeps while it registers, and in quiet", func(w *World) {
			w.Boots, w.Pauses, w.Pause, w.Stops, w.Scripts = true, 1, 2, 1, [][]Nudge{{Quiet, Resume}}
		}),
		world("tight", "two workers, one job, and a heartbeat that leaves little of the lease", func(w *World) {
			w.Workers, w.Heartbeat, w.Gap, w.Undo = 2, 2, 1, 0
		}),
		world("silence", "a broker that says nothing until the drain's time is up", func(w *World) {
			w.Losses, w.Park, w.Retry, w.Grace, w.Undo = 3, 2, 3, 3, 0
			w.Stops, w.Scripts = 1, [][]Nudge{{Term}}
			w.Policy.LateClaim = protocol.RunLateClaim
		}),
		world("asked-twice", "claim requests that fail, are repeated and doubled, and an answer for fewer jobs than slots", func(w *World) {
			w.Slots, w.Duplicates, w.Errors, w.Undo = 2, 1, 2, 0
		}),
		world("asked-for-good", "the same of a broker that takes no request back", func(w *World) {
			w.Slots, w.Duplicates, w.Errors, w.Undo = 2, 1, 2, 0
			w.NoWithdraw = true
		}),
		world("outlived-by-requests", "leases that end before their claim request is answered", func(w *World) {
			w.Duplicates, w.Errors, w.Losses, w.Undo, w.Lease = 1, 1, 1, 0, 2
			w.Stops, w.Scripts = 1, [][]Nudge{{Quiet, Resume}}
			w.Policy.LateClaim = protocol.RunLateClaim
		}),
		world("two-kinds", "a drain that cancels one kind of job, and another kind later", func(w *World) {
			w.Slots, w.Jobs, w.Others, w.Stops, w.Scripts = 2, 2, 1, 1, [][]Nudge{{Term}}
			w.Other, w.Prompt = Kind{Timeout: 6}, true
		}),
		world("late-undo", "undo that outlives its slice, and then the drain's, while another kind of job runs on", func(w *World) {
			w.Slots, w.Jobs, w.Others, w.Stops, w.Scripts = 2, 2, 1, 1, [][]Nudge{{Term}}
			w.Kind, w.Other = Kind{Gap: 2, Undo: 1}, Kind{Gap: 1}
			w.Lease, w.Heartbeat, w.Losses, w.Retry, w.Grace, w.Prompt = 7, 5, 1, 4, 6, true
		}),
		world("misses", "renewals that fail while a drain waits for the last of its handlers", func(w *World) {
			w.Slots, w.Jobs, w.Others, w.Stops, w.Scripts = 2, 2, 1, 1, [][]Nudge{{Term}}
			w.Kind, w.Other = Kind{Gap: 1}, Kind{}
			w.Lease, w.Heartbeat, w.Errors, w.Grace, w.Prompt = 7, 2, 2, 5, true
		}),
		world("copies", "a job that is handed back and claimed again before a copy of its release arrives", func(w *World) {
			w.MessageLife, w.Duplicates, w.Returns, w.Lease, w.Heartbeat, w.Undo = 1, 1, Yields, 6, 3, 0
		}),
		world("wrong-clocks", "workers whose clocks are far behind the broker's", func(w *World) {
			w.Skew, w.Heartbeat, w.Undo = 3, 2, 0
		}),
		world("limit", "one claim at a time, and a crash of its holder", func(w *World) {
			w.Workers, w.Jobs, w.Limit, w.Crashes, w.Lease, w.Undo, w.Prompt = 2, 2, 1, 1, 3, 0, true
		}),
		world("sweep", "a broker that looks for the dead now and then, and a crash", func(w *World) {
			w.Workers, w.Slots, w.Jobs, w.Crashes, w.Sweep, w.Lease, w.Undo, w.Prompt = 2, 2, 2, 1, 2, 3, 0, true
		}),
		world("failover", "a broker that goes on without its last write, and a crash", func(w *World) {
			w.Workers, w.Failovers, w.Crashes, w.Lease, w.Undo = 2, 1, 1, 3, 0
		}),
		world("liar-and-told", "an answer that nobody gave, progress that is saved, and a stop in a hurry", func(w *World) {
			w.Lies, w.Saves, w.Lease = 1, true, 3
			w.Stops, w.Scripts = 1, [][]Nudge{{Term, Term}}
		}),
		world("liar-and-silence", "an answer that nobody gave, and a settling beside it that is not answered", func(w *World) {
			w.Slots, w.Jobs, w.Others, w.Lies, w.Errors = 2, 2, 1, 1, 1
			w.Heartbeat, w.Undo, w.Prompt = 2, 2, true
		}),
		world("liar-and-others", "an answer that nobody gave, and other jobs that are claimed after it", func(w *World) {
			w.Slots, w.Jobs, w.Lies, w.Lease, w.Prompt = 2, 3, 1, 3, true
		}),
	}
}
