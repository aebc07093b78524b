package scenarios

import (
	"fmt"
	"math/big"
	"regexp"

	"github.com/quiesce/quiesce/protocol"
)

// day is for people; Go stops at hours.
const day = 24 * protocol.Hour

// longest is the limit of every duration: more is a slip of the keyboard, and far less than
// what an int64 of nanoseconds holds, so that sums of a few cannot overflow.
const longest = 100 * 365 * day

var units = map[string]protocol.Duration{
	"ns": 1, "us": protocol.Microsecond, "µs": protocol.Microsecond, "μs": protocol.Microsecond,
	"ms": protocol.Millisecond, "s": protocol.Second, "m": protocol.Minute, "h": protocol.Hour, "d": day,
}

const durationPattern = `(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h|d)`

var (
	durationPart  = regexp.MustCompile(durationPattern)
	durationWhole = regexp.MustCompile(`^(` + durationPattern + `)+$`)
	plainNumber   = regexp.MustCompile(`^(\d+\.?\d*|\.\d+)$`)
)

// duration is a length of time: 1m30s, 250ms, 2d, or 0.
type duration struct {
	place
	value protocol.Duration
}

func (d *duration) read(r *reader, k key, p place) {
	text, ok := r.scalar(p, "write a duration, for example 30s")
	if !ok {
		return
	}
	v, problem, remedy := parseDuration(text)
	if problem == "" && v == 0 && k.positive {
		problem, remedy = text+" is not positive", "write a duration above zero, for example 30s"
	}
	if least, _, _ := parseDuration(k.shortest); problem == "" && v > 0 && v < least {
		problem, remedy = text+" is too short for a simulation to get anywhere", "write at least "+k.shortest
	}
	if problem != "" {
		r.fail(p, problem, remedy)
		return
	}
	d.value = v
}

func (d *duration) schema(k key) object {
	if k.positive {
		return object{"type": "string", "pattern": "^(" + schemaDuration + ")+$"}
	}
	return object{"$ref": "#/$defs/duration"}
}

// schemaDuration is durationPattern in the dialect of JSON Schema, which has no \d for Unicode.
const schemaDuration = `([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h|d)`

// parseDuration counts exactly and rounds once, to the nearest nanosecond.
func parseDuration(text string) (v protocol.Duration, problem, remedy string) {
	const write = "write a duration, for example 30s, 1m30s or 2d"
	switch {
	case text == "0":
		return 0, "", ""
	case len(text) > 1 && text[0] == '-' && durationWhole.MatchString(text[1:]):
		return 0, text + " is negative", "write it without the minus"
	case plainNumber.MatchString(text):
		return 0, text + " has no unit", fmt.Sprintf("write %ss for seconds, or another of ns us ms s m h d", text)
	case len(text) > 64 || !durationWhole.MatchString(text):
		return 0, quote(text) + " is not a duration", write
	}
	sum := new(big.Rat)
	for _, part := range durationPart.FindAllStringSubmatch(text, -1) {
		n, _ := new(big.Rat).SetString(part[1]) // The pattern admits nothing else.
		sum.Add(sum, n.Mul(n, big.NewRat(int64(units[part[2]]), 1)))
	}
	ns, ok := roundRat(sum)
	if !ok || ns > int64(longest) {
		return 0, text + " is more than 100 years", write
	}
	return protocol.Duration(ns), "", ""
}

// roundRat rounds a number that is not negative to the nearest integer, halves up. It says
// no when an int64 cannot hold the result.
func roundRat(x *big.Rat) (int64, bool) {
	twice := new(big.Int).Mul(x.Num(), big.NewInt(2))
	twice.Add(twice, x.Denom())
	n := twice.Quo(twice, new(big.Int).Mul(x.Denom(), big.NewInt(2)))
	return n.Int64(), n.IsInt64()
}

// quote shows text in an error, cut when it is long.
func quote(text string) string {
	const limit = 40
	if len(text) > limit {
		return fmt.Sprintf("%.*q…", limit, text)
	}
	return fmt.Sprintf("%q", text)
}
