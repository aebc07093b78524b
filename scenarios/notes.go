package scenarios

import (
	"fmt"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// Notes returns what is legal about a scenario but may surprise, a sentence each.
func Notes(s *model.Scenario) []string {
	var notes []string
	if sup := s.Supervisor; sup.Kind == model.Kubernetes && sup.Grace > 0 && sup.PreStop >= sup.Grace {
		notes = append(notes, fmt.Sprintf("prestop %v uses up grace %v: SIGTERM comes at its end and SIGKILL %v later", sup.PreStop, sup.Grace, sup.WorkerGrace()))
	}
	if q := &s.Queue; q.Service >= protocol.DefaultReply {
		notes = append(notes, fmt.Sprintf("queue.service %v: a worker waits %v for an answer, so every renewal and every settling is taken for lost and sent again", q.Service, protocol.DefaultReply))
	}
	if t, ok := s.Trace.(*jobTrace); ok {
		notes = append(notes, t.notes...)
	}
	if t, ok := s.Faults.Trace.(*faultTrace); ok {
		notes = append(notes, t.notes...)
	}
	return notes
}
