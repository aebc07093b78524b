package trace

import (
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSecondsAreReadExactly(t *testing.T) {
	for text, want := range map[string]int64{
		"0":                               0,
		"-0":                              0,
		"007":                             7_000_000_000,
		".5":                              500_000_000,
		"5.":                              5_000_000_000,
		"0.1":                             100_000_000,
		"1357000000.123456789":            1_357_000_000_123_456_789,
		"0.0000000004":                    0,
		"0.0000000005":                    1,
		"0.9999999995":                    1_000_000_000,
		"0.07949090003967285":             79_490_900,
		"5e-05":                           50_000,
		"1.5e3":                           1_500_000_000_000,
		"0e999999999999":                  0,
		"1e-999999999999":                 0,
		"3153600000":                      int64(maxSpan),
		"0000000000000000000000000000001": 1_000_000_000,
	} {
		got, v := parseSeconds([]byte(text))
		assert.Equal(t, good, v, text)
		assert.Equal(t, want, got, text)
	}
}

func TestWhatIsNoNumberOfSeconds(t *testing.T) {
	for text, want := range map[string]verdict{
		"": malformed, "+": malformed, "-": malformed, ".": malformed, "e5": malformed, "1e": malformed,
		"1e+": malformed, "1e2.5": malformed, "1e5e5": malformed, "1.2.3": malformed, "1_000": malformed,
		"1 000": malformed, "--1": malformed, "٣": malformed, "0x1p3": malformed, "nan": malformed,
		"-1": negative, "-0.000000001": negative, "-1e-9": negative,
		"3153600000.000000001": tooLarge, "3153600000.0000000005": tooLarge, "1e30": tooLarge, "93000000.e2": tooLarge, "99999999999999999999999": tooLarge,
	} {
		_, v := parseSeconds([]byte(text))
		assert.Equal(t, want, v, text)
	}
}

// Exact arithmetic on rationals is the model.
func TestSecondsAgreeWithRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := fmt.Sprintf("%s.%se%d",
			rapid.StringMatching(`[0-9]{1,9}`).Draw(t, "whole"),
			rapid.StringMatching(`[0-9]{0,20}`).Draw(t, "fraction"),
			rapid.IntRange(-12, 3).Draw(t, "exponent"))
		value, ok := new(big.Rat).SetString(text)
		require.True(t, ok, text)
		value.Mul(value, big.NewRat(2e9, 1))
		value.Add(value, big.NewRat(1, 1)) // Half up: floor((2·ns + 1) / 2).
		want := new(big.Int).Div(value.Num(), new(big.Int).Mul(value.Denom(), big.NewInt(2)))

		got, v := parseSeconds([]byte(text))
		if want.Cmp(big.NewInt(int64(maxSpan))) > 0 {
			require.Equal(t, tooLarge, v, text)
			return
		}
		require.Equal(t, good, v, text)
		require.Equal(t, want.Int64(), got, text)
	})
}

func TestGoDurationsAgreeWithTheTimePackage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(1, int64(maxSpan)).Draw(t, "ns"))
		got, v := parseGoDuration([]byte(d.String()))
		require.Equal(t, good, v, d)
		require.Equal(t, int64(d), got, d)
		got, v = parseGoDuration([]byte((-d).String()))
		require.Equal(t, negative, v, d)
		require.Equal(t, int64(-d), got, d)
	})
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[-+]?([0-9]{0,3}\.?[0-9]{0,4}(ns|us|µs|μs|ms|s|m|h|d|)){0,3}`).Draw(t, "text")
		want, err := time.ParseDuration(text)
		got, v := parseGoDuration([]byte(text))
		switch {
		case text == "0" || text == "+0" || text == "-0":
			require.Equal(t, malformed, v, "zero without a unit is a number of seconds")
		case v == tooLarge: // Beyond 292 years the time package gives an error of its own.
			require.True(t, err != nil || want.Abs() > maxSpan, text)
		case err != nil:
			require.Equal(t, malformed, v, text)
		default:
			require.NotEqual(t, malformed, v, text)
			require.InDelta(t, int64(want), got, 3, text) // A float64 may lose one in each part.
		}
	})
}

func TestGoDurationsBeyondTheLimitAreTooLarge(t *testing.T) {
	for text, want := range map[string]verdict{
		"876000h": good, "876000h1ns": tooLarge, "876001h": tooLarge, "3000000h": tooLarge, "9223372036854775808ns": tooLarge,
		"99999999999999999999999999h": tooLarge, "99999999999999999999999999x": malformed, "500000h400000h": tooLarge,
		"999999999999999999999999h1": malformed, "0.99999999999999999999999h": good,
	} {
		_, v := parseGoDuration([]byte(text))
		assert.Equal(t, want, v, text)
	}
}

func TestInstantsAgreeWithTheTimePackage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone := time.FixedZone("", 60*rapid.IntRange(-23*60, 23*60).Draw(t, "zone minutes"))
		at := time.Unix(rapid.Int64Range(0, int64(maxSpan/time.Second)-1).Draw(t, "seconds"),
			rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).In(zone)
		text := at.Format(time.RFC3339Nano)
		var p instants
		got, v := p.parse([]byte(text))
		require.Equal(t, good, v, text)
		require.Equal(t, at.UnixNano(), got, text)
	})
}
