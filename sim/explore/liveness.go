package explore

import "github.com/quiesce/quiesce/sim/invariant"

// finish judges liveness once every state is known: from each, the schedule without faults,
// in which everything happens as soon as it can, must come to a state in which every job has
// ended. Every state has one successor under that schedule, so following them all once is
// enough.
func (s *search) finish() {
	s.report.Complete = true
	good := s.good()
	bad, depth := nobody, 0
	for k := range s.shards {
		for id := uint32(0); id < s.shards[k].seen.n; id++ {
			full := id<<shardBits | uint32(k)
			if good[k][id] == reaches {
				continue
			}
			if d := s.depthOf(full); bad == nobody || d < depth {
				bad, depth = full, d
			}
		}
	}
	if bad == nobody {
		s.fairCycle()
		return
	}
	s.report.Broken = broken(invariant.DoneAfterFaults, "from here on, without any further fault, the jobs are never done")
	s.report.Depth = depth
	s.report.Story = s.story(finding{broken: s.report.Broken, depth: depth, state: bad})
	s.report.Cycle = s.follow(bad)
}

const (
	unknown uint8 = iota
	onTheWay
	reaches
	circles
)

// good says of every state whether its schedule comes to rest.
func (s *search) good() (good [shards][]uint8) {
	for k := range s.shards {
		good[k] = make([]uint8, s.shards[k].seen.n)
	}
	var way []uint32
	for k := range s.shards {
		for id := uint32(0); id < s.shards[k].seen.n; id++ {
			at := id<<shardBits | uint32(k)
			verdict := unknown
			for way = way[:0]; verdict == unknown; {
				mark := &good[at&(shards-1)][at>>shardBits]
				switch *mark {
				case reaches, circles:
					verdict = *mark
					continue
				case onTheWay:
					verdict = circles
					continue
				}
				*mark = onTheWay
				way = append(way, at)
				switch next := s.shards[at&(shards-1)].prompt.get(at >> shardBits); next {
				case atRest:
					verdict = reaches
				case notKnown:
					verdict = circles
				default:
					at = next
				}
			}
			for _, w := range way {
				good[w&(shards-1)][w>>shardBits] = verdict
			}
		}
	}
	return good
}

// follow tells the schedule from a state until it repeats itself.
func (s *search) follow(id uint32) []Line {
	t := s.newTeller()
	for _, a := range s.path(id) {
		t.makes(a)
	}
	before := len(t.lines)
	seen := []uint32{id}
	for len(seen) < 200 {
		next := s.shards[id&(shards-1)].prompt.get(id >> shardBits)
		if next >= notKnown {
			break
		}
		t.e.actions(t.st, &s.lanes[0].menu)
		acts := s.lanes[0].menu.list
		if s.opts.Partial {
			c := t.e.empty()
			t.e.copyAll(t.st, c)
			acts = t.e.reduce(t.st, c, &s.lanes[0].menu)
		}
		t.makes(acts[0])
		for _, old := range seen {
			if old == next {
				return t.lines[before:]
			}
		}
		seen = append(seen, next)
		id = next
	}
	return t.lines[before:]
}
