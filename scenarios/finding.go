package scenarios

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// nodeFaultList is faults at given instants, in any order.
type nodeFaultList struct {
	place
	each []nodeFaultKeys
}

func (l *nodeFaultList) read(r *reader, k key, p place) {
	for _, item := range r.items(p, "write a list such as [{time: 10s, kind: crash}]") {
		var f nodeFaultKeys
		r.mapping(&f, item)
		l.each = append(l.each, f)
	}
}

func (*nodeFaultList) schema(key) object {
	return object{"type": "array", "minItems": 1, "items": mappingSchema(reflect.TypeFor[nodeFaultKeys]())}
}

var givenKinds = map[string]model.FaultKind{
	"crash": model.NodeCrash, "pause": model.NodePause, "partition": model.NodePartition, "preempt": model.NodePreempt,
}

// faultsAt returns the faults that a scenario lists, by their instants.
func (r *reader) faultsAt(l *nodeFaultList, duration protocol.Duration) []model.NodeFault {
	var list []model.NodeFault
	for i := range l.each {
		k := &l.each[i]
		kind := givenKinds[k.Kind.value]
		switch {
		case k.Time.value >= duration:
			r.fail(k.Time.place, k.Time.value.String()+" is not before the end at "+duration.String(), "move it, or lengthen duration")
		case kind == model.NodeCrash && k.Length.value > 0:
			r.fail(k.Length.place, "has no meaning: a crash is over at once", "drop it, or write kind: pause")
		case kind != model.NodeCrash && k.Length.value == 0:
			r.fail(k.place, "lasts no time", "write length: 5s")
		}
		list = append(list, model.NodeFault{At: protocol.Instant(k.Time.value), Node: int32(min(k.Seat.value, maxWorkers)), Kind: kind, Length: k.Length.value})
	}
	slices.SortStableFunc(list, func(a, b model.NodeFault) int { return cmp.Compare(a.At, b.At) })
	return list
}

// overrideList is random numbers that are not drawn.
type overrideList struct {
	place
	value []model.Override
}

const overrideText = `([a-z-]+)/([0-9]{1,20})/([0-9]{1,20})=([0-9]{1,20})`

var overridePattern = regexp.MustCompile(`^` + overrideText + `$`)

func (l *overrideList) read(r *reader, k key, p place) {
	const write = "write stream/entity/index=value, for example message/4294967297/12=0"
	for _, item := range r.items(p, "write a list such as [message/4294967297/12=0]") {
		word, ok := r.scalar(item, write)
		if !ok {
			continue
		}
		m := overridePattern.FindStringSubmatch(word)
		if m == nil {
			r.fail(item, quote(word)+" is not an override", write)
			continue
		}
		o := model.Override{Stream: m[1]}
		for i, to := range []*uint64{&o.Entity, &o.Index, &o.Value} {
			n, err := strconv.ParseUint(m[i+2], 10, 64)
			if err != nil {
				r.fail(item, m[i+2]+" is more than a number can be", write)
			}
			*to = n
		}
		l.value = append(l.value, o)
	}
}

func (*overrideList) schema(key) object {
	return object{"type": "array", "minItems": 1, "items": object{"type": "string", "pattern": "^" + overrideText + "$"}}
}

// finding returns the run that the scenario names, or nil.
func (r *reader) finding(k *findingKeys, s *model.Scenario) *model.Finding {
	if !k.written() {
		return nil
	}
	if !slices.Contains(s.Policies, k.Policy.value) {
		r.fail(k.Policy.place, fmt.Sprintf("%s is none of policies", quote(k.Policy.value)), unknown(k.Policy.value, s.Policies))
	}
	return &model.Finding{Policy: k.Policy.value, Seed: uint64(k.Seed.value), Invariant: k.Invariant.value, Overrides: k.Overrides.value}
}
