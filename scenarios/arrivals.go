package scenarios

import (
	"math/big"
	"regexp"

	"go.yaml.in/yaml/v3"

	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/protocol"
)

// arrivalLaws are the ways to say when jobs arrive: the two short ones, and every
// distribution of the gap between two jobs.
type arrivalLaws struct {
	Poisson rate     `key:"poisson" about:"at random, so many per unit of time, for example 13/s"`
	Every   duration `key:"every" positive:"" about:"one in every such interval, for example 2s"`
	laws
}

// arrivals is the distribution of the gap between two jobs of a kind.
type arrivals struct {
	place
	table *dist.Table
}

func (a *arrivals) read(r *reader, k key, p place) {
	if p.node.Kind == yaml.ScalarNode {
		r.fail(p, quote(p.node.Value)+" is not a way to arrive", "write {poisson: 13/s}, {every: 2s} or a distribution of gaps")
		return
	}
	var l arrivalLaws
	if !r.oneOf(&l, &l.laws, p) {
		return
	}
	switch {
	case l.Poisson.written():
		a.table = r.made(l.Poisson.place, dist.Exponential, int64(l.Poisson.gap))
	case l.Every.written():
		a.table = r.made(l.Every.place, dist.Constant, int64(l.Every.value))
	default:
		a.table = l.table(r)
	}
	if a.table != nil && a.table.Max() == 0 { // All jobs of all time would come at once.
		r.fail(p, "leaves no time between two jobs", "write gaps above zero")
	}
}

func (*arrivals) schema(key) object { return object{"$ref": "#/$defs/arrivals"} }

// rate is a number of jobs per unit of time; it is kept as the mean gap.
type rate struct {
	place
	gap protocol.Duration
}

const rateText = `([0-9]{1,9}(?:\.[0-9]{1,9})?)/(s|m|h)`

var ratePattern = regexp.MustCompile(`^` + rateText + `$`)

func (a *rate) read(r *reader, k key, p place) {
	const write = "write jobs per second, minute or hour: 13/s, 40/m or 5/h"
	word, ok := r.scalar(p, write)
	if !ok {
		return
	}
	m := ratePattern.FindStringSubmatch(word)
	if m == nil {
		r.fail(p, quote(word)+" is not a rate", write)
		return
	}
	n, _ := new(big.Rat).SetString(m[1]) // The pattern admits nothing else.
	if n.Sign() == 0 {
		r.fail(p, word+" is no job at all", "drop the kind, or write a rate above zero")
		return
	}
	gap, ok := roundRat(n.Quo(big.NewRat(int64(units[m[2]]), 1), n))
	switch {
	case !ok || gap > int64(longest):
		r.fail(p, word+" is less than one job in 100 years", write)
	case gap == 0:
		r.fail(p, word+" is more than one job per nanosecond", write)
	default:
		a.gap = protocol.Duration(gap)
	}
}

func (*rate) schema(key) object {
	return object{"type": "string", "pattern": `^[0-9]{1,9}(\.[0-9]{1,9})?/(s|m|h)$`}
}
