package scenarios

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/quiesce/quiesce/model"
)

// scalar returns the text of a value that is no mapping and no list.
func (r *reader) scalar(p place, remedy string) (string, bool) {
	if p.node.Kind != yaml.ScalarNode {
		r.fail(p, "is not a single value", remedy)
		return "", false
	}
	return p.node.Value, true
}

// text is a name or a sentence.
type text struct {
	place
	value string
}

func (t *text) read(r *reader, k key, p place) {
	t.value, _ = r.scalar(p, "write text on one line")
	if t.value == "" && p.node.Kind == yaml.ScalarNode {
		r.fail(p, "is empty", "write text, or drop the key")
	}
	if i := strings.IndexFunc(t.value, commands); i >= 0 {
		c, _ := utf8.DecodeRuneInString(t.value[i:])
		r.fail(p, fmt.Sprintf("holds %U, which tells a terminal something and is no text", c), "leave it out")
	}
}

// commands reports whether a terminal obeys a character and shows none: a scenario of somebody
// else could rewrite what stands on the screen. Folded text may have its line ends.
func commands(c rune) bool {
	return unicode.IsControl(c) && c != '\n' && c != '\t' || unicode.Is(unicode.Bidi_Control, c)
}

func (*text) schema(key) object { return object{"type": "string", "minLength": 1} }

// choice is one of a few words.
type choice struct {
	place
	value string
}

func (c *choice) read(r *reader, k key, p place) {
	word, ok := r.scalar(p, "write "+strings.Join(k.choices, " or "))
	if ok && !slices.Contains(k.choices, word) {
		r.fail(p, quote(word)+" is not known", unknown(word, k.choices))
		return
	}
	c.value = word
}

func (*choice) schema(k key) object { return object{"enum": k.choices} }

// flag is true or false.
type flag struct {
	place
	value bool
}

func (f *flag) read(r *reader, k key, p place) {
	word, ok := r.scalar(p, "write true or false")
	if !ok {
		return
	}
	if word != "true" && word != "false" {
		r.fail(p, quote(word)+" is neither true nor false", "write true or false")
		return
	}
	f.value = word == "true"
}

func (*flag) schema(key) object { return object{"type": "boolean"} }

// count is a whole number within the limits of its key.
type count struct {
	place
	value int
}

func (c *count) read(r *reader, k key, p place) {
	word, ok := r.scalar(p, "write a whole number")
	if !ok {
		return
	}
	n, err := strconv.Atoi(word)
	switch {
	case err != nil:
		r.fail(p, quote(word)+" is not a whole number", fmt.Sprintf("write one, for example %d", max(k.least, 1)))
	case n < k.least:
		r.fail(p, fmt.Sprintf("%d is less than %d", n, k.least), "write "+bounds(k))
	case k.most > 0 && n > k.most:
		r.fail(p, fmt.Sprintf("%d is more than %d", n, k.most), "write "+bounds(k))
	default:
		c.value = n
	}
}

func bounds(k key) string {
	if k.most == 0 {
		return fmt.Sprintf("%d or more", k.least)
	}
	return fmt.Sprintf("a number from %d to %d", k.least, k.most)
}

func (*count) schema(k key) object {
	o := object{"type": "integer", "minimum": k.least}
	if k.most > 0 {
		o["maximum"] = k.most
	}
	return o
}

// drift is how far clocks may run apart, in parts per million.
type drift struct {
	place
	value int64
}

// driftLimit is that of the protocol: at half a million a clock stands at half speed.
const driftLimit = 500_000

var driftPattern = regexp.MustCompile(`^[0-9]{1,9}ppm$`)

func (d *drift) read(r *reader, k key, p place) {
	const write = "write parts per million, for example 50ppm"
	word, ok := r.scalar(p, write)
	switch {
	case !ok || word == "0":
	case !driftPattern.MatchString(word):
		r.fail(p, quote(word)+" is not a drift", write)
	default:
		d.value, _ = strconv.ParseInt(strings.TrimSuffix(word, "ppm"), 10, 64) // The pattern admits digits only.
		if d.value >= driftLimit {
			r.fail(p, fmt.Sprintf("%s is not below %dppm", word, driftLimit), write)
		}
	}
}

func (*drift) schema(key) object {
	return object{"anyOf": []any{object{"type": "string", "pattern": "^[0-9]{1,9}ppm$"}, object{"const": 0}}}
}

// share is a number of processes, or a percentage of the fleet.
type share struct {
	place
	value model.IntOrPercent
}

var sharePattern = regexp.MustCompile(`^[0-9]{1,7}%?$`)

func (s *share) read(r *reader, k key, p place) {
	const write = "write a whole number such as 2, or a percentage such as 25%"
	word, ok := r.scalar(p, write)
	if !ok {
		return
	}
	if !sharePattern.MatchString(word) {
		r.fail(p, quote(word)+" is neither a number of processes nor a percentage", write)
		return
	}
	digits, percent := strings.CutSuffix(word, "%")
	n, _ := strconv.Atoi(digits) // The pattern admits digits only.
	s.value = model.IntOrPercent{Value: n, Percent: percent}
}

func (*share) schema(key) object {
	return object{"anyOf": []any{object{"type": "integer", "minimum": 0}, object{"type": "string", "pattern": "^[0-9]{1,7}%$"}}}
}

// chance is a probability: 5%, 0.01% or 0.05.
type chance struct {
	place
	value model.PPB
}

func (c *chance) read(r *reader, k key, p place) {
	word, ok := r.scalar(p, writeChance)
	if !ok {
		return
	}
	v, problem, remedy := parseChance(word)
	if problem != "" {
		r.fail(p, problem, remedy)
		return
	}
	c.value = v
}

func (*chance) schema(key) object { return object{"$ref": "#/$defs/chance"} }

const writeChance = "write a percentage such as 5% or 0.01%"

// parseChance is exact: what a billionth cannot express is refused rather than rounded.
func parseChance(text string) (v model.PPB, problem, remedy string) {
	digits, percent := strings.CutSuffix(text, "%")
	if rest, negative := strings.CutPrefix(digits, "-"); negative && plainNumber.MatchString(rest) {
		return 0, text + " is negative", writeChance
	}
	if len(digits) > 32 || !plainNumber.MatchString(digits) {
		return 0, quote(text) + " is not a chance", writeChance
	}
	n, _ := new(big.Rat).SetString(digits) // The pattern admits nothing else.
	scale := big.NewRat(int64(model.Certain), 1)
	if percent {
		scale.Quo(scale, big.NewRat(100, 1))
	}
	n.Mul(n, scale)
	switch {
	case n.Cmp(big.NewRat(int64(model.Certain), 1)) > 0 && percent:
		return 0, text + " is more than 100%", writeChance
	case n.Cmp(big.NewRat(int64(model.Certain), 1)) > 0:
		return 0, text + " is more than 1, which is 100%", fmt.Sprintf("write %s%% if a percentage is meant", digits)
	case !n.IsInt():
		return 0, text + " is finer than a billionth", "round it, for example to 0.0000001%"
	}
	return model.PPB(n.Num().Int64()), "", ""
}
