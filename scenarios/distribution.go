package scenarios

import (
	"math/big"
	"reflect"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/protocol"
)

// laws are the distributions a scenario can name. One of them is written.
type laws struct {
	place
	Constant    duration `key:"constant" about:"always this long"`
	Exponential struct {
		place
		Mean duration `key:"mean" required:"" positive:"" about:"the mean, for example 58s"`
	} `key:"exponential" about:"without memory, as the gaps of a Poisson process"`
	Lognormal lognormalKeys `key:"lognormal" about:"as most execution times: many short, a few long; the name may be left out: {p50: 1ms, p99: 20ms}"`
	Uniform   struct {
		place
		Min duration `key:"min" required:"" about:"the least, for example 0s"`
		Max duration `key:"max" required:"" about:"the most, for example 1s"`
	} `key:"uniform" about:"equally likely between two limits"`
	Pareto struct {
		place
		Min   duration `key:"min" required:"" positive:"" about:"the least, for example 1s"`
		Alpha exponent `key:"alpha" required:"" about:"weight of the tail, for example 1.5; at 2 or less the variance is infinite"`
	} `key:"pareto" about:"a heavy tail"`
	Empirical text `key:"empirical" about:"a file with one duration per line, in seconds or as Go writes them, relative to this file"`
}

type lognormalKeys struct {
	place
	P50 duration `key:"p50" required:"" positive:"" about:"the median, for example 45s"`
	P99 duration `key:"p99" required:"" positive:"" about:"what one in a hundred exceeds, for example 4m"`
}

// distribution is a duration that differs from case to case.
type distribution struct {
	place
	table *dist.Table
}

func (d *distribution) read(r *reader, k key, p place) {
	if p.node.Kind == yaml.ScalarNode {
		var fixed duration
		fixed.read(r, k, p)
		d.table = r.made(p, dist.Constant, int64(fixed.value))
		return
	}
	var l laws
	if r.oneOf(&l, &l, p) {
		d.table = l.table(r)
	}
}

// table makes the distribution of the law that is written.
func (l *laws) table(r *reader) *dist.Table {
	switch {
	case l.Constant.written():
		return r.made(l.Constant.place, dist.Constant, int64(l.Constant.value))
	case l.Exponential.written():
		return r.made(l.Exponential.place, dist.Exponential, int64(l.Exponential.Mean.value))
	case l.Lognormal.written():
		return r.madeOfTwo(l.Lognormal.place, dist.Lognormal, int64(l.Lognormal.P50.value), int64(l.Lognormal.P99.value))
	case l.Uniform.written():
		return r.madeOfTwo(l.Uniform.place, dist.Uniform, int64(l.Uniform.Min.value), int64(l.Uniform.Max.value))
	case l.Pareto.written():
		return r.madeOfTwo(l.Pareto.place, dist.Pareto, int64(l.Pareto.Min.value), l.Pareto.Alpha.millionths)
	default:
		return r.empirical(l.Empirical.place, l.Empirical.value)
	}
}

// oneOf reads a mapping of alternatives, some of which are laws, and says whether exactly one
// is written, and written well.
func (r *reader) oneOf(into any, l *laws, p place) bool {
	before := len(r.problems)
	if bareQuantiles(p.node) {
		r.mapping(&l.Lognormal, p)
		return len(r.problems) == before
	}
	r.mapping(into, p)
	if len(r.problems) > before {
		return false
	}
	switch n := len(p.node.Content) / 2; {
	case n == 0:
		r.fail(p, "is empty", "write one of "+strings.Join(names(keysOf(reflect.TypeOf(into).Elem())), ", "))
	case n > 1:
		r.fail(place{node: p.node.Content[2], field: p.field},
			"has "+p.node.Content[0].Value+" and also "+p.node.Content[2].Value, "keep one of them")
	}
	return len(r.problems) == before
}

// bareQuantiles recognises {p50: 1ms, p99: 20ms}, a lognormal law without its name.
func bareQuantiles(n *yaml.Node) bool {
	return n.Kind == yaml.MappingNode && len(n.Content) > 0 && (n.Content[0].Value == "p50" || n.Content[0].Value == "p99")
}

func (r *reader) madeOfTwo(p place, law func(a, b int64) (*dist.Table, error), a, b int64) *dist.Table {
	return r.made(p, func(a int64) (*dist.Table, error) { return law(a, b) }, a)
}

// made builds a table; package dist knows which parameters cannot work and says what to do.
func (r *reader) made(p place, law func(int64) (*dist.Table, error), a int64) *dist.Table {
	t, err := law(a)
	if err != nil {
		problem, remedy, _ := strings.Cut(strings.TrimPrefix(err.Error(), "dist: "), "; ")
		r.fail(p, "does not work: "+problem, remedy)
		return nil
	}
	if protocol.Duration(t.Max()) > longest {
		r.fail(p, "reaches "+protocol.Duration(t.Max()).String()+", more than 100 years", "make its tail shorter")
		return nil
	}
	return t
}

func (*distribution) schema(k key) object {
	return object{"$ref": "#/$defs/distribution"}
}

// exponent is the alpha of a Pareto law, in millionths as package dist wants it.
type exponent struct {
	place
	millionths int64
}

var exponentPattern = regexp.MustCompile(`^[0-9]{1,3}(\.[0-9]{1,6})?$`)

func (e *exponent) read(r *reader, k key, p place) {
	const write = "write a number such as 1.5"
	word, ok := r.scalar(p, write)
	if !ok {
		return
	}
	n, _ := new(big.Rat).SetString(word)
	if !exponentPattern.MatchString(word) || n.Sign() == 0 {
		r.fail(p, quote(word)+" is not a positive number below 1000 with at most six decimals", write)
		return
	}
	e.millionths, _ = roundRat(n.Mul(n, big.NewRat(1_000_000, 1)))
}

func (*exponent) schema(key) object {
	return object{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1000}
}
