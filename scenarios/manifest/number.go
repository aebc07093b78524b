package manifest

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// maxSeconds is the longest time.Duration, some 292 years. The API takes longer ones.
const maxSeconds = int64(math.MaxInt64 / time.Second)

// digits is a number that may be written in quotes: one that reads the same in every base.
var digits = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)

// count is a number of pods, or another int32 of the API that must not be negative.
func (r *reader) count(parent *yaml.Node, key string, fallback int) int {
	return int(r.whole(parent, key, int64(fallback), math.MaxInt32, ""))
}

// seconds is a duration that the API keeps as a whole number of seconds.
func (r *reader) seconds(parent *yaml.Node, key string, fallback time.Duration) time.Duration {
	return time.Duration(r.whole(parent, key, int64(fallback/time.Second), maxSeconds, " of seconds")) * time.Second
}

func (r *reader) whole(parent *yaml.Node, key string, fallback, most int64, unit string) int64 {
	node := r.child(parent, key)
	if node == nil || !r.rendered(node, key) {
		return fallback
	}
	var value int64
	if r.quoted && node.ShortTag() == "!!str" && digits.MatchString(node.Value) {
		bare := *node
		bare.Tag = "!!int"
		node = &bare
	}
	if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!int" {
		r.fail(node, key, quote(node)+" is not a whole number"+unit, wholeRemedy(node))
	} else if node.Decode(&value) != nil || value > most {
		r.fail(node, key, node.Value+" is too large", fmt.Sprintf("the most is %d", most))
	} else if value < 0 {
		r.fail(node, key, node.Value+" is negative", "write 0 or more")
	}
	r.mark(parent, key)
	if r.err != nil {
		return fallback
	}
	return value
}

// quote shows a value as it is written: text in quotes, numbers bare.
func quote(node *yaml.Node) string {
	switch {
	case node.Kind == yaml.MappingNode:
		return "a mapping"
	case node.Kind == yaml.SequenceNode:
		return "a list"
	case node.ShortTag() == "!!str":
		return strconv.Quote(node.Value)
	}
	return node.Value
}

// wholeRemedy guesses the number that was meant. Fractions go up: a grace that is a little too
// long does less harm than one that is too short.
func wholeRemedy(node *yaml.Node) string {
	text := strings.TrimSpace(node.Value)
	if n, err := strconv.ParseUint(text, 10, 63); err == nil {
		return fmt.Sprintf("write %d without quotes", n)
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return fmt.Sprintf("write %d", int64(math.Ceil(d.Seconds())))
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && f >= 0 && f < math.MaxInt32 {
		return fmt.Sprintf("write %d", int64(math.Ceil(f)))
	}
	return "write a number such as 30"
}

var percentage = regexp.MustCompile(`^[0-9]{1,9}%$`)

// intOrPercent reads a number of pods or a share of them.
func (r *reader) intOrPercent(parent *yaml.Node, key string, fallback IntOrPercent) IntOrPercent {
	node := r.child(parent, key)
	if node == nil || !r.rendered(node, key) {
		return fallback
	}
	if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!int" {
		return IntOrPercent{Value: r.count(parent, key, 0)}
	}
	if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!str" && percentage.MatchString(node.Value) {
		r.mark(parent, key)
		value, _ := strconv.Atoi(strings.TrimSuffix(node.Value, "%")) // nine digits always fit
		return IntOrPercent{Value: value, Percent: true}
	}
	r.fail(node, key, quote(node)+" is neither a whole number nor a percentage", intOrPercentRemedy(node))
	return fallback
}

func intOrPercentRemedy(node *yaml.Node) string {
	text := strings.TrimSpace(node.Value)
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return fmt.Sprintf("write %d without quotes, or %d%%", n, n)
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && f > 0 && f < 1 {
		return fmt.Sprintf("write %.0f%%", math.Ceil(f*100))
	}
	return "write a number such as 1, or a percentage such as 25%"
}
