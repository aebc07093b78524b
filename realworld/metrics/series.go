package metrics

import "github.com/quiesce/quiesce/protocol"

func (o *observer) values(others ...string) []string { return o.metrics.values(o.seat, others...) }

// kind returns the series of a kind. A job that is refused may be of one that is not
// registered.
func (o *observer) kind(k protocol.Kind) *kindSeries {
	if int(k) < len(o.kinds) {
		return o.kinds[k]
	}
	if o.unknown == nil {
		o.unknown = o.newKindSeries("unknown")
	}
	return o.unknown
}

func (o *observer) newKindSeries(kind string) *kindSeries {
	m := o.metrics
	s := &kindSeries{
		seconds:          m.executionSeconds.WithLabelValues(o.values(kind)...),
		ackedAfterCancel: m.ackedAfterCancel.WithLabelValues(o.values(kind)...),
		leaking:          m.leaking.WithLabelValues(o.values(kind)...),
		leasesLost:       m.leasesLost.WithLabelValues(o.values(kind)...),
	}
	for _, outcome := range jobOutcomes {
		s.jobs[outcome] = m.jobs.WithLabelValues(o.values(kind, outcome.String())...)
	}
	for code := protocol.ReturnedNil; code <= protocol.ReturnedPanic; code++ {
		s.returned[code] = m.executions.WithLabelValues(o.values(kind, code.String())...)
	}
	return s
}

func (o *observer) newLifeSeries() lifeSeries {
	m := o.metrics
	var s lifeSeries
	for state := range s.slots {
		s.slots[state] = m.slots.WithLabelValues(o.values(protocol.SlotState(state).String())...)
	}
	for phase := range s.phases {
		s.phases[phase] = m.workers.WithLabelValues(o.values(protocol.Phase(phase).String())...)
	}
	for reason := protocol.BecauseDrain; int(reason) < len(s.interruptions); reason++ {
		s.interruptions[reason] = m.interruptions.WithLabelValues(o.values(reason.String())...)
	}
	for cause := protocol.ErrDraining; int(cause) < len(s.cancels); cause++ {
		s.cancels[cause] = m.cancels.WithLabelValues(o.values(cause.String())...)
	}
	for outcome := protocol.WasFinished; int(outcome) < len(s.ledger); outcome++ {
		s.ledger[outcome] = m.ledgerLines.WithLabelValues(o.values(outcome.String())...)
	}
	for source := range s.drains {
		s.drains[source] = m.drains.WithLabelValues(o.values(protocol.Source(source).String())...)
	}
	for event, call := range calls {
		s.brokerErrors[event] = m.brokerErrors.WithLabelValues(o.values(call)...)
	}
	s.renewalsMissed = m.renewalsMissed.WithLabelValues(o.values()...)
	s.drainSeconds = m.drainSeconds.WithLabelValues(o.values()...)
	return s
}
