package metrics_test

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
	"github.com/quiesce/quiesce/realworld/metrics"
)

// life is a worker reduced to its machine and what looks on at it.
type life struct {
	cfg      protocol.Config
	machine  protocol.Machine
	fx       *protocol.Effects
	now      protocol.Instant
	observer worker.Observer
	begun    map[protocol.JobKey]bool // jobs that were run, or handed back
}

// Now makes a life the clock of its worker.
func (l *life) Now() protocol.Instant                  { return l.now }
func (l *life) NewTimer(protocol.Instant) worker.Timer { return nil }

func config() protocol.Config {
	return protocol.Config{
		Kinds: []protocol.KindConfig{
			{MinVersion: 1, MaxVersion: 3, Gap: protocol.Second, Undo: 2 * protocol.Second},
			{Undo: protocol.Second},
		},
		Grace: 30 * protocol.Second,
	}.WithDefaults()
}

const slots = 3

func newLife(m *metrics.Metrics, seat string) *life { return newLifeOf(m, seat, slots) }

func newLifeOf(m *metrics.Metrics, seat string, slots int) *life {
	l := &life{cfg: config(), fx: protocol.NewEffects(slots, 1), now: 5, observer: m.Observer(), begun: map[protocol.JobKey]bool{}}
	l.machine.Init(&l.cfg, protocol.NewMemory(&l.cfg, slots), 42)
	l.observer.Begin(worker.Setup{
		Life: worker.Life{Seat: seat, Nonce: uuid.New()}, Config: &l.cfg, Seed: 42, Slots: slots,
		Queues: []string{"default"}, Kinds: []string{"render", "thumbnail"}, Clock: l,
	}, &l.machine)
	return l.step(protocol.Event{}).step(protocol.RegisteredAs(7, protocol.OK))
}

func (l *life) step(evs ...protocol.Event) *life {
	for _, ev := range evs {
		l.fx.Reset()
		l.machine.Step(l.now, ev, l.fx)
		l.observer.Step(l.now, ev, l.fx.All(), &l.machine)
		for _, e := range l.fx.All() {
			if e.Kind == protocol.Start || e.Kind == protocol.Settle {
				l.begun[e.Job] = true
			}
		}
	}
	return l
}

// pass lets time pass, with a tick at every deadline.
func (l *life) pass(d protocol.Duration) *life {
	for end := l.now.Add(d); ; {
		if l.machine.Deadline() > end {
			l.now = end
			return l
		}
		l.now = l.machine.Deadline()
		l.step(protocol.Event{})
	}
}

func (l *life) granted(kind protocol.Kind, jobs ...protocol.JobKey) *life {
	seq := l.machine.Requests()[0].Seq()
	for _, j := range jobs {
		l.step(protocol.GrantedJob(0, seq, j, protocol.Token(100+j), kind, 1-uint16(kind), 0))
	}
	return l.step(protocol.ClaimClosed(0, seq, protocol.OK, 0))
}

// returned is a handler that comes back, as the worker tells it.
func (l *life) returned(slot int, code protocol.Code, clean bool) *life {
	s := &l.machine.Slots()[slot]
	l.observer.Executed(worker.Execution{Job: s.Job(), Token: s.Token(), Kind: s.Kind(), Code: code, Took: 2 * protocol.Second, Gap: protocol.Second / 2})
	return l.step(protocol.Returned(slot, code, clean))
}

func (l *life) settled(slot int, code protocol.Code) *life {
	s := &l.machine.Slots()[slot]
	return l.step(protocol.Settled(slot, s.Job(), s.Token(), code))
}

// values are all series of a collector: name{label="value",…} to value; of a histogram, the
// number of observations and their sum.
func values(t require.TestingT, c prometheus.Collector) map[string]float64 {
	reg := prometheus.NewPedanticRegistry()
	require.NoError(t, reg.Register(c))
	families, err := reg.Gather()
	require.NoError(t, err)
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			name := f.GetName() + "{" + strings.Join(labels, ",") + "}"
			switch {
			case m.Histogram != nil:
				all[name+" count"], all[name+" sum"] = float64(m.Histogram.GetSampleCount()), m.Histogram.GetSampleSum()
			case m.Counter != nil:
				all[name] = m.Counter.GetValue()
			default:
				all[name] = m.Gauge.GetValue()
			}
		}
	}
	return all
}

// risen is what of the series is not zero, without what is configured.
func risen(t require.TestingT, c prometheus.Collector) map[string]float64 {
	all := values(t, c)
	maps.DeleteFunc(all, func(name string, v float64) bool {
		configured := slices.ContainsFunc([]string{"quiesce_grace", "quiesce_reserve", "quiesce_checkpoint_gap_allowed"}, func(p string) bool { return strings.HasPrefix(name, p) })
		return v == 0 || configured
	})
	return all
}
