package brokertest

import (
	"slices"
	"testing"
)

// Queue is the queue that the kit uses, and OtherQueue a second one where queues must not
// mix.
const (
	Queue      = "brokertest"
	OtherQueue = "brokertest-other"
)

// Run checks a broker. Each named case is a subtest, and so are the random histories. The
// flags of pgregory.net/rapid say how many histories and how long, for example
// -rapid.checks=1000 -rapid.steps=100.
func Run(t *testing.T, open Open) {
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) { c.check(t, open) })
	}
}

// check is a named case, or the random histories.
type check struct {
	name  string
	check func(t TB, open Open)
}

func checks() []check {
	return slices.Concat(requestCases, leaseCases, settleCases, countCases, operatorCases, progressCases, queueCases,
		parkingCases, failoverCases, []check{{"random histories", random}})
}

// needsWithdraw skips a case when the broker cannot take requests back.
func needsWithdraw(s *stage) {
	if s.broker.Capabilities().NoWithdraw {
		s.Skip("the broker has the capability NoWithdraw")
	}
}

// needsParker skips a case when nobody can say that a request waits.
func needsParker(s *stage) {
	if _, ok := s.broker.(Parker); !ok {
		s.Skip("the subject is no Parker")
	}
}

// needsReplica skips a case when the broker cannot be made to forget.
func needsReplica(s *stage) Replica {
	r, ok := s.broker.(Replica)
	if !ok {
		s.Skip("the subject is no Replica")
	}
	return r
}
