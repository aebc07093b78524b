package scenarios

import (
	"reflect"
	"slices"

	"github.com/quiesce/quiesce/model"
)

var typeOfPolicyKeys = reflect.TypeFor[policyKeys]()

// queueName is the name of a real queue.
type queueName struct {
	place
	value string
}

func (n *queueName) read(r *reader, k key, p place) {
	n.value = r.oneWord(p, "is not a queue that is known here", model.QueuePresetNames())
}

func (*queueName) schema(key) object { return object{"enum": model.QueuePresetNames()} }

// policyName is the name of a way of stopping.
type policyName struct {
	place
	value string
}

func (n *policyName) read(r *reader, k key, p place) {
	n.value = r.oneWord(p, "is not a policy", model.PresetNames())
}

func (*policyName) schema(key) object { return object{"enum": model.PresetNames()} }

// faultList is names of faults.
type faultList struct {
	place
	value []string
}

func (l *faultList) read(r *reader, k key, p place) {
	for _, item := range r.items(p, "write a list such as [heartbeat-stops-at-stop]") {
		name := r.oneWord(item, "is not a fault that is known here", model.UnsafeNames())
		if slices.Contains(l.value, name) {
			r.fail(item, name+" stands here for the second time", "name each fault once")
		}
		l.value = append(l.value, name)
	}
}

func (*faultList) schema(key) object {
	return object{"type": "array", "minItems": 1, "uniqueItems": true, "items": object{"enum": model.UnsafeNames()}}
}

// oneWord reads one of the words that are valid.
func (r *reader) oneWord(p place, problem string, valid []string) string {
	word, ok := r.scalar(p, "write one of the names")
	if ok && !slices.Contains(valid, word) {
		r.fail(p, quote(word)+" "+problem, unknown(word, valid))
	}
	return word
}
