package explore

import "github.com/quiesce/quiesce/protocol"

// Worlds returns the named worlds, the smaller first. All but the last few are searched in
// seconds.
func Worlds() []World {
	short := World{Workers: 1, Jobs: 1, Lease: 4, Heartbeat: 1, Park: 1, Grace: 4, Reserve: 2, Kind: Kind{Undo: 1}}
	world := func(name, about string, change func(*World)) World {
		w := short
		w.Name, w.About = name, about
		change(&w)
		return w
	}
	worlds := []World{
		world("fair", "two workers and two jobs without any fault: is anything put off for ever?", func(w *World) {
			w.Workers, w.Jobs = 2, 2
		}),
		world("dies-at-once", "a worker that dies of the stop, and its replacement", func(w *World) {
			w.Jobs, w.Stops, w.Replace, w.Boots = 2, 1, ReplaceStopped, true
			w.Scripts = [][]Nudge{{Term}, {Quiet, Term}}
			w.Policy.OnStop = protocol.DieOnStop
			w.Returns = Errors
		}),
		world("cancels-at-once", "a worker that cancels at the stop", func(w *World) {
			w.Jobs, w.Stops, w.Replace, w.Boots = 2, 1, ReplaceStopped, true
			w.Scripts = [][]Nudge{{Term}, {Quiet, Term}}
			w.Policy.OnStop = protocol.CancelOnStop
		}),
		world("deaf", "a worker that notices no stop and is killed", func(w *World) {
			w.Jobs, w.Stops, w.Replace, w.Boots = 2, 1, ReplaceStopped, true
			w.Scripts = [][]Nudge{{Term, Int}, {Quiet, Term}}
			w.Policy.OnStop = protocol.IgnoreOnStop
		}),
		world("dies-late", "a worker that dies of the drain's deadline", func(w *World) {
			w.Jobs, w.Stops, w.Scripts, w.Replace, w.Grace = 2, 1, [][]Nudge{{Term}}, ReplaceStopped, 6
			w.Policy.AtDeadline, w.Heartbeat = protocol.DieAtDeadline, 2
		}),
		world("weighs", "a drain that weighs going on against handing back", func(w *World) {
			w.Stops, w.Scripts, w.Estimates, w.Grace, w.Boots = 1, [][]Nudge{{Term, Term}, {Quiet, Resume}}, 1, 6, true
			w.Timeout = 4 // or handlers that run for ever would be one state each
			w.Policy.Estimates = protocol.Adaptive
		}),
		world("foreign", "jobs of a version that is not understood, and a stop", func(w *World) {
			w.Jobs, w.Foreign, w.Stops, w.Scripts = 2, 1, 1, [][]Nudge{{Term}, {Quiet, Term}}
		}),
		world("boot", "registration on the wire: lost, failing, doubled and interrupted", func(w *World) {
			w.Boots, w.Losses, w.Errors, w.Duplicates, w.Replace = true, 1, 1, 1, ReplaceStopped
			w.Stops, w.Scripts = 1, [][]Nudge{{Quiet, Resume}, {Resume, Term}, {Int}, {Notice}}
		}),
		world("signals", "every way to be told to stop, and to be told again", func(w *World) {
			w.Jobs, w.Stops, w.Grace, w.Boots = 2, 1, 6, true
			w.Scripts = [][]Nudge{
				{Term, Term, Term, Quiet}, {Int, Int, Int}, {Notice, Term, Term}, {Context, Supervisor, Sooner, Term}, {Supervisor, Nearer, Resume},
				{Term, Later, Nearer, Notice}, {Quiet, Quiet, Resume, Term}, {Nearer, Later, Term, Sooner}, {Quiet, Later, Nearer, Resume}, {Term, Sooner, Term},
			}
		}),
		world("returns", "every way in which a handler and its undo hooks come back, whatever they were told", func(w *World) {
			w.Returns, w.Cancels, w.Grace = Yields|Errors|Fails|Tidy|UndoErr|Loose, 1, 6
			w.Stops, w.Scripts = 1, [][]Nudge{{Term, Term}}
		}),
		world("progress", "progress that is saved, and calls of the broker that fail", func(w *World) {
			w.Saves, w.Errors, w.Cancels = true, 1, 1
			w.Stops, w.Scripts = 1, [][]Nudge{{Term}}
		}),
		world("limits", "a kind with a limit of its own, and a worker whose slots are wedged", func(w *World) {
			w.Timeout, w.Heartbeat, w.Lease, w.Grace = 3, 2, 5, 6
			w.Returns, w.Stops, w.Scripts = Yields|Errors|Fails|Tidy|Loose, 1, [][]Nudge{{Term, Term}, {Quiet, Resume}}
		}),
		world("distrust", "two renewals that fail, and a handler that takes a while to notice", func(w *World) {
			w.Lease, w.Heartbeat, w.Gap, w.Errors, w.Grace = 7, 2, 1, 2, 7
			w.Returns = Yields | Fails | Tidy | Loose
		}),
		world("reconnects", "a connection that is lost and made anew, and claims that are verified between heartbeats", func(w *World) {
			w.Lease, w.Heartbeat, w.Retry, w.Grace, w.Boots, w.Losses = 6, 4, 1, 6, true, 1
			w.Stops, w.Scripts = 1, [][]Nudge{{Regain, Regain, Regain}, {Quiet, Regain}, {Term, Regain, Regain}}
		}),
		world("late-claims-run", "grants that land after the stop and are run", func(w *World) {
			w.Jobs, w.Workers, w.Stops, w.Losses, w.Grace = 2, 2, 1, 1, 6
			w.Scripts = [][]Nudge{{Term}, {Quiet, Resume}}
			w.Policy.LateClaim = protocol.RunLateClaim
		}),
		world("no-withdraw", "a broker that takes no claim request back", func(w *World) {
			w.Jobs, w.Stops, w.Scripts, w.Losses, w.Errors = 2, 1, [][]Nudge{{Term}, {Quiet, Resume, Term}}, 1, 1
			w.NoWithdraw = true
		}),
		world("stop-and-loss", "the stop races the claim, and a message is lost", func(w *World) {
			w.Workers, w.Jobs, w.Stops, w.Scripts, w.Losses = 2, 2, 1, [][]Nudge{{Term}}, 1
		}),
		world("late-and-doubled", "messages that live a while, and one that comes twice", func(w *World) {
			w.Stops, w.Scripts, w.Duplicates = 1, [][]Nudge{{Term}}, 1
			w.MessageLife, w.Lease, w.Grace, w.Reserve, w.Heartbeat = 1, 6, 7, 4, 2
		}),
		world("liar", "answers that nobody gave: of a broker that forgot, of another life, of anybody", func(w *World) {
			w.Lies, w.Lease, w.Returns, w.Grace = 2, 3, UndoErr, 3
			w.Stops, w.Scripts = 1, [][]Nudge{{Term, Term}}
		}),
		world("liar-at-boot", "the same while registering, and in Quiet", func(w *World) {
			w.Boots, w.Lies, w.Lease, w.Undo, w.Jobs = true, 1, 3, 0, 1
			w.Stops, w.Scripts = 1, [][]Nudge{{Quiet, Resume, Term}, {Quiet, Quiet}}
			w.Policy.LateClaim = protocol.RunLateClaim
		}),
		world("liar-dies", "the same, and a worker that dies of the stop", func(w *World) {
			w.Lies, w.Lease, w.Stops, w.Scripts = 2, 3, 1, [][]Nudge{{Term}}
			w.Policy.OnStop = protocol.DieOnStop
		}),
		world("pause", "a process that sleeps beyond its lease while another takes the job", func(w *World) {
			w.Workers, w.Pauses, w.Pause, w.Stops, w.Scripts = 2, 1, 5, 1, [][]Nudge{{Term}}
			w.Lease = 3
		}),
		world("lost-and-told", "a claim that is lost in a pause, while its handler saves progress and the worker is stopped in a hurry", func(w *World) {
			w.Pauses, w.Pause, w.PauseWhole, w.Prompt = 1, 5, true, true
			w.Saves, w.Stops, w.Scripts, w.Grace = true, 1, [][]Nudge{{Term, Term}}, 6
			w.Lease = 3
		}),
		world("zombie", "two slots, and a job that comes back to the process in which it still runs", func(w *World) {
			w.Slots, w.Losses, w.Jobs = 2, 2, 1
			w.Lease = 3
		}),
		world("two-slots", "two jobs in one process, a stop and a message that is lost", func(w *World) {
			w.Slots, w.Losses, w.Jobs = 2, 1, 2
			w.Stops, w.Scripts = 1, [][]Nudge{{Term}}
		}),
		world("rollout", "two of three workers are replaced, and a job that the second hands back", func(w *World) {
			w.Workers, w.Stops, w.Scripts, w.Replace, w.Prompt, w.Undo, w.Grace, w.Lease = 3, 2, [][]Nudge{{Term}}, ReplaceAtOnce, true, 0, 3, 3
		}),
		world("crash", "a deploy of one worker while another crashes", func(w *World) {
			w.Workers, w.Jobs, w.Crashes, w.Stops, w.Scripts, w.Replace = 2, 2, 1, 1, [][]Nudge{{Term}}, ReplaceStopped
			w.Lease = 3
		}),
	}
	worlds = append(worlds, corners(world)...)
	return append(worlds,
		world("three-by-three", "three workers, three jobs, a deploy with its replacement, a crash and a pause beyond the lease", func(w *World) {
			w.Workers, w.Jobs, w.Crashes, w.Pauses, w.Stops, w.Scripts, w.Large = 3, 3, 1, 1, 1, [][]Nudge{{Term}}, true
			w.Replace = ReplaceStopped
			w.Lease, w.Pause, w.PauseWhole, w.Prompt, w.Undo, w.Grace = 3, 4, true, true, 0, 3
		}),
	)
}

// Named returns the world with a name.
func Named(name string) (World, bool) {
	for _, w := range Worlds() {
		if w.Name == name {
			return w, true
		}
	}
	return World{}, false
}
