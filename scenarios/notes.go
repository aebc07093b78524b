package scenarios

import (
	"fmt"
	"math"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/offered"
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
	} else if text := overbusy(s); text != "" {
		notes = append(notes, text)
	}
	if text := lostOnTheWay(s); text != "" {
		notes = append(notes, text)
	}
	notes = append(notes, s.Remarks...)
	if t, ok := s.Trace.(*jobTrace); ok {
		notes = append(notes, t.notes...)
	}
	if t, ok := s.Faults.Trace.(*faultTrace); ok {
		notes = append(notes, t.notes...)
	}
	return notes
}

// overbusy says that the calls of the fleet keep the broker busy for longer than there is time: a
// claim and a settling for each job, its renewals, and what those ask in vain who have a slot free,
// whom long polls keep waiting and whose polls are jittered by up to a half.
func overbusy(s *model.Scenario) string {
	q := &s.Queue
	if q.Service == 0 || s.Trace != nil {
		return ""
	}
	c := q.Timing().WithDefaults()
	rate, working := offered.Load(s)
	calls := 2*rate + working*float64(protocol.Second)/float64(c.Heartbeat) // a second; renewals more of the long ones, none of the short
	workers, slots := float64(s.Fleet.Workers), float64(s.Fleet.Slots)
	asking := workers * (1 - math.Pow(min(working/(workers*slots), 1), slots))
	every := float64(c.Park)
	if q.Park == model.NoLongPoll {
		every = 0.75 * float64(c.Poll.Max)
	}
	asks := asking * float64(protocol.Second) / every
	calls += asks
	busy := calls * float64(q.Service) / float64(protocol.Second)
	if busy < 1 {
		return ""
	}
	text := fmt.Sprintf("queue.service %v: about %.0f calls a second keep the broker busy for %.2f of the time there is, so answers come late or never", q.Service, calls, busy)
	if asks > calls/2 {
		text += fmt.Sprintf("; %.0f of them ask for jobs in vain: lengthen poll, or have them wait at the broker (long_poll)", asks)
	}
	return text
}

// lostOnTheWay says that the network is too slow for the lease. A claim counts from the request
// for it, so an answer has what is left of the trust in it after the first heartbeat.
func lostOnTheWay(s *model.Scenario) string {
	latency := s.Faults.Network.Latency
	if latency == nil || s.Queue.Heartbeat == model.NoHeartbeat {
		return ""
	}
	c := s.Queue.Timing().WithDefaults()
	left := c.Trusted() - c.Heartbeat
	roundTrip := 2 * protocol.Duration(latency.Quantile(1, 2))
	if left > roundTrip {
		return ""
	}
	return fmt.Sprintf("lease %v leaves a renewal %v to be answered, and a round trip takes about %v: workers lose what they hold without any fault; lengthen lease, or shorten heartbeat", c.Lease, left, roundTrip)
}
