package explore

import (
	"cmp"
	"encoding/binary"
	"github.com/quiesce/quiesce/sim/invariant"
	"slices"
)

// Options say how a world is searched. The zero value searches it completely, alone.
type Options struct {
	MaxStates int  // stop when so many have been seen; 0 is never
	Symmetry  bool // states that differ in the names of workers, or of jobs that ended, are one
	Partial   bool // of steps that commute and that nobody sees, try one order
	Coverage  bool // note which events came to which states of the machine
	Edges     bool // look for fair cycles, too; needs a small world, and is without Symmetry

	// Lanes is into how many parts the work is divided, and Each runs do for each of n parts,
	// at once if it likes: this package starts no goroutine. Results do not depend on either.
	Lanes int
	Each  func(n int, do func(i int))

	// Progress is called now and then; a search that is told false stops.
	Progress func(Progress) bool
}

// Progress is how far a search has come.
type Progress struct {
	Depth, States, Frontier, Transitions int
}

// Report is the result of a search. It depends on the world and on Symmetry and Partial, and
// on nothing else.
type Report struct {
	World       string
	States      int
	Transitions int
	Depth       int
	Complete    bool   // every reachable state was seen, and liveness was judged
	Bound       string // what ended an incomplete search
	Broken      Broken // the invariant that does not hold, if any
	Story       []Line // the shortest way to it
	Cycle       []Line // liveness: what goes on for ever after it
	Bytes       int    // the most memory that states took at one time
	Covered     []Cell // with Coverage: sorted
}

// batch is how many states are expanded between two looks at what was found: what they lead
// to still lies in a cache then.
const batch = 128

// shardBits says into how many parts the states are divided, by their digests. Each is
// touched by one lane at a time, so no lock is needed, and the numbers of states do not
// depend on how many lanes there are.
const (
	shardBits = 4
	shards    = 1 << shardBits
)

// nobody is the parent of the first state, and the successor of one that has none.
const nobody = ^uint32(0)

// shard is one part of what was seen.
type shard struct {
	seen    table
	parents column[uint32]
	actions column[uint16]
	prompt  column[uint32] // successor under the schedule without faults
	next    uint32         // to expand, of those that wait for it in the order of their numbers
	links   []link         // found in this batch
}

// link says that to is what the schedule without faults makes of from.
type link struct{ from, to uint32 }

// Special values of prompt.
const (
	atRest   = nobody - 1 // nothing more is promised
	notKnown = nobody - 2
)

// search is a breadth-first search under way.
type search struct {
	world  World
	opts   Options
	shards [shards]shard
	lanes  []*lane
	level  frontier // that is expanded
	coming frontier // that comes next
	pool   pool     // of both
	report Report
	found  finding
	edges  *graph
}

// frontier is a level of states, in the order in which they were found.
type frontier struct {
	forms arena
	in    []uint8 // in which shard each is
}

// finding is the best counter-example so far: the shortest, and of those the first.
type finding struct {
	broken Broken
	depth  int
	state  uint32
	act    uint16
	acted  bool // the action broke it, not the state
}

// Run searches a world until everything was seen, an invariant breaks, or a bound is reached.
func Run(w World, opts Options) Report {
	s := newSearch(w, opts)
	s.run()
	s.cover()
	return s.report
}

// cover puts together what the lanes saw of the state tables.
func (s *search) cover() {
	all := newCoverage()
	for _, l := range s.lanes {
		if l.engine.seen != nil {
			for _, c := range l.engine.seen.cells {
				all.add(c.Table, c.Row, c.Column)
			}
		}
	}
	slices.SortFunc(all.cells, func(a, b Cell) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Row, b.Row), cmp.Compare(a.Column, b.Column))
	})
	s.report.Covered = all.cells
}

func newSearch(w World, opts Options) *search {
	if opts.Lanes < 1 {
		opts.Lanes = 1
	}
	if opts.Each == nil {
		opts.Each = func(n int, do func(int)) {
			for i := range n {
				do(i)
			}
		}
	}
	// Whose turn it is in turn cannot be told of states in which workers have changed names.
	opts.Symmetry = opts.Symmetry && !opts.Edges
	s := &search{world: w, opts: opts, report: Report{World: w.Name}}
	s.level.forms.pool, s.coming.forms.pool = &s.pool, &s.pool
	for range opts.Lanes {
		s.lanes = append(s.lanes, newLane(s))
	}
	if opts.Edges {
		s.edges = new(graph)
	}
	return s
}

func (s *search) run() {
	e := s.lanes[0].engine
	first := e.encode(e.initial())
	s.lanes[0].offer(first, nobody, 0, false)
	for k := range s.shards {
		s.insert(k)
	}
	s.gather()
	s.lanes[0].outgoing = [shards][]byte{}
	s.turn()
	for depth := 0; ; depth++ {
		s.report.Depth = depth
		if s.expand(depth); s.found.broken.Invariant != "" {
			s.report.Broken = s.found.broken
			s.report.Depth = s.found.depth
			s.report.Story = s.story(s.found)
			break
		}
		if s.report.Bound != "" {
			break
		}
		if s.turn() == 0 {
			s.finish()
			break
		}
	}
}

// turn makes the states found last the ones to expand, and returns how many there are.
func (s *search) turn() int {
	s.level, s.coming = s.coming, s.level
	s.coming.forms.blocks, s.coming.in = s.coming.forms.blocks[:0], s.coming.in[:0]
	for _, l := range s.lanes {
		l.engine.forget() // where the states of the last level were others will be
	}
	return len(s.level.in)
}

// expand expands every state of the frontier, in the order in which they were found: what came
// of one state has much in common, and two steps that commute are soon tried in the other order.
func (s *search) expand(depth int) {
	size := min(len(s.level.in)/8+1, batch) // in a narrow one memory is to come back, too
	entries := make([]entry, 0, size)
	forms := cursor{arena: &s.level.forms}
	begins := 0 // the batch, in which block
	for _, k := range s.level.in {
		sh := &s.shards[k]
		entries = append(entries, entry{sh.next<<shardBits | uint32(k), forms.next()})
		sh.next++
		if len(entries) == size {
			if s.batch(depth, entries); s.report.Bound != "" {
				return
			}
			entries = entries[:0]
			forms.give(begins) // of this batch a lane still has what it read last
			begins = forms.block
		}
	}
	s.batch(depth, entries)
	s.account()
	forms.give(len(forms.blocks))
}

// gather puts new states into the next frontier, in the order in which they were found.
func (s *search) gather() {
	for _, l := range s.lanes {
		for _, f := range l.fresh {
			if f == 0 {
				continue
			}
			k := (f - 1) & (shards - 1)
			o, _ := readOffer(l.outgoing[k][(f-1)>>shardBits:])
			s.coming.forms.put(o.form)
			s.coming.in = append(s.coming.in, uint8(k))
		}
		l.fresh = l.fresh[:0]
	}
}

// entry is a state to expand.
type entry struct {
	id   uint32
	form []byte
}

// batch expands some states: first every lane its part of them, then the shards take what
// is new, in the order in which it was found.
func (s *search) batch(depth int, entries []entry) {
	n := len(s.lanes)
	s.opts.Each(n, func(i int) {
		s.lanes[i].expand(depth, entries[i*len(entries)/n:(i+1)*len(entries)/n])
	})
	s.opts.Each(n, func(i int) {
		for k := i; k < shards; k += n {
			s.insert(k)
		}
	})
	s.gather()
	states := 0
	for k := range s.shards {
		sh := &s.shards[k]
		states += int(sh.seen.n)
		for _, l := range sh.links {
			s.setPrompt(l.from, l.to)
		}
		sh.links = sh.links[:0]
	}
	s.report.States = states
	for _, l := range s.lanes {
		s.report.Transitions += l.transitions
		l.transitions = 0
		if l.found.broken.Invariant != "" && (s.found.broken.Invariant == "" || l.found.depth < s.found.depth) {
			s.found = l.found
		}
		l.found = finding{}
		for k := range l.outgoing {
			l.outgoing[k] = l.outgoing[k][:0]
		}
	}
	switch {
	case s.opts.MaxStates > 0 && states >= s.opts.MaxStates:
		s.report.Bound = "the limit of states"
	case s.opts.Progress != nil && !s.opts.Progress(Progress{depth, states, len(entries), s.report.Transitions}):
		s.report.Bound = "it was interrupted"
	}
}

// insert takes what the lanes found for one shard.
func (s *search) insert(k int) {
	for _, l := range s.lanes {
		all := l.outgoing[k]
		for in := all; len(in) > 0; {
			o, rest := readOffer(in)
			if s.take(k, &o) {
				l.fresh[o.place] = 1 + (uint32(len(all)-len(in))<<shardBits | uint32(k))
			}
			in = rest
		}
	}
}

// take reports whether a state is new to its shard, which keeps it then.
func (s *search) take(k int, o *offer) (fresh bool) {
	sh := &s.shards[k]
	id, fresh := sh.seen.add(o.a, uint32(o.b>>shardBits))
	full := id<<shardBits | uint32(k)
	if fresh {
		sh.parents.push(o.parent)
		sh.actions.push(o.act)
		sh.prompt.push(notKnown)
	}
	if o.prompt {
		sh.links = append(sh.links, link{o.parent, full})
	}
	if s.edges != nil && o.parent != nobody {
		s.edges.add(k, o.parent, full, o.act)
	}
	return fresh
}

// account notes how much memory the states take.
func (s *search) account() {
	n := s.pool.held + cap(s.level.in) + cap(s.coming.in)
	for k := range s.shards {
		sh := &s.shards[k]
		n += sh.seen.size() + 4*sh.parents.size() + 2*sh.actions.size() + 4*sh.prompt.size()
	}
	s.report.Bytes = max(s.report.Bytes, n)
}

// lane is what one part of the work needs for itself.
type lane struct {
	search      *search
	engine      *engine
	at, scratch *state // the state being expanded, and one after an action
	menu        menu
	outgoing    [shards][]byte
	fresh       []uint32 // of what was offered in this batch: nothing, or from 1 on in which shard and where in outgoing what is new is
	transitions int
	found       finding
	recent      [recents]hash
}

// recents is of how many states that a lane has offered last it knows that they are not new.
const recents = 1 << 11

func newLane(s *search) *lane {
	l := &lane{search: s, engine: newEngine(s.world)}
	l.engine.coder.symmetry = s.opts.Symmetry
	if s.opts.Coverage {
		l.engine.seen = newCoverage()
	}
	l.at, l.scratch = l.engine.empty(), l.engine.empty()
	l.engine.copyAll(l.at, l.scratch)
	return l
}

// expand looks at states and offers what can come next.
func (l *lane) expand(depth int, entries []entry) {
	e := l.engine
	if len(entries) == 0 {
		e.forget() // what was read last will be written over
	}
	for _, en := range entries {
		st := l.at
		e.decodeNext(st, en.form)
		l.scratch.differs(st)
		if b := e.check(st); b.Invariant != "" {
			l.find(finding{broken: b, depth: depth, state: en.id})
			continue
		}
		rests := e.done(st)
		if !rests || e.world.Foreign > 0 { // jobs that nobody understands go round for ever
			e.actions(st, &l.menu)
			rests = rests || !e.served(st)
			if len(l.menu.list) == 0 && !rests {
				b := broken(invariant.DoneAfterFaults, "nothing can happen any more, and not every job has ended")
				l.find(finding{broken: b, depth: depth, state: en.id})
				continue
			}
		} else {
			l.menu.list = l.menu.list[:0]
		}
		if rests {
			l.search.setPrompt(en.id, atRest)
		}
		l.expandOne(depth, en.id, rests)
	}
}

func (l *lane) expandOne(depth int, id uint32, rests bool) {
	e := l.engine
	st, c := l.at, l.scratch
	acts, prompt := l.menu.list, l.menu.fault > 0
	if l.search.opts.Partial && e.reducible(&l.menu) {
		e.restore(st, c)
		acts = e.reduce(st, c, &l.menu)
	}
	for k, a := range acts {
		l.transitions++
		s := e.siteOf(st, a)
		form := e.recall(st, &s)
		if form == nil {
			e.restore(st, c)
			e.apply(c, a)
			if c.broken.Invariant != "" {
				l.find(finding{broken: c.broken, depth: depth + 1, state: id, act: a.code(), acted: true})
				continue
			}
			form = e.encodeChild(c)
			e.remember(st, c, &s)
		}
		l.offer(form, id, a.code(), k == 0 && prompt && !rests)
	}
}

// setPrompt says what a state's prompt schedule comes to. Lanes set different ones.
func (s *search) setPrompt(id, to uint32) {
	s.shards[id&(shards-1)].prompt.set(id>>shardBits, to)
}

// find keeps the shortest counter-example, and of those the first.
func (l *lane) find(f finding) {
	if l.found.broken.Invariant == "" || f.depth < l.found.depth {
		l.found = f
	}
}

// offer is a state that may be new, on its way to its shard.
type offer struct {
	a, b   uint64
	parent uint32
	place  uint32 // among those of its lane in this batch
	act    uint16
	prompt bool
	form   []byte
}

const offerHead = 16 + 4 + 4 + 2 + 1 + 2

func (l *lane) offer(form []byte, parent uint32, act uint16, prompt bool) {
	h := hashOf(form)
	if r := &l.recent[h.a%recents]; *r != h {
		*r = h
	} else if prompt || l.search.edges != nil {
		form = nil // nobody will read it
	} else {
		return
	}
	k := h.b & (shards - 1)
	l.search.shards[k].seen.foresee(h.a)
	out := binary.LittleEndian.AppendUint64(l.outgoing[k], h.a)
	out = binary.LittleEndian.AppendUint64(out, h.b)
	out = binary.LittleEndian.AppendUint32(out, parent)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(l.fresh)))
	out = append(out, byte(act), byte(act>>8), bit(prompt, 1), byte(len(form)), byte(len(form)>>8))
	l.fresh = append(l.fresh, 0)
	l.outgoing[k] = append(out, form...)
}

func readOffer(in []byte) (offer, []byte) {
	end := offerHead + int(binary.LittleEndian.Uint16(in[27:]))
	return offer{
		a: binary.LittleEndian.Uint64(in), b: binary.LittleEndian.Uint64(in[8:]),
		parent: binary.LittleEndian.Uint32(in[16:]), place: binary.LittleEndian.Uint32(in[20:]),
		act: binary.LittleEndian.Uint16(in[24:]), prompt: in[26] != 0, form: in[offerHead:end],
	}, in[end:]
}

// parentOf returns how a state was first reached.
func (s *search) parentOf(id uint32) (uint32, uint16) {
	sh := &s.shards[id&(shards-1)]
	return sh.parents.get(id >> shardBits), sh.actions.get(id >> shardBits)
}

// depthOf returns the level on which a state was found.
func (s *search) depthOf(id uint32) (depth int) {
	for id, _ = s.parentOf(id); id != nobody; id, _ = s.parentOf(id) {
		depth++
	}
	return depth
}
