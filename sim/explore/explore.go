// Package explore searches small worlds completely: every order in which messages arrive
// or are lost, handlers end, timers fire, and a worker is told to stop.
//
// The machine and the reference broker are the very ones that the simulator and production
// run. Time is part of the state: deadlines fire when they are due, messages may be late up
// to their maximum life, and handlers take as long as they like. States are recognised by
// their canonical form, in which instants are relative and numbers that only grow are
// replaced by their ranks, so that a world without a horizon still has finitely many states.
//
// The search is breadth first, so a counter-example is as short as any.
package explore

import "fmt"

// Report is the result of a search.
type Report struct {
	World       string
	States      int
	Transitions int
	Depth       int
	Complete    bool     // every reachable state was seen
	Broken      string   // the invariant that does not hold, if any
	Story       []string // the shortest way to it
}

// node is a state that was seen, as its way back.
type node struct {
	parent int32
	act    action
}

// Run searches a world until it has seen everything, an invariant breaks, or limit states
// were seen.
func Run(w World, limit int) Report {
	s := newSearch(w)
	rep := Report{World: w.Name}
	seen := map[[2]uint64]struct{}{}
	nodes := []node{{parent: -1}}
	first := s.initial()
	seen[digest(s.key(first))] = struct{}{}
	level := []*state{first}
	ids := []int32{0}
	rep.States = 1
	var acts []action
	for len(level) > 0 {
		var next []*state
		var nextIDs []int32
		for n, st := range level {
			acts = s.actions(st, acts[:0])
			if len(acts) == 0 && !st.done() && st.served() {
				rep.Broken = "nothing can happen any more, but not every job is done"
				rep.Story = s.story(nodes, ids[n])
				return rep
			}
			for _, a := range acts {
				c := s.clone(st)
				s.apply(c, a)
				rep.Transitions++
				key := digest(s.key(c))
				_, known := seen[key]
				if known && c.broken == "" {
					s.recycle(c)
					continue
				}
				seen[key] = struct{}{}
				nodes = append(nodes, node{ids[n], a})
				id := int32(len(nodes) - 1)
				if broken := s.check(c); broken != "" {
					rep.Broken = broken
					rep.Depth++
					rep.Story = s.story(nodes, id)
					return rep
				}
				rep.States++
				if c.done() && !c.holding() {
					s.recycle(c) // nothing that is promised can break any more
					continue
				}
				next = append(next, c)
				nextIDs = append(nextIDs, id)
			}
			s.recycle(st)
			if rep.States >= limit {
				return rep
			}
		}
		if len(next) > 0 {
			rep.Depth++
		}
		level, ids = next, nextIDs
	}
	rep.Complete = true
	return rep
}

// story replays the way to a node and tells it.
func (s *search) story(nodes []node, id int32) []string {
	var acts []action
	for ; nodes[id].parent >= 0; id = nodes[id].parent {
		acts = append(acts, nodes[id].act)
	}
	st := s.initial()
	var lines []string
	for i := len(acts) - 1; i >= 0; i-- {
		lines = append(lines, fmt.Sprintf("%v  %s", st.now, s.describe(st, acts[i])))
		s.apply(st, acts[i])
	}
	return lines
}

// digest shortens a canonical form to 128 bits: among a billion states two different ones
// share a digest with a probability below 10^-20.
func digest(key []byte) [2]uint64 {
	a, b := uint64(0x9e3779b97f4a7c15), uint64(0xc2b2ae3d27d4eb4f)
	for _, c := range key {
		a = (a ^ uint64(c)) * 0x100000001b3
		a ^= a >> 29
		b = (b + uint64(c)) * 0xd6e8feb86659fd93
		b ^= b >> 32
	}
	return [2]uint64{a, b}
}
