package hunt

import (
	"math"
	"slices"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim/invariant"
)

// mostShortenings bounds how many changes are tried for the sake of the story alone, and a story
// of shortEnough lines is as good as any.
const (
	mostShortenings = 1500
	shortEnough     = 4
)

// shorten looks for a scenario that takes fewer lines to tell: the fewest faults and the roundest
// numbers may still need a job to come and go three times before what matters. A change is kept
// only if the story has become shorter, whatever it does to the numbers.
func (m *minimiser) shorten(id invariant.ID) {
	lines := m.linesOf(m.best, id)
	left := mostShortenings
	try := func(change func(*model.Scenario)) {
		c := clone(m.best)
		if change(c); lines <= shortEnough || left == 0 || !sound(c) {
			return
		}
		left--
		m.runs++
		if o, err := Try(c); !m.same(c, o, err) {
			return
		}
		if n := m.linesOf(c, id); n < lines {
			m.best, lines = c, n
		}
	}
	for lines > shortEnough {
		before := lines
		m.earlier(try)
		m.company(try)
		m.otherLengths(try)
		m.otherChances(try)
		if lines == before {
			return
		}
	}
}

// linesOf counts the lines of the story about an invariant that a scenario is known to break, with
// those that are left out of a long one: a story is not short because its beginning is missing.
func (m *minimiser) linesOf(sc *model.Scenario, id invariant.ID) int {
	s, err := Tell(sc, id)
	if err != nil || s == nil {
		return math.MaxInt
	}
	return s.all
}

// soon are instants before which little has happened.
var soon = []protocol.Duration{sec, 2 * sec, 3 * sec, 5 * sec, 8 * sec, 13 * sec, 20 * sec}

// earlier has deploys and faults come earlier, or one deploy instead of them all.
func (m *minimiser) earlier(try func(func(*model.Scenario))) {
	for _, at := range soon {
		for i := range m.best.Deploys.At {
			try(func(sc *model.Scenario) {
				if i < len(sc.Deploys.At) {
					sc.Deploys.At[i] = min(sc.Deploys.At[i], protocol.Instant(at))
					slices.Sort(sc.Deploys.At)
					sc.Deploys.At = slices.Compact(sc.Deploys.At)
				}
			})
		}
		for i := range m.best.Faults.At {
			try(func(sc *model.Scenario) {
				if i < len(sc.Faults.At) {
					sc.Faults.At[i].At = min(sc.Faults.At[i].At, protocol.Instant(at))
					slices.SortStableFunc(sc.Faults.At, func(a, b model.NodeFault) int { return int(a.At - b.At) })
				}
			})
		}
		if at < m.best.Duration {
			try(func(sc *model.Scenario) {
				sc.Deploys.At, sc.Faults.At = []protocol.Instant{protocol.Instant(at)}, nil
			})
		}
	}
}

// company has somebody else there from the start, instead of a replacement that comes with a deploy.
func (m *minimiser) company(try func(func(*model.Scenario))) {
	for n := 2; n <= 3; n++ {
		try(func(sc *model.Scenario) { sc.Fleet.Workers, sc.Deploys.At = max(sc.Fleet.Workers, n), nil })
	}
}

// otherLengths gives work, leases and graces another length.
func (m *minimiser) otherLengths(try func(func(*model.Scenario))) {
	for _, d := range []protocol.Duration{500 * ms, sec, 2 * sec, 4 * sec, 10 * sec, 20 * sec, 40 * sec} {
		for i := range m.best.Jobs {
			try(func(sc *model.Scenario) { law(&sc.Jobs[i].Work, d) })
			try(func(sc *model.Scenario) { law(&sc.Jobs[i].Arrivals, d) })
		}
		try(func(sc *model.Scenario) {
			q := &sc.Queue
			q.Lease, q.Heartbeat, q.Margin = d, d/3, min(d/50, sec)
		})
		try(func(sc *model.Scenario) { sc.Supervisor.Grace = d })
	}
}

// otherChances leaves other things to chance, or the same to another one.
func (m *minimiser) otherChances(try func(func(*model.Scenario))) {
	for _, loss := range []model.PPB{0, model.Certain / 4, model.Certain / 2} {
		for seed := range uint64(30) {
			try(func(sc *model.Scenario) {
				if sc.Faults.Network.Loss > 0 {
					sc.Faults.Network.Loss = max(sc.Faults.Network.Loss, loss)
				} else if loss > 0 {
					return
				}
				sc.Finding.Overrides, sc.Finding.Seed = nil, seed
			})
		}
	}
}
