package scenarios

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/quiesce/quiesce/model"
)

// policyList is columns: names of policies and of real queues, or mappings that describe one.
type policyList struct {
	place
	value  []string
	custom []policyKeys // those of value that are described here
}

func (l *policyList) read(r *reader, k key, p place) {
	const write = "write a list such as [crash-only, hybrid]"
	for _, item := range r.items(p, write) {
		if item.node.Kind == yaml.MappingNode {
			l.describe(r, item)
			continue
		}
		name, ok := r.scalar(item, write)
		switch {
		case !ok:
		case !slices.Contains(columnNames(), name):
			r.fail(item, quote(name)+" is not a policy", unknown(name, columnNames()))
		case slices.Contains(l.value, name):
			r.fail(item, name+" stands here for the second time", "name each policy once")
		default:
			l.value = append(l.value, name)
		}
	}
}

// describe reads a column that is none of the presets.
func (l *policyList) describe(r *reader, item place) {
	var k policyKeys
	before := len(r.problems)
	r.mapping(&k, item)
	name := k.Name.value
	switch {
	case len(r.problems) > before:
		return
	case !isColumn(name):
		r.fail(k.Name.place, quote(name)+" cannot name a column", "use letters, digits, dots and dashes")
	case slices.Contains(columnNames(), name):
		r.fail(k.Name.place, name+" is the name of a preset already", "choose another, for example "+name+"-today")
	case slices.Contains(l.value, name):
		r.fail(k.Name.place, name+" stands here for the second time", "name each policy once")
	case k.Policy.written() && k.Queue.written():
		r.fail(k.Policy.place, "is the way of stopping that queue "+k.Queue.value+" has already", "keep one of the two")
	default:
		l.value, l.custom = append(l.value, name), append(l.custom, k)
	}
}

// isColumn says whether a name can be given on a command line, in a list with commas.
func isColumn(name string) bool {
	for _, c := range name {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' || c == '+') {
			return false
		}
	}
	return name != ""
}

func columnNames() []string { return append(model.PresetNames(), model.QueuePresetNames()...) }

func (*policyList) schema(key) object {
	return object{"type": "array", "minItems": 1, "uniqueItems": true, "items": object{"anyOf": []any{
		object{"enum": columnNames()}, mappingSchema(typeOfPolicyKeys),
	}}}
}

// policies returns the names to compare, and adds to s the variants that some of them stand for.
func (r *reader) policies(d *document, s *model.Scenario) []string {
	for i := range d.Policies.custom {
		k := &d.Policies.custom[i]
		name := "hybrid"
		switch {
		case k.Policy.written():
			name = k.Policy.value
		case k.Queue.written():
			name = k.Queue.value
		}
		v := s.Variant(name)
		var err error
		if v.Preset, err = v.Preset.Unsafe(k.Unsafe.value...); err != nil {
			continue // each name was refused where it stands
		}
		v.Name = k.Name.value
		if k.InStep.value {
			v.Queue = r.inStep(k, s, v.Queue)
		}
		if k.Counted.written() {
			v.Queue = r.counted(k, s, v.Queue)
		}
		s.Variants = append(s.Variants, v)
	}
	if d.Queue.Preset.written() && !d.Policies.written() {
		return []string{d.Queue.Preset.value, "hybrid"}
	}
	return d.Policies.value
}

// inStep returns the queue of a column whose workers ask on ticks.
func (r *reader) inStep(k *policyKeys, s *model.Scenario, of *model.Queue) *model.Queue {
	q := queueOf(s, of)
	if q.Poll == 0 || q.Park != model.NoLongPoll {
		r.fail(k.InStep.place, "needs workers that poll, and these wait at the broker until there is a job", "write poll: 1s and long_poll: 0s under queue")
	}
	q.InStep = true
	return &q
}

// counted returns the queue of a column whose workers count batches down in their way.
func (r *reader) counted(k *policyKeys, s *model.Scenario, of *model.Queue) *model.Queue {
	if !slices.ContainsFunc(s.Jobs, func(j model.Job) bool { return j.Batch > 0 }) {
		r.fail(k.Counted.place, "counts nothing down, for no jobs come in batches", "give a kind of jobs a batch, for example batch: 100")
	}
	q := queueOf(s, of)
	q.Counted = counted[k.Counted.value]
	return &q
}

// queueOf returns a copy of the queue of a column: its own, or the scenario's.
func queueOf(s *model.Scenario, own *model.Queue) model.Queue {
	if own != nil {
		return *own
	}
	return s.Queue
}

var counted = map[string]model.Counting{"by_job": model.CountedByJob, "by_run": model.CountedByRun, "after_ack": model.CountedAfterAck}
