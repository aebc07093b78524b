package explore

import (
	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// The second is the tick of a small world: every duration is a small number of them, so
// that instants coincide as often as they can.
const tick = protocol.Second

// World is a small world to search completely. Durations are whole ticks.
type World struct {
	Name       string
	Workers    int  // one slot each
	Jobs       int  // all there from the start
	Undo       bool // a cancelled handler leaves something to undo
	Stops      int  // workers that are told to stop, from the first on
	Losses     int  // messages that may be lost
	Duplicates int  // messages that may arrive twice
	Crashes    int  // workers that may die at any instant, from the first on

	Lease, Heartbeat, Park, Grace, Reserve protocol.Duration
	MessageLife                            protocol.Duration // a message arrives within it or is lost

	Policy     protocol.Policy
	Deviations deviation.Set
}

// TwoByTwo is the first world: two workers, two jobs, one stop and one lost message.
func TwoByTwo() World {
	return World{
		Name: "two-by-two", Workers: 2, Jobs: 2, Undo: true, Stops: 1, Losses: 1,
		Lease: 6 * tick, Heartbeat: 2 * tick, Park: 2 * tick, Grace: 6 * tick, Reserve: 4 * tick,
		MessageLife: 0,
	}
}

// search holds what all states of one search share.
type search struct {
	world  World
	cfg    protocol.Config
	broker model.BrokerConfig
	fx     *protocol.Effects
	out    model.Outbox
	ranks  ranks
	buf    []byte
	keys   []string
	spare  []*state
}

func newSearch(w World) *search {
	s := &search{world: w}
	s.cfg = protocol.Config{
		Policy: w.Policy, Queues: 1,
		Kinds: []protocol.KindConfig{{}},
		Lease: w.Lease, Heartbeat: w.Heartbeat, Margin: tick,
		Park: w.Park, Reply: max(2*w.MessageLife, tick),
		// A repetition can only matter after its forerunner was delivered or lost.
		Poll: protocol.Backoff{Min: tick, Max: tick}, Retry: protocol.Backoff{Min: 2 * tick, Max: 2 * tick},
		RefuseDelay: tick, BusyDelay: tick, Grace: w.Grace, Reserve: w.Reserve, Deviations: w.Deviations,
	}
	if w.Undo {
		s.cfg.Kinds[0].Undo = tick
	}
	s.broker = model.BrokerConfig{
		Lease: w.Lease, Park: w.Park, MaxFailures: 3, Poison: 3, Starving: 1,
		Backoff: protocol.Backoff{Min: tick, Max: tick},
		// Rows stay: a job that is done is part of the state.
		MaxMessageAge: 1 << 60, Deviations: w.Deviations,
	}
	s.fx = protocol.NewEffects(1, 1)
	return s
}

// handlerState is what the code in a slot does.
type handlerState uint8

const (
	idle handlerState = iota
	working
	told // cancelled, not back yet
	undoing
)

// worker is one process and the handler in its slot.
type worker struct {
	machine protocol.Machine
	slot    [1]protocol.Slot
	request [1]protocol.Request
	member  model.Member
	job     protocol.JobKey
	token   protocol.Token
	killAt  protocol.Instant
	handler handlerState
	stopped bool
	dead    bool
	clean   bool // it exited by itself and said that it holds nothing
}

// message is on its way, to the broker or to a worker.
type message struct {
	toBroker bool
	hangup   bool
	worker   int8
	request  model.Request
	parts    [2]protocol.Event // an answer and, for a claim, the grant before it
	n        int8
	due      protocol.Instant // it arrives by then or never
}

// state is one state of a world.
type state struct {
	now      protocol.Instant
	workers  []worker
	broker   *model.Broker
	messages []message
	stops    int8
	losses   int8
	doubles  int8
	crashes  int8
	returned uint32 // jobs of which an execution has returned nil
	hurt     bool   // a crash or a lost message may cost an expiry
	broken   string // an invariant that the last action broke
}

func (s *search) initial() *state {
	st := &state{workers: make([]worker, s.world.Workers), broker: model.NewBroker(&s.broker, s.world.Workers, 1)}
	for j := range s.world.Jobs {
		st.broker.Enqueue(0, protocol.JobKey(j+1), 0, 0, 0, &s.out)
	}
	s.out.Reset()
	for i := range st.workers {
		w := &st.workers[i]
		w.machine.Init(&s.cfg, protocol.Memory{Slots: w.slot[:], Requests: w.request[:]}, 0)
		w.member = model.Member{Seat: int32(i), Nonce: uint64(i) + 1}
		w.killAt = protocol.Never
	}
	for i := range st.workers {
		s.step(st, i, protocol.Event{Kind: protocol.Tick})
		// Registration has no interesting orders: it is over before the search begins.
		last := len(st.messages) - 1
		reg := st.messages[last].request
		st.messages = st.messages[:last]
		st.broker.Handle(0, reg, &s.out)
		ev := s.out.Answers[0].Event
		s.out.Reset()
		s.step(st, i, ev)
	}
	return st
}

// clone returns an independent copy of st, in the memory of a state that was given back.
func (s *search) clone(st *state) *state {
	var c *state
	if n := len(s.spare); n > 0 {
		c, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		c = &state{workers: make([]worker, len(st.workers)), broker: new(model.Broker)}
	}
	workers, broker, messages := c.workers, c.broker, c.messages
	*c = *st
	c.workers, c.broker, c.messages = workers, broker, append(messages[:0], st.messages...)
	for i := range st.workers {
		from, to := &st.workers[i], &c.workers[i]
		*to = *from
		from.machine.CopyTo(&to.machine, protocol.Memory{Slots: to.slot[:], Requests: to.request[:]})
	}
	st.broker.CopyTo(c.broker)
	return c
}

// recycle gives the memory of a state back that nobody looks at any more.
func (s *search) recycle(st *state) { s.spare = append(s.spare, st) }
