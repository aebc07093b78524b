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
	if text := lostOnTheWay(s); text != "" {
		notes = append(notes, text)
	}
	if t, ok := s.Trace.(*jobTrace); ok {
		notes = append(notes, t.notes...)
	}
	if t, ok := s.Faults.Trace.(*faultTrace); ok {
		notes = append(notes, t.notes...)
	}
	return notes
}

// lostOnTheWay says that the network is too slow for the lease. A claim counts from the request
// for it, so an answer has what is left of the trust in it after the first heartbeat.
func lostOnTheWay(s *model.Scenario) string {
	latency := s.Faults.Network.Latency
	if latency == nil || s.Queue.Heartbeat == model.NoHeartbeat {
		return ""
	}
	c := protocol.Config{Lease: s.Queue.Lease, Heartbeat: s.Queue.Heartbeat, Margin: s.Queue.Margin, DriftPPM: s.Queue.DriftPPM}.WithDefaults()
	left := c.Trusted() - c.Heartbeat
	roundTrip := 2 * protocol.Duration(latency.Quantile(1, 2))
	if left > roundTrip {
		return ""
	}
	return fmt.Sprintf("lease %v leaves a renewal %v to be answered, and a round trip takes about %v: workers lose what they hold without any fault; lengthen lease, or shorten heartbeat", c.Lease, left, roundTrip)
}
