package manifest

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"time"
)

// spanUnits are those of systemd.time(7), in nanoseconds; a month is 30.44 days and a year
// 365.25 days there.
var spanUnits = map[string]time.Duration{
	"usec": time.Microsecond, "us": time.Microsecond, "µs": time.Microsecond, "μs": time.Microsecond,
	"msec": time.Millisecond, "ms": time.Millisecond,
	"seconds": time.Second, "second": time.Second, "sec": time.Second, "s": time.Second, "": time.Second,
	"minutes": time.Minute, "minute": time.Minute, "min": time.Minute, "m": time.Minute,
	"hours": time.Hour, "hour": time.Hour, "hr": time.Hour, "h": time.Hour,
	"days": 24 * time.Hour, "day": 24 * time.Hour, "d": 24 * time.Hour,
	"weeks": 7 * 24 * time.Hour, "week": 7 * 24 * time.Hour, "w": 7 * 24 * time.Hour,
	"months": 2_630_016 * time.Second, "month": 2_630_016 * time.Second, "M": 2_630_016 * time.Second,
	"years": 31_557_600 * time.Second, "year": 31_557_600 * time.Second, "y": 31_557_600 * time.Second,
}

var (
	spanPart  = regexp.MustCompile(`\s*(\d{1,18}(?:\.\d{1,9})?)\s*([a-zA-Zµμ]*)`)
	spanWhole = regexp.MustCompile(`^(?:\s*\d{1,18}(?:\.\d{1,9})?\s*[a-zA-Zµμ]*)+\s*$`)
)

// timeSpan reads a time span of systemd: 90, 2min 20s, 1h, infinity. A bare number is seconds.
func timeSpan(text string) (d time.Duration, problem string) {
	if strings.TrimSpace(text) == "infinity" {
		return Forever, ""
	}
	if !spanWhole.MatchString(text) {
		return 0, fmt.Sprintf("%q is not a time span", text)
	}
	sum := new(big.Rat)
	for _, part := range spanPart.FindAllStringSubmatch(text, -1) {
		unit, ok := spanUnits[part[2]]
		if !ok {
			return 0, fmt.Sprintf("%q has the unknown unit %q", text, part[2])
		}
		n, _ := new(big.Rat).SetString(part[1]) // The pattern admits nothing else.
		sum.Add(sum, n.Mul(n, new(big.Rat).SetInt64(int64(unit))))
	}
	whole := new(big.Int).Quo(sum.Num(), sum.Denom())
	if !whole.IsInt64() {
		return 0, text + " is too long"
	}
	return time.Duration(whole.Int64()), ""
}
