package scenarios

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/quiesce/quiesce/protocol"
)

// Range is the values that one key of a scenario takes in a sweep, in rising order.
type Range struct {
	Path   string
	Unit   string // of Value.Number: "s" for durations and rates of arrival as jobs a second "1/s"; otherwise as written: "", "%", "ppm"
	Values []Value
}

// Value is one of them.
type Value struct {
	Text   string // as it would be written in a file
	Number float64
}

// maxValues is more than a figure can show.
const maxValues = 100

const rangeExample = "30s,1m,5m or 30s..1h:log:9 or 10..100:lin:4"

// ParseRange reads the values of a sweep: a list, or two ends with the way between them and
// the number of values, both ends included. Values between two ends are rounded, to whole
// numbers when both ends are.
func ParseRange(path, text string) (Range, error) {
	r := Range{Path: path}
	var err error
	if ends, how, ok := strings.Cut(text, ":"); ok || strings.Contains(text, "..") {
		err = r.between(ends, how)
	} else {
		err = r.list(text)
	}
	if err != nil {
		return Range{}, err
	}
	slices.SortStableFunc(r.Values, func(a, b Value) int {
		if a.Number < b.Number {
			return -1
		}
		if a.Number > b.Number {
			return 1
		}
		return 0
	})
	for i := 1; i < len(r.Values); i++ {
		if r.Values[i].Number == r.Values[i-1].Number {
			return Range{}, fmt.Errorf("has the value %s twice; leave one out, or ask for fewer values", r.Values[i].Text)
		}
	}
	return r, nil
}

func (r *Range) list(text string) error {
	words := strings.Split(text, ",")
	if len(words) > maxValues {
		return fmt.Errorf("has %d values; write at most %d", len(words), maxValues)
	}
	for i, word := range words {
		q, err := parseQuantity(strings.TrimSpace(word))
		if err != nil {
			return err
		}
		if i > 0 && q.unit() != r.Unit {
			return fmt.Errorf("has values of different kinds, %s and %s; write all in the same unit", strings.TrimSpace(words[0]), q.text)
		}
		r.Unit = q.unit()
		r.Values = append(r.Values, Value{q.text, q.number()})
	}
	return nil
}

var wayPattern = regexp.MustCompile(`^(log|lin):([0-9]{1,9})$`)

// between fills in the values from one end to the other.
func (r *Range) between(ends, how string) error {
	low, high, ok := strings.Cut(ends, "..")
	way := wayPattern.FindStringSubmatch(how)
	if !ok || way == nil {
		return fmt.Errorf("is not a range; write two ends, the way between them and how many values, for example 30s..1h:log:9 or 10..100:lin:4")
	}
	a, err := parseQuantity(strings.TrimSpace(low))
	if err != nil {
		return err
	}
	b, err := parseQuantity(strings.TrimSpace(high))
	if err != nil {
		return err
	}
	n, _ := strconv.Atoi(way[2]) // The pattern admits digits only.
	switch {
	case a.suffix != b.suffix:
		return fmt.Errorf("has ends of different kinds, %s and %s; write both in the same unit", a.text, b.text)
	case a.value >= b.value:
		return fmt.Errorf("does not rise from %s to %s; write the smaller end first", a.text, b.text)
	case n < 2 || n > maxValues:
		return fmt.Errorf("asks for %d values; ask for 2 to %d", n, maxValues)
	case way[1] == "log" && a.value <= 0:
		return fmt.Errorf("has no logarithmic way from %s; begin above zero, or write lin", a.text)
	}
	r.Unit = a.unit()
	for i := range n {
		q := a
		t := float64(i) / float64(n-1)
		switch {
		case i == n-1:
			q = b
		case i > 0 && way[1] == "log":
			ratio := math.Pow(b.value/a.value, 1/float64(n-1))
			q = a.like(b, a.value*math.Pow(b.value/a.value, t), digitsFor(ratio))
		case i > 0:
			q = a.like(b, a.value+(b.value-a.value)*t, 3)
		}
		r.Values = append(r.Values, Value{q.text, q.number()})
	}
	return nil
}

// digitsFor returns how many digits tell neighbours apart whose ratio is given.
func digitsFor(ratio float64) int {
	if ratio > 1.25 {
		return 2
	}
	return 3
}

// quantity is a number with a unit.
type quantity struct {
	text   string
	value  float64 // seconds of a duration, otherwise as written
	suffix string  // "s" for every duration, "", "%", "ppm", "/s", "/m", "/h"
	whole  bool    // written without a decimal point
}

var numberPattern = regexp.MustCompile(`^(\d+\.?\d*|\.\d+)(%|ppm|/s|/m|/h)?$`)

func parseQuantity(word string) (quantity, error) {
	if m := numberPattern.FindStringSubmatch(word); m != nil {
		v, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return quantity{}, fmt.Errorf("has a value that is too large, %s", quote(word))
		}
		return quantity{word, v, m[2], !strings.Contains(m[1], ".")}, nil
	}
	if word == "" {
		return quantity{}, fmt.Errorf("has an empty value; write %s", rangeExample)
	}
	d, problem, _ := parseDuration(word)
	if problem != "" {
		return quantity{}, fmt.Errorf("has the value %s, which is neither a duration nor a number; write %s", quote(word), rangeExample)
	}
	return quantity{text: word, value: float64(d) / float64(protocol.Second), suffix: "s"}, nil
}

// like makes a rounded quantity between two ends.
func (q quantity) like(other quantity, v float64, digits int) quantity {
	if q.suffix == "s" {
		d := protocol.Duration(math.Round(roundSeconds(v, digits) * float64(protocol.Second)))
		return quantity{text: shortDuration(d), value: float64(d) / float64(protocol.Second), suffix: "s"}
	}
	v = significant(v, digits)
	if q.whole && other.whole && q.suffix != "%" {
		v = math.Round(v)
	}
	return quantity{strconv.FormatFloat(v, 'f', -1, 64) + q.suffix, v, q.suffix, q.whole}
}

// roundSeconds rounds beyond a minute by what people read from a clock: 18m, not 18m20s.
func roundSeconds(v float64, digits int) float64 {
	if v < 60 || digits > 2 {
		return significant(v, digits)
	}
	for _, c := range []struct{ from, step float64 }{{10 * 3600, 1800}, {3600, 300}, {600, 60}, {60, 5}} {
		if v >= c.from {
			return math.Round(v/c.step) * c.step
		}
	}
	return v
}

// significant rounds to so many digits. Going by way of text, it rounds alike everywhere.
func significant(v float64, digits int) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64)
	if err != nil {
		return v
	}
	return rounded
}

// number is the value in the unit of the range.
func (q quantity) number() float64 {
	switch q.suffix {
	case "%":
		return q.value / 100
	case "/m":
		return q.value / 60
	case "/h":
		return q.value / 3600
	default:
		return q.value
	}
}

func (q quantity) unit() string {
	if strings.HasPrefix(q.suffix, "/") {
		return "1/s"
	}
	return q.suffix
}

// shortDuration leaves zero parts out: 5m, not 5m0s.
func shortDuration(d protocol.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
