package explore

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/quiesce/quiesce/sim/invariant"
)

// graph is every transition of a small world, by shard of the state it comes to.
type graph struct{ arcs [shards][]arc }

type arc struct {
	from, to uint32
	act      uint16
}

// mostArcs is the longest list of transitions that is kept.
const mostArcs = 20_000_000

// fairCycle looks for what may go on for ever without any job being done although nobody is
// unfair: a cycle on which time passes, and on which every handler that could come back all
// the time does so at some time. It looks for the strongly connected parts of the graph in
// which not every job has ended and somebody is there to do them; a part is a fair cycle when
// it holds a step of time, and for each slot either a return or a state in which nothing runs.
func (s *search) fairCycle() {
	if s.edges == nil {
		return
	}
	g := s.flatten()
	best, depth, size := nobody, 0, 0
	for _, part := range g.parts() {
		at := slices.MinFunc(part, func(a, b uint32) int { return cmp.Compare(s.depthOf(g.ids[a]), s.depthOf(g.ids[b])) })
		if d := s.depthOf(g.ids[at]); (best == nobody || d < depth) && s.fair(g, part) {
			best, depth, size = at, d, len(part)
		}
	}
	if best == nobody {
		return
	}
	s.report.Broken = broken(invariant.DoneAfterFaults, "%d states can follow each other for ever, fairly, and not every job is ever done", size)
	s.report.Depth = depth
	s.report.Story = s.story(finding{broken: s.report.Broken, state: g.ids[best]})
	s.report.Cycle = s.lap(g, best)
}

// lap tells a short way from a state of a fair cycle back to it, on which time passes and, if
// the cycle has such a step, a handler comes back.
func (s *search) lap(g *flat, from uint32) []Line {
	const timed, returned = 1, 2
	type place struct {
		at   uint32
		seen uint8 // of timed and returned
	}
	type step struct {
		from place
		act  uint16
	}
	goal := place{from, timed}
	came := map[place]step{}
	queue := []place{{from, 0}}
	for n := 0; n < len(queue); n++ {
		p := queue[n]
		for k := g.first[p.at]; k < g.first[p.at+1]; k++ {
			if g.part[g.to[k]] != g.part[from] {
				continue
			}
			next := place{g.to[k], p.seen}
			switch actionOf(g.act[k]).kind {
			case passTime:
				next.seen |= timed
			case comeBack:
				next.seen |= returned
				goal.seen |= returned
			}
			if _, known := came[next]; !known {
				came[next] = step{p, g.act[k]}
				queue = append(queue, next)
			}
		}
	}
	var acts []uint16
	for at := goal; at != (place{from, 0}); at = came[at].from {
		acts = append(acts, came[at].act)
	}
	t := s.newTeller()
	for _, a := range s.path(g.ids[from]) {
		t.makes(a)
	}
	before := len(t.lines)
	for _, act := range slices.Backward(acts) {
		t.makes(actionOf(act))
	}
	return t.lines[before:]
}

// flat is the graph with states numbered from 0 on.
type flat struct {
	ids   []uint32 // by number
	first []uint32 // of a state's arcs; one more at the end
	to    []uint32
	act   []uint16
	part  []uint32 // by number; set by parts
}

func (s *search) number(id uint32, offset *[shards]uint32) uint32 {
	return offset[id&(shards-1)] + id>>shardBits
}

func (s *search) flatten() *flat {
	var offset [shards]uint32
	n := uint32(0)
	for k := range s.shards {
		offset[k] = n
		n += s.shards[k].seen.n
	}
	g := &flat{ids: make([]uint32, n), first: make([]uint32, n+1), part: make([]uint32, n)}
	arcs := 0
	for k := range s.shards {
		for id := range s.shards[k].seen.n {
			g.ids[offset[k]+id] = id<<shardBits | uint32(k)
		}
		for _, a := range s.edges.arcs[k] {
			g.first[s.number(a.from, &offset)+1]++
			arcs++
		}
	}
	for i := range n {
		g.first[i+1] += g.first[i]
	}
	g.to, g.act = make([]uint32, arcs), make([]uint16, arcs)
	next := append([]uint32(nil), g.first[:n]...)
	for k := range s.shards {
		for _, a := range s.edges.arcs[k] {
			from := s.number(a.from, &offset)
			g.to[next[from]], g.act[next[from]] = s.number(a.to, &offset), a.act
			next[from]++
		}
	}
	return g
}

// parts returns the strongly connected parts of more than one state, or of one that leads to
// itself, by Tarjan's algorithm (1972) without recursion.
func (g *flat) parts() [][]uint32 {
	const none = ^uint32(0)
	n := uint32(len(g.ids))
	index, low := make([]uint32, n), make([]uint32, n)
	for i := range index {
		index[i], g.part[i] = none, none
	}
	type frame struct{ at, arc uint32 }
	var (
		found [][]uint32
		stack []uint32
		calls []frame
		clock uint32
		parts uint32
	)
	for root := range n {
		if index[root] != none {
			continue
		}
		calls = append(calls, frame{root, g.first[root]})
		for len(calls) > 0 {
			f := &calls[len(calls)-1]
			v := f.at
			if index[v] == none {
				index[v], low[v] = clock, clock
				clock++
				stack = append(stack, v)
			}
			if f.arc < g.first[v+1] {
				w := g.to[f.arc]
				f.arc++
				if index[w] == none {
					calls = append(calls, frame{w, g.first[w]})
				} else if g.part[w] == none {
					low[v] = min(low[v], index[w])
				}
				continue
			}
			calls = calls[:len(calls)-1]
			if len(calls) > 0 {
				up := calls[len(calls)-1].at
				low[up] = min(low[up], low[v])
			}
			if low[v] != index[v] {
				continue
			}
			var part []uint32
			for {
				w := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				g.part[w] = parts
				part = append(part, w)
				if w == v {
					break
				}
			}
			parts++
			if len(part) > 1 || g.loops(v) {
				found = append(found, part)
			}
		}
	}
	return found
}

func (g *flat) loops(v uint32) bool {
	for _, w := range g.to[g.first[v]:g.first[v+1]] {
		if w == v {
			return true
		}
	}
	return false
}

// fair reports whether a part can go on for ever without being unfair to anybody.
func (s *search) fair(g *flat, part []uint32) bool {
	l := s.lanes[0]
	var time bool
	var returned, rested [maxWorkers * maxSlots]bool
	for _, v := range part {
		for k := g.first[v]; k < g.first[v+1]; k++ {
			if g.part[g.to[k]] != g.part[v] {
				continue
			}
			switch a := actionOf(g.act[k]); a.kind {
			case passTime:
				time = true
			case comeBack:
				returned[a.a] = true
			}
		}
		st := s.reach(l, g.ids[v])
		if !l.engine.served(st) || l.engine.ended(st) {
			return false
		}
		for i := range st.workers {
			for k := range l.engine.slots {
				if h := &st.workers[i].hands[k]; h.state == idle || st.workers[i].paused {
					rested[i*maxSlots+k] = true
				}
			}
		}
	}
	for i := range s.world.Workers {
		for k := range s.world.slots() {
			if at := i*maxSlots + k; !returned[at] && !rested[at] {
				return false
			}
		}
	}
	return time
}

// reach makes a lane's state the one with a number, by going there.
func (s *search) reach(l *lane, id uint32) *state {
	e, st := l.engine, l.at
	e.decode(st, append([]byte(nil), e.encode(e.initial())...))
	for _, a := range s.path(id) {
		c := l.scratch
		e.copyAll(st, c)
		e.apply(c, a)
		e.decode(st, append([]byte(nil), e.encodeChild(c)...))
	}
	return st
}

// add notes a transition.
func (g *graph) add(shard int, from, to uint32, act uint16) {
	if len(g.arcs[shard]) > mostArcs/shards {
		panic(fmt.Sprintf("explore: a world with more than %d transitions is too large to look for fair cycles in", mostArcs))
	}
	g.arcs[shard] = append(g.arcs[shard], arc{from, to, act})
}
