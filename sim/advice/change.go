package advice

import (
	"slices"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// Key is what can be changed.
type Key string

// What can be changed.
const (
	Policy    Key = "policy"
	Lease     Key = "lease"
	Heartbeat Key = "heartbeat"
	Grace     Key = "grace"
	Gap       Key = "gap"     // how often handlers look for their cancellation
	Save      Key = "save"    // how often they save their progress
	Surge     Key = "rollout" // how many workers are started before others stop
)

// Change is one of them with its value.
type Change struct {
	Key      Key
	Policy   string            // of Policy
	From, To protocol.Duration // of the others but Surge; From is 0 where there was none
	Rollout  model.Rollout     // of Surge
}

// on carries a change out.
func (c *Change) on(s *model.Scenario) {
	switch c.Key {
	case Lease:
		s.Queue.Heartbeat = scaled(s.Queue.Heartbeat, c.To, s.Queue.Lease)
		s.Queue.Margin = scaled(s.Queue.Margin, c.To, s.Queue.Lease)
		s.Queue.Lease = c.To
	case Heartbeat:
		s.Queue.Heartbeat = c.To
	case Grace:
		s.Supervisor.Grace = c.To
	case Surge:
		s.Supervisor.Rollout = c.Rollout
	case Gap, Save:
		s.Jobs = slices.Clone(s.Jobs)
		for i := range s.Jobs {
			if job := &s.Jobs[i]; c.Key == Save {
				job.Save = c.To
			} else {
				job.Checkpoint, job.Declared = min(job.Checkpoint, c.To), min(job.Declared, c.To)
			}
		}
	}
}

// scaled keeps a part's share of a whole. What is no length at all stays what it is.
func scaled(part, to, from protocol.Duration) protocol.Duration {
	if part <= 0 || part == model.NoHeartbeat || from <= 0 {
		return part
	}
	return protocol.Duration(int64(part/protocol.Millisecond) * int64(to/protocol.Millisecond) / int64(from/protocol.Millisecond) * int64(protocol.Millisecond))
}

// Lengths is how long the jobs are.
type Lengths struct{ P50, P90, P99 protocol.Duration }

// settings are the changes that are tried on a fleet, each alone; those of one key from the
// smallest change to the largest.
func settings(s *model.Scenario, jobs Lengths, surges bool) []Change {
	var all []Change
	for _, lease := range []protocol.Duration{2 * protocol.Minute, protocol.Minute, 30 * protocol.Second} {
		if lease < s.Queue.Lease {
			all = append(all, Change{Key: Lease, From: s.Queue.Lease, To: lease})
		}
	}
	if half := s.Queue.Heartbeat / 2; s.Queue.Heartbeat != model.NoHeartbeat && half >= protocol.Second {
		all = append(all, Change{Key: Heartbeat, From: s.Queue.Heartbeat, To: half})
	}
	for _, g := range graces(s, jobs) {
		all = append(all, Change{Key: Grace, From: s.Supervisor.Allowed(), To: g})
	}
	if gap := longestGap(s); gap >= protocol.Second {
		all = append(all, Change{Key: Gap, From: gap, To: gap / 5})
	}
	if every := rounded(jobs.P50 / 4); every >= protocol.Second && !saves(s) {
		all = append(all, Change{Key: Save, To: every})
	}
	if surges {
		all = append(all, rollouts(s)...)
	}
	return all
}

func longestGap(s *model.Scenario) protocol.Duration {
	var gap protocol.Duration
	for i := range s.Jobs {
		gap = max(gap, s.Jobs[i].Checkpoint)
	}
	return gap
}

func saves(s *model.Scenario) bool {
	return slices.ContainsFunc(s.Jobs, func(j model.Job) bool { return j.Save > 0 })
}

// graces are those in which half, nine in ten, and ninety-nine in a hundred jobs of a full length
// end after the stop, as far as the supervisor allows them and people wait for them.
func graces(s *model.Scenario, jobs Lengths) []protocol.Duration {
	const most = 15 * protocol.Minute
	now := s.Supervisor.Allowed()
	var all []protocol.Duration
	for _, length := range []protocol.Duration{jobs.P50, jobs.P90, jobs.P99} {
		grace, ok := s.Supervisor.ShortestGrace(func(left protocol.Duration) bool { return room(s, left) >= length })
		if grace = even(grace); !ok || s.Supervisor.Kind.Habits().Fixed() || grace <= now || grace > most || slices.Contains(all, grace) {
			continue
		}
		if limit := s.Supervisor.Kind.Habits().Most; grace <= limit {
			all = append(all, grace)
		}
	}
	return all
}

// room is how long the slowest kind may go on in a drain of such a length.
func room(s *model.Scenario, left protocol.Duration) protocol.Duration {
	c := protocol.Config{Grace: left}.WithDefaults()
	r := left
	for i := range s.Jobs {
		r = min(r, left-c.Closing(protocol.KindConfig{Gap: s.Jobs[i].Declared, Undo: s.Jobs[i].Undo}))
	}
	return r
}

// even rounds a grace up to what people write.
func even(d protocol.Duration) protocol.Duration {
	step := 5 * protocol.Second
	switch {
	case d > 10*protocol.Minute:
		step = protocol.Minute
	case d > protocol.Minute:
		step = 30 * protocol.Second
	}
	return (d + step - 1) / step * step
}

// rounded rounds down to one, two or five of a unit that people write, at most a minute.
func rounded(d protocol.Duration) protocol.Duration {
	for _, nice := range []protocol.Duration{60, 30, 20, 10, 5, 2, 1} {
		if d >= nice*protocol.Second {
			return nice * protocol.Second
		}
	}
	return 0
}

// rollouts are a quarter of new workers before old ones stop, and all of them.
func rollouts(s *model.Scenario) []Change {
	n := s.Fleet.Workers
	now := s.Supervisor.Rollout
	var all []Change
	for _, percent := range []int{25, 100} {
		r := model.Rollout{MaxSurge: model.IntOrPercent{Value: percent, Percent: true}}
		same := now.Strategy == model.RollingUpdate && now.MaxUnavailable.Value == 0 && pods(now.MaxSurge, n) == pods(r.MaxSurge, n)
		if !same && (len(all) == 0 || pods(all[0].Rollout.MaxSurge, n) != pods(r.MaxSurge, n)) {
			all = append(all, Change{Key: Surge, Rollout: r})
		}
	}
	return all
}

// pods is a number of workers to be added, rounded up as rollouts do.
func pods(v model.IntOrPercent, n int) int {
	if v.Percent {
		return (v.Value*n + 99) / 100
	}
	return v.Value
}
