package trace

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// unitWords are the ends of names that say a unit, such as exec_ms and durationMillis. A single
// letter may be anything, and those of seconds agree with what a plain number is.
var unitWords = []struct {
	size  time.Duration
	words []string
}{
	{time.Nanosecond, []string{"ns", "nsec", "nanos", "nanoseconds"}},
	{time.Microsecond, []string{"us", "usec", "micros", "microseconds"}},
	{time.Millisecond, []string{"ms", "msec", "millis", "milliseconds"}},
	{time.Minute, []string{"min", "mins", "minutes"}},
	{time.Hour, []string{"hrs", "hours"}},
}

// unitInName is the unit that the last word of a column's name says; 0 for none, and for seconds.
func unitInName(name string) time.Duration {
	name = strings.TrimRight(name, ")] ")
	last := name[strings.LastIndexFunc(name, func(r rune) bool { return !unicode.IsLetter(r) })+1:]
	for i := len(last) - 1; i > 0; i-- { // The last word of one that is written together.
		if unicode.IsUpper(rune(last[i])) && unicode.IsLower(rune(last[i-1])) {
			last = last[i:]
			break
		}
	}
	for _, u := range unitWords {
		if slices.Contains(u.words, strings.ToLower(last)) {
			return u.size
		}
	}
	return 0
}

// misnamed refuses a plain number without a unit in a column whose name says that it is not in
// seconds: what comes of it is plausible, and wrong by a factor of a thousand.
func (e *evaluator) misnamed(at role, text []byte) *badCell {
	unit := e.named[at]
	if unit == 0 || e.columns[at].Unit != 0 {
		return nil
	}
	if ns, v := parseSeconds(text); v == malformed || ns == 0 {
		return nil
	}
	role, name := roleNames[at], e.columns[at].Name
	return &badCell{at, fmt.Sprintf("%s %s is a number without a unit, which would be seconds, and the name %s says %s", role, quote(text), name, unitNamed(unit)),
		fmt.Sprintf("write %s=%s:%s in the map, or %s=%s:s if these are seconds", role, name, unitNamed(unit), role, name)}
}

func unitNamed(size time.Duration) string {
	for _, u := range units {
		if u.size == size {
			return u.name
		}
	}
	return "s"
}
