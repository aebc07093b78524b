package redis

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// lane gathers what goes to one partition: everything that is settled while a call is out,
// and the next claim request, travel in one script call. It never waits for more to come.
type lane struct {
	partition *partition

	mu       sync.Mutex
	settles  []*settleCall
	claims   []*claimCall
	out      int  // calls that are out
	settling int  // those of them that carry settlements
	starting bool // a flight has begun and not loaded yet: it takes what comes until then
}

// callsOut is how many calls of a lane may be out at once.
const callsOut = 2

type settleCall struct {
	items    []worker.Settlement
	codes    []protocol.Code
	answered func(error) // is called once, and before a claim that came later is answered
}

type claimCall struct {
	args [5]string // member, seq, want, park, hops
	// kinds is what the worker understands.
	kinds    string
	answer   turnAnswer
	answered func(error) // is called once
}

// turnAnswer is what a claim in a turn is answered.
type turnAnswer struct {
	status  string // ok, wait, refused, unknown
	parked  time.Duration
	sleep   time.Duration
	newer   bool
	token   protocol.Token
	ids     []rueidis.RedisMessage
	records []rueidis.RedisMessage
	extras  []rueidis.RedisMessage
}

func (l *lane) post(c *settleCall) {
	l.mu.Lock()
	l.settles = append(l.settles, c)
	l.start()
}

func (l *lane) claim(c *claimCall) {
	l.mu.Lock()
	l.claims = append(l.claims, c)
	l.start()
}

// ask is claim that waits for the answer.
func (l *lane) ask(ctx context.Context, c *claimCall) error {
	done := make(chan error, 1)
	c.answered = func(err error) { done <- err }
	l.claim(c)
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("redis: claim: %w", ctx.Err())
	}
}

// start is called with l.mu held and gives it back.
func (l *lane) start() {
	fly := l.out < callsOut && !l.starting
	if fly {
		l.out++
		l.starting = true
	}
	l.mu.Unlock()
	if fly {
		l.partition.queue.broker.crew.Go(l.fly)
	}
}

// fly sends calls until nothing is left to send.
func (l *lane) fly() {
	var call turnCall
	for {
		// Whoever is about to settle or to claim gets the processor first: that raises the
		// batch more than any timer does.
		runtime.Gosched()
		if !l.load(&call) {
			return
		}
		call.send(l.partition)
		l.landed(&call)
	}
}

func (l *lane) landed(call *turnCall) {
	l.mu.Lock()
	if len(call.settles) > 0 {
		l.settling--
	}
	l.mu.Unlock()
}

// turnCall is one script call.
type turnCall struct {
	settles []*settleCall
	claim   *claimCall
	args    []string
	long    map[protocol.JobKey]bool // jobs of which something else than an ack is said
}

// load takes what goes with the next call; false, when there is nothing, ends the flight. A
// claim waits until the settlements that came before it are answered, or goes with them: two
// calls that are out may be carried out in any order.
func (l *lane) load(call *turnCall) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.starting = false
	call.settles, call.claim = call.settles[:0], nil
	n := 0
	for len(l.settles) > 0 && (n == 0 || n+len(l.settles[0].items) <= batchLimit) {
		n += len(l.settles[0].items)
		call.settles = append(call.settles, l.settles[0])
		l.settles[0] = nil
		l.settles = l.settles[1:]
	}
	if len(l.claims) > 0 && len(l.settles) == 0 && l.settling == 0 {
		call.claim = l.claims[0]
		l.claims[0] = nil
		l.claims = l.claims[1:]
	}
	if n > 0 {
		l.settling++
	}
	if n == 0 && call.claim == nil {
		l.out--
		return false
	}
	return true
}

func (call *turnCall) send(p *partition) {
	b := p.queue.broker
	ctx, cancel := context.WithTimeout(context.Background(), b.opt.Timeout)
	defer cancel()
	acks, others := call.build(p)
	reply, err := b.run(ctx, &b.scripts.turn, p.keys, call.args).ToArray()
	if err == nil && len(reply) == 0 {
		err = errors.New("an empty answer")
	}
	var letters string
	if err == nil {
		letters, err = reply[0].ToString()
	}
	if err == nil && len(letters) != acks+others {
		err = fmt.Errorf("%d codes for %d settlements", len(letters), acks+others)
	}
	if err != nil {
		err = fmt.Errorf("redis: turn: %w", err)
	}
	call.deliver(letters, acks, err)
	if c := call.claim; c != nil {
		if err == nil {
			err = c.answer.read(reply[1:])
		}
		c.answered(err)
	}
}

// build makes the arguments: acks first, they are short. Their order among the others makes
// no difference, except to other verbs for the same job.
func (call *turnCall) build(p *partition) (acks, others int) {
	args := append(call.args[:0], p.queue.policy, "", "", "", "0", "0", "0", "0", "")
	call.sort()
	for _, s := range call.settles {
		for i := range s.items {
			if it := &s.items[i]; call.short(it) {
				acks++
				args = append(args, idOf(it.Job), padded(it.Token))
			}
		}
	}
	for _, s := range call.settles {
		for i := range s.items {
			if it := &s.items[i]; !call.short(it) {
				others++
				class, message := describe(it.Cause)
				args = append(args, idOf(it.Job), padded(it.Token), strconv.Itoa(int(it.Verb)), strconv.Itoa(int(it.Reason)),
					micros(it.Delay), micros(p.queue.jitter(it)), optional(it.Cursor), class, message, p.queue.broker.opt.Build)
			}
		}
	}
	args[1], args[2] = strconv.Itoa(acks), strconv.Itoa(others)
	if call.claim != nil {
		copy(args[3:8], call.claim.args[:])
		args[8] = call.claim.kinds
	}
	call.args = args
	return acks, others
}

// sort notes the jobs of which something else than an ack is said.
func (call *turnCall) sort() {
	clear(call.long)
	for _, s := range call.settles {
		for i := range s.items {
			if s.items[i].Verb != protocol.Ack {
				if call.long == nil {
					call.long = map[protocol.JobKey]bool{}
				}
				call.long[s.items[i].Job] = true
			}
		}
	}
}

// short reports whether a settlement travels as id and token alone.
func (call *turnCall) short(it *worker.Settlement) bool {
	return it.Verb == protocol.Ack && (len(call.long) == 0 || !call.long[it.Job])
}

// deliver hands out codes, in the order of build.
func (call *turnCall) deliver(letters string, acks int, err error) {
	ack, other := 0, acks
	for k, s := range call.settles {
		for i := range s.items {
			switch {
			case err != nil:
			case call.short(&s.items[i]):
				s.codes[i] = codeOf(letters[ack])
				ack++
			default:
				s.codes[i] = codeOf(letters[other])
				other++
			}
		}
		s.answered(err)
		call.settles[k] = nil
	}
}

func (a *turnAnswer) read(reply []rueidis.RedisMessage) (err error) {
	if len(reply) == 0 {
		return fmt.Errorf("redis: turn: a claim without an answer")
	}
	if a.status, err = reply[0].ToString(); err != nil {
		return err
	}
	switch {
	case a.status == "ok" && len(reply) == 6:
		parked, err := reply[1].ToString()
		if err != nil {
			return err
		}
		a.parked = microsOf(parked)
		token, err := reply[2].ToString()
		if err != nil {
			return err
		}
		if token != "" {
			n, err := strconv.ParseUint(token, 10, 64)
			if err != nil {
				return fmt.Errorf("redis: turn: token %q: %w", token, err)
			}
			a.token = protocol.Token(n)
		}
		if a.ids, err = reply[3].ToArray(); err != nil {
			return err
		}
		if a.records, err = reply[4].ToArray(); err != nil {
			return err
		}
		a.extras, err = reply[5].ToArray()
		return err
	case a.status == "wait" && len(reply) == 3:
		sleep, err := reply[1].ToString()
		if err != nil {
			return err
		}
		a.sleep = microsOf(sleep)
		newer, err := reply[2].AsInt64()
		a.newer = newer == 1
		return err
	case a.status == "refused", a.status == "unknown":
		return nil
	default:
		return fmt.Errorf("redis: turn: an answer %q with %d parts", a.status, len(reply))
	}
}

func micros(d time.Duration) string { return strconv.FormatInt(max(d, 0).Microseconds(), 10) }

func microsOf(s string) time.Duration {
	n, _ := strconv.ParseInt(s, 10, 64) // what scripts format
	return time.Duration(n) * time.Microsecond
}
