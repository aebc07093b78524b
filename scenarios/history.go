package scenarios

import (
	"fmt"
	"strings"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/scenarios/trace"
)

// columns resolves the map of a trace; without one it is zero.
func (r *reader) columns(k *mapKeys) (m trace.Map, ok bool) {
	if !k.written() {
		return m, true
	}
	fail := func(p place, err error) {
		problem, remedy, _ := strings.Cut(err.Error(), "; ")
		r.fail(p, problem, remedy)
	}
	for _, c := range []struct {
		role string
		text *text
	}{{"arrival", &k.Arrival}, {"duration", &k.Duration}, {"end", &k.End}, {"kind", &k.Kind}} {
		if !c.text.written() {
			continue
		}
		if err := m.Set(c.role, c.text.value); err != nil {
			fail(c.text.place, err)
			return m, false
		}
	}
	if err := m.Check(); err != nil {
		fail(k.place, err)
		return m, false
	}
	return m, true
}

// deployTrace returns the deploys of a history that fall into the run.
func (r *reader) deployTrace(d *deployKeys, duration protocol.Duration) []protocol.Instant {
	if !d.Trace.written() {
		return nil
	}
	history, err := trace.ReadDeploys(r.path(d.Trace.value), d.App.value)
	if err != nil {
		r.elsewhere(d.Trace.place, foreign(err))
		return nil
	}
	var list []protocol.Instant
	for _, at := range history { // They rise.
		if protocol.Duration(at) < duration {
			list = append(list, protocol.Instant(at))
		}
	}
	if len(list) < len(history) {
		r.remarks = append(r.remarks, fmt.Sprintf("deploys: %d of %d in the trace fall into the run", len(list), len(history)))
	}
	if len(list) == 0 {
		r.fail(d.Trace.place, fmt.Sprintf("has no deploy before the end at %v, the first of %d is at %v", duration, len(history), protocol.Duration(history[0])),
			"lengthen duration, or write dates: they count from the first one")
	}
	return list
}

// faultTrace is a history of faults as the simulator wants it. It is read once: a million of
// them are 24 MB.
type faultTrace struct {
	list  []model.NodeFault
	notes []string
}

var faultKinds = map[trace.FaultKind]model.FaultKind{
	trace.Crash: model.NodeCrash, trace.Pause: model.NodePause, trace.Partition: model.NodePartition, trace.Preempt: model.NodePreempt,
}

// faultTrace returns nil, and not a nil pointer in an interface, when there is none.
func (r *reader) faultTrace(file *text, duration protocol.Duration) model.FaultTrace {
	if !file.written() {
		return nil
	}
	history, err := trace.ReadFaults(r.path(file.value))
	if err != nil {
		r.elsewhere(file.place, foreign(err))
		return nil
	}
	t := new(faultTrace)
	for _, f := range history.List { // Their instants rise.
		if protocol.Duration(f.At) < duration {
			t.list = append(t.list, model.NodeFault{At: protocol.Instant(f.At), Node: f.Seat, Kind: faultKinds[f.Kind], Length: protocol.Duration(f.Length)})
		}
	}
	for _, s := range history.Skipped {
		rows := fmt.Sprintf("%d rows of the trace were", s.Rows)
		if s.Rows == 1 {
			rows = "1 row of the trace was"
		}
		t.notes = append(t.notes, fmt.Sprintf("faults: %s skipped: %s", rows, s.Name))
	}
	switch {
	case len(t.list) == 0:
		r.fail(file.place, fmt.Sprintf("has no fault before the end at %v, the first of %d is at %v", duration, len(history.List), protocol.Duration(history.List[0].At)),
			"lengthen duration, or write dates: they count from the first one")
	case len(t.list) < len(history.List):
		t.notes = append(t.notes, fmt.Sprintf("faults: %d of %d in the trace fall into the run", len(t.list), len(history.List)))
	}
	return t
}

// Open starts the faults anew.
func (t *faultTrace) Open() (model.FaultStream, error) { return &faultStream{left: t.list}, nil }

type faultStream struct{ left []model.NodeFault }

func (s *faultStream) Next() (f model.NodeFault, ok bool, err error) {
	if len(s.left) == 0 {
		return model.NodeFault{}, false, nil
	}
	f, s.left = s.left[0], s.left[1:]
	return f, true, nil
}

func (s *faultStream) Close() error { return nil }
