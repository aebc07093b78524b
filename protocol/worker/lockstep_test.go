package worker_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	. "github.com/quiesce/quiesce/protocol/worker"
)

// One schedule, two worlds: the worker with its goroutines, contexts and timers, in a bubble
// of fake time, and the bare machine in a loop over a list of what happens next. At every
// instant both ask for the same.

// schedule is what comes from outside.
type schedule struct {
	jobs    []plan
	signals []signal
	outages []window // in which renewals, saves and settlements are not answered; a reconnection ends each
}

// plan is one job, and how its handler behaves in each execution.
type plan struct {
	at      protocol.Instant
	version uint16
	takes   protocol.Duration
	code    protocol.Code // when nobody cancels it
	reacts  protocol.Duration
	told    protocol.Code // when somebody does
	undoes  protocol.Duration
	saves   protocol.Duration // after its start; 0 is never
	flush   bool
}

type signal struct {
	at protocol.Instant
	ev protocol.Event
}

type window struct{ from, to protocol.Instant }

func (s *schedule) down(now protocol.Instant) bool {
	return slices.ContainsFunc(s.outages, func(w window) bool { return w.from <= now && now < w.to })
}

// regained reports whether an outage ends now.
func (s *schedule) regained(now protocol.Instant) bool {
	return slices.ContainsFunc(s.outages, func(w window) bool { return w.to == now })
}

// dice are drawn by splitmix64: a schedule is its seed.
type dice uint64

func (d *dice) roll(n int64) int64 {
	*d += 0x9e3779b97f4a7c15
	x := uint64(*d)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return int64((x ^ x>>31) % uint64(n))
}

// span draws a duration that no other one equals, in all likelihood.
func (d *dice) span(from, to protocol.Duration) protocol.Duration {
	return from + protocol.Duration(d.roll(int64(to-from)))
}

func newSchedule(seed uint64) *schedule {
	d := dice(seed)
	s := &schedule{}
	at := protocol.Instant(0)
	for range 1 + d.roll(12) {
		at = at.Add(d.span(0, 8*protocol.Second))
		p := plan{
			at: at, version: 1, takes: d.span(protocol.Millisecond, 40*protocol.Second), reacts: d.span(0, 3*protocol.Second),
			undoes: d.span(0, 3*protocol.Second), flush: d.roll(2) == 0,
			code: protocol.ReturnedNil + protocol.Code(d.roll(4)), told: protocol.ReturnedNil + protocol.Code(d.roll(4)),
		}
		if d.roll(8) == 0 {
			p.version = 9 // not understood
		}
		if d.roll(3) == 0 {
			p.reacts = d.span(20*protocol.Second, 40*protocol.Second) // deaf
		}
		if d.roll(2) == 0 {
			p.saves = d.span(1, p.takes)
		}
		s.jobs = append(s.jobs, p)
	}
	at = protocol.Instant(d.span(0, 60*protocol.Second))
	add := func(ev protocol.Event) {
		s.signals = append(s.signals, signal{at, ev})
		at = at.Add(d.span(protocol.Millisecond, 6*protocol.Second))
	}
	if d.roll(3) == 0 {
		add(protocol.Event{Kind: protocol.QuietAsked})
		add(protocol.Event{Kind: protocol.ResumeAsked})
	}
	if d.roll(3) == 0 {
		add(protocol.StopFrom(protocol.FromNotice, at.Add(40*protocol.Second)))
	}
	number := []protocol.Signal{protocol.SIGTERM, protocol.SIGINT}[d.roll(2)]
	for range 1 + d.roll(3) {
		add(protocol.StopBySignal(number, protocol.Never))
	}
	if d.roll(3) == 0 {
		add(protocol.KillAt(at.Add(d.span(0, 30*protocol.Second))))
	}
	for range d.roll(3) {
		from := protocol.Instant(d.span(0, 90*protocol.Second))
		s.outages = append(s.outages, window{from, from.Add(d.span(0, 40*protocol.Second))})
	}
	return s
}

// asked is an effect and its instant.
type asked struct {
	now protocol.Instant
	fx  protocol.Effect
}

// tidy makes two lists of effects comparable: what is asked for at one instant has no order,
// tokens are the broker's clock, and which of two free slots takes a job is decided by the
// order of two answers that come at once.
func tidy(all []asked) []asked {
	for i := range all {
		all[i].fx.Token, all[i].fx.Slot = 0, 0
	}
	slices.SortStableFunc(all, func(a, b asked) int {
		return cmp.Or(cmp.Compare(a.now, b.now), cmp.Compare(fmt.Sprint(a.fx), fmt.Sprint(b.fx)))
	})
	return all
}

func TestOneScheduleGivesTheSameEffectsInTheWorkerAndInTheLaboratory(t *testing.T) {
	seeds := uint64(400)
	if testing.Short() {
		seeds = 50
	}
	kinds := map[protocol.EffectKind]bool{}
	for seed := range seeds {
		s := newSchedule(seed)
		got, setup := inProduction(t, s)
		want := inTheLaboratory(s, setup)
		if !slices.Equal(want, got) {
			for i := range max(len(want), len(got)) {
				require.Less(t, i, min(len(want), len(got)), "seed %d: one goes on", seed)
				require.Equal(t, want[i], got[i], "seed %d, effect %d", seed, i)
			}
		}
		for _, a := range got {
			kinds[a.fx.Kind] = true
		}
	}
	kinds[protocol.RefuseSave] = true // only to a save that crosses the loss: jobs know of it otherwise
	for k := protocol.Register; k <= protocol.Exit; k++ {
		require.True(t, kinds[k] || testing.Short(), "no schedule made the machine ask for %v", k)
	}
}

// inProduction runs a schedule with the worker.
func inProduction(t *testing.T, s *schedule) (all []asked, setup Setup) {
	synctest.Test(t, func(t *testing.T) {
		clock := bubbleClock{time.Now()}
		b := &bench{t: t, clock: clock, broker: queueBroker{newBroker()}}
		way := &failing{clock: clock, s: s}
		b.between = func(real Broker) Broker { way.Broker = real; return way }
		var o witness
		w := b.worker("a", s.handle, seen(&o))
		w.AskAtOnce()
		run := b.run(w)
		for at := range s.instants() {
			time.Sleep(time.Duration(at.Sub(clock.Now())))
			for _, p := range s.jobs {
				if p.at == at {
					b.broker.Enqueue("default", "job", p.version, nil)
				}
			}
			if heard := way.heard.Load(); s.regained(at) && heard != nil {
				(*heard)()
			}
			for _, sig := range s.signals {
				if sig.at == at {
					select {
					case run.signals <- sig.ev:
					case <-run.left:
					}
				}
			}
			synctest.Wait()
		}
		b.wg.Wait()
		require.NoError(t, b.broker.Close())
		time.Sleep(2 * time.Minute) // what runs on
		for _, step := range o.steps {
			for _, e := range step.fx {
				all = append(all, asked{step.now, e})
			}
		}
		setup = o.setup
	})
	return tidy(all), setup
}

// instants yields when something comes from outside, in order.
func (s *schedule) instants() func(func(protocol.Instant) bool) {
	var all []protocol.Instant
	for _, p := range s.jobs {
		all = append(all, p.at)
	}
	for _, sig := range s.signals {
		all = append(all, sig.at)
	}
	for _, w := range s.outages {
		all = append(all, w.to)
	}
	slices.Sort(all)
	return slices.Values(slices.Compact(all))
}

// handle is the handler of every job.
func (s *schedule) handle(ctx context.Context, job *Job) error {
	p := s.jobs[job.Key-1]
	job.Scope.OnAbort(func(context.Context) error { time.Sleep(time.Duration(p.undoes)); return nil })
	rest := p.takes
	if p.saves > 0 {
		if err := sleep(ctx, p.saves); err != nil {
			return p.stop(p.told)
		}
		rest -= p.saves
		var flushing sync.WaitGroup
		if p.flush {
			flushing.Go(func() { _ = job.Flush(ctx, []byte("half")) })
		} else {
			job.Save([]byte("half"))
		}
		defer func() { go flushing.Wait() }()
	}
	if err := sleep(ctx, rest); err != nil {
		return p.stop(p.told)
	}
	return returning(p.code)
}

func sleep(ctx context.Context, d protocol.Duration) error {
	t := time.NewTimer(time.Duration(d))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *plan) stop(code protocol.Code) error {
	time.Sleep(time.Duration(p.reacts))
	return returning(code)
}

func returning(code protocol.Code) error {
	switch code {
	case protocol.ReturnedNil:
		return nil
	case protocol.ReturnedYield:
		return Yield
	case protocol.ReturnedFailed:
		return Failed(errors.New("no"))
	default:
		return errors.New("no")
	}
}

// travels is how long a claim answer is under way. All others are there at once; if this one
// were, too, nothing would say whether it or the release that brought it about comes first.
const travels = protocol.Microsecond

// failing is a broker with a schedule's outages.
type failing struct {
	Broker
	clock bubbleClock
	s     *schedule
	heard atomic.Pointer[func()]
}

// OnReconnect makes the end of an outage known.
func (b *failing) OnReconnect(heard func()) (forget func()) {
	b.heard.Store(&heard)
	return func() {}
}

func (b *failing) Claim(ctx context.Context, req ClaimRequest) (ClaimAnswer, error) {
	a, err := b.Broker.Claim(ctx, req)
	time.Sleep(time.Duration(travels))
	return a, err
}

func (b *failing) Renew(ctx context.Context, r []Renewal) ([]protocol.Code, error) {
	if b.s.down(b.clock.Now()) {
		return nil, errDown
	}
	return b.Broker.Renew(ctx, r)
}

func (b *failing) Save(ctx context.Context, r Renewal) (protocol.Code, error) {
	if b.s.down(b.clock.Now()) {
		return protocol.Unknown, errDown
	}
	return b.Broker.Save(ctx, r)
}

func (b *failing) Settle(ctx context.Context, s []Settlement) ([]protocol.Code, error) {
	if b.s.down(b.clock.Now()) {
		return nil, errDown
	}
	return b.Broker.Settle(ctx, s)
}

// laboratory is the machine, the reference broker, and what happens next.
type laboratory struct {
	s       *schedule
	m       protocol.Machine
	fx      *protocol.Effects
	broker  *model.Broker
	out     model.Outbox
	member  model.Member
	now     protocol.Instant
	events  []happening
	order   int
	running map[int32]*execution // by slot
	asked   []asked
}

type happening struct {
	at    protocol.Instant
	order int
	do    func()
}

// execution is a handler in a slot.
type execution struct {
	plan      plan
	hooked    bool // its undo hook has not been committed
	lost      bool
	over      bool
	cancelled bool
	handle    protocol.Cursor
}

// inTheLaboratory runs a schedule with the bare machine.
func inTheLaboratory(s *schedule, setup Setup) []asked {
	l := &laboratory{
		s: s, fx: protocol.NewEffects(setup.Slots, 1), member: model.Member{Nonce: 1},
		broker: model.NewBroker(&model.BrokerConfig{
			Lease: 30 * protocol.Second, Park: setup.Config.Park, MaxFailures: 5, Poison: 3, Starving: 10,
			Backoff: protocol.Backoff{Min: protocol.Second, Max: protocol.Minute}, MaxMessageAge: protocol.Hour,
		}, 8, 8),
		running: map[int32]*execution{},
	}
	l.m.Init(setup.Config, protocol.NewMemory(setup.Config, setup.Slots), setup.Seed)
	for i, p := range s.jobs {
		l.at(p.at, func() {
			l.broker.Enqueue(l.now, protocol.JobKey(i+1), 0, p.version, 0, &l.out)
			l.deliver()
		})
	}
	for _, sig := range s.signals {
		l.at(sig.at, func() { l.step(sig.ev) })
	}
	for at := range s.instants() {
		if s.regained(at) {
			l.at(at, func() { l.step(protocol.Event{Kind: protocol.Reconnected}) })
		}
	}
	l.step(protocol.Event{Kind: protocol.Tick})
	for l.m.Phase() != protocol.PhaseGone {
		l.next()
	}
	return tidy(l.asked)
}

func (l *laboratory) at(at protocol.Instant, do func()) {
	l.order++
	l.events = append(l.events, happening{at, l.order, do})
}

// next does what happens next: an event, a deadline of the broker, or one of the machine.
func (l *laboratory) next() {
	slices.SortFunc(l.events, func(a, b happening) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order))
	})
	at := protocol.Never
	if len(l.events) > 0 {
		at = l.events[0].at
	}
	switch due := l.broker.Deadline(); {
	case at <= min(due, l.m.Deadline()):
		do := l.events[0].do
		l.events = l.events[1:]
		l.now = at
		do()
	case due <= l.m.Deadline():
		l.now = max(due, l.now)
		l.broker.Tick(l.now, &l.out)
		l.deliver()
	default:
		l.now = l.m.Deadline()
		l.step(protocol.Event{Kind: protocol.Tick})
	}
}

// deliver gives the broker's answers to the machine, each after what is under way.
func (l *laboratory) deliver() {
	for _, a := range l.out.Answers {
		at := l.now
		if a.Event.Kind == protocol.Granted || a.Event.Kind == protocol.ClaimAnswered {
			at = at.Add(travels)
		}
		l.at(at, func() { l.step(a.Event) })
	}
	l.out.Reset()
}

func (l *laboratory) step(ev protocol.Event) {
	if l.m.Phase() == protocol.PhaseGone {
		return
	}
	l.fx.Reset()
	l.m.Step(l.now, ev, l.fx)
	for _, e := range slices.Clone(l.fx.All()) {
		l.asked = append(l.asked, asked{l.now, e})
		l.carryOut(e)
	}
}

func (l *laboratory) carryOut(e protocol.Effect) {
	x := l.running[e.Slot]
	switch e.Kind {
	case protocol.Register, protocol.Going, protocol.Claim, protocol.Withdraw:
		l.send(e)
	case protocol.Renew, protocol.Save, protocol.Settle:
		if !l.s.down(l.now) {
			l.send(e)
			return
		}
		kind := map[protocol.EffectKind]protocol.EventKind{
			protocol.Renew: protocol.RenewAnswered, protocol.Save: protocol.SaveAnswered, protocol.Settle: protocol.SettleAnswered,
		}[e.Kind]
		l.at(l.now, func() {
			l.step(protocol.Event{Kind: kind, Code: protocol.Unknown, Slot: e.Slot, Job: e.Job, Token: e.Token, Sent: e.At})
		})
	case protocol.Start:
		l.start(e)
	case protocol.Cancel:
		if !x.over && !x.cancelled {
			x.cancelled = true
			l.at(l.now.Add(x.plan.reacts), func() { l.back(e.Slot, x, x.plan.told) })
		}
	case protocol.Undo:
		l.at(l.now.Add(x.plan.undoes), func() { l.step(protocol.Undid(int(e.Slot), protocol.UndoDone)) })
	case protocol.CommitSegment:
		x.hooked = false
	case protocol.Note:
		if e.Note == protocol.LeaseLost && x != nil {
			x.lost = true
		}
	}
}

func (l *laboratory) send(e protocol.Effect) {
	if e.Kind != protocol.Register {
		l.member.Incarnation = l.m.Incarnation()
	}
	l.broker.Handle(l.now, model.Request{From: l.member, Effect: e}, &l.out)
	if e.Kind == protocol.Going {
		l.out.Reset()
	}
	l.deliver()
}

func (l *laboratory) start(e protocol.Effect) {
	x := &execution{plan: l.s.jobs[e.Job-1], hooked: true}
	l.running[e.Slot] = x
	l.at(l.now.Add(x.plan.takes), func() {
		if !x.cancelled {
			l.back(e.Slot, x, x.plan.code)
		}
	})
	if x.plan.saves > 0 {
		l.at(l.now.Add(x.plan.saves), func() {
			if !x.cancelled && !x.over {
				x.handle++
				l.step(protocol.SaveCursor(int(e.Slot), x.handle, x.plan.flush))
			}
		})
	}
}

// back is the return of a handler: what it made is committed if it is done and holds its
// claim.
func (l *laboratory) back(slot int32, x *execution, code protocol.Code) {
	x.over = true
	clean := !x.hooked || code == protocol.ReturnedNil && !x.lost
	l.step(protocol.Returned(int(slot), code, clean))
}
