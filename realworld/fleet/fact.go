package fleet

import (
	"encoding/json"
	"io"
	"sync"

	"github.com/quiesce/quiesce/protocol"
)

// factKind tags a fact.
type factKind string

// Facts. A process reports each before it acts on it.
const (
	factOpen    factKind = "open"    // all is ready to run, and waits until it may
	factUp      factKind = "up"      // signals are heard from here on
	factReady   factKind = "ready"   // it claims
	factGranted factKind = "granted" // a claim has arrived
	factRenewed factKind = "renewed" // a renewal was answered: the lease was extended at some time before
	factStarted factKind = "started" // a handler began: Work, Total; Prior, PriorReason
	factEnded   factKind = "ended"   // a handler came back: Work; How, Cause
	factUndone  factKind = "undone"  // undo hooks came to their end
	factSettle  factKind = "settle"  // a claim is about to be settled: Verb, Reason
	factSettled factKind = "settled" // the broker answered: Code
	factGoing   factKind = "going"   // the broker is about to be told
	factNote    factKind = "note"    // Note, Count
	factLine    factKind = "line"    // Outcome
	factMemory  factKind = "memory"  // it is about to kill itself, as the kernel does when memory runs out
	factExit    factKind = "exit"    // Status
)

// fact is what a worker process reports. Jobs go by the broker's keys.
type fact struct {
	Kind        factKind          `json:"is"`
	At          protocol.Instant  `json:"at"`
	Job         protocol.JobKey   `json:"job,omitempty"`
	Token       protocol.Token    `json:"token,omitempty"`
	Work        protocol.Duration `json:"work,omitempty"`
	Total       protocol.Duration `json:"total,omitempty"`
	Prior       protocol.Token    `json:"prior,omitempty"`
	PriorReason protocol.Reason   `json:"prior_reason,omitempty"`
	How         uint8             `json:"how,omitempty"`
	Cause       protocol.Cause    `json:"cause,omitempty"`
	Verb        protocol.Verb     `json:"verb,omitempty"`
	Reason      protocol.Reason   `json:"reason,omitempty"`
	Code        protocol.Code     `json:"code,omitempty"`
	Note        protocol.NoteCode `json:"note,omitempty"`
	Count       int32             `json:"count,omitempty"`
	Outcome     protocol.Outcome  `json:"outcome,omitempty"`
	Status      uint8             `json:"status,omitempty"`
}

// sink is where a worker process reports to. A process that has decided to exit reports
// nothing more: its handlers end with it.
type sink struct {
	mu     sync.Mutex
	to     io.Writer
	closed bool
}

// put reports facts in one write, so that they are there or are not there together.
func (s *sink) put(facts ...fact) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(facts) == 0 {
		return
	}
	var lines []byte
	for i := range facts {
		line, err := json.Marshal(&facts[i])
		if err != nil {
			panic(err) // integers and strings
		}
		lines = append(append(lines, line...), '\n')
		s.closed = s.closed || facts[i].Kind == factExit
	}
	// Without a supervisor there is nobody to report to; the process ends by itself then.
	_, _ = s.to.Write(lines)
}
