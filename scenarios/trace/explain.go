package trace

import (
	"bytes"
	"fmt"
	"strings"
)

// The functions here run once, for the row that ends a trace, so they may take their time.

func explainArrival(text []byte, form arrivalForm, v verdict) (problem, remedy string) {
	return explainInstant("arrival", text, form, v)
}

// beyondSpan ends the problem of a number that is too large for any unit it may have had.
const beyondSpan = " is more than 100 years"

func explainInstant(field string, text []byte, form arrivalForm, v verdict) (problem, remedy string) {
	const example = "write seconds since the start of the trace, for example 12.5, or an instant like 2024-11-15T16:57:50Z"
	cell := field + " " + quote(text)
	switch {
	case form != offset && v == tooLarge:
		return cell + " is not within 100 years after 1970", "correct the year"
	case form != offset:
		return cell + " is not an RFC 3339 instant", instantRemedy(text)
	case v == negative:
		return cell + " is negative", "write seconds since the start of the trace, for example 0"
	}
	return explainNumber(field, text, v, example)
}

// instantRemedy completes the date that nearly all logs write: a blank for the T and no zone.
func instantRemedy(text []byte) string {
	var p instants
	fixed := bytes.Replace(text, []byte(" "), []byte("T"), 1)
	for _, try := range [][]byte{fixed, append(bytes.Clone(fixed), 'Z')} {
		if _, v := p.parse(try); v == good {
			return fmt.Sprintf("write it as %s, with T and the zone", try)
		}
	}
	return "write it like 2024-11-15T16:57:50Z"
}

func explainDuration(text []byte, v verdict) (problem, remedy string) {
	const example = "write the execution time in seconds, for example 2.5, or like 1m30s"
	switch {
	case v == negative:
		return fmt.Sprintf("duration %s is negative", quote(text)),
			fmt.Sprintf("write the execution time in seconds, for example %s", bytes.TrimPrefix(text, []byte("-")))
	case looksLikeDate(text):
		return fmt.Sprintf("duration %s is an instant, and a duration is a length of time", quote(text)),
			"subtract the start from the end and write the seconds between them"
	}
	return explainNumber("duration", text, v, example)
}

func explainNumber(field string, text []byte, v verdict, example string) (problem, remedy string) {
	cell := field + " " + quote(text)
	if v == tooLarge {
		return cell + beyondSpan, "write it in seconds, not in milliseconds or nanoseconds"
	}
	word := strings.ToLower(strings.TrimLeft(string(text), "+-"))
	_, commaless := parseSeconds(bytes.Replace(text, []byte(","), []byte("."), 1))
	switch {
	case word == "":
		return field + " is empty", example
	case word == "nan" || word == "inf" || word == "infinity":
		return cell + " is not a finite number", example
	case strings.HasPrefix(word, "0x"):
		return cell + " is hexadecimal", example
	case commaless != malformed:
		return cell + " has a decimal comma", fmt.Sprintf("write %s", bytes.Replace(text, []byte(","), []byte("."), 1))
	}
	return cell + " is not a number of seconds", example
}

// explainUnsorted leaves the remedy open for the command that sorts this format.
func explainUnsorted(field string, text []byte, delivered row, window int) (problem, remedy string) {
	return fmt.Sprintf("%s %s is out of order by more than the %d rows that are sorted on the way: line %d arrives later and is already delivered",
			field, quote(text), window, delivered.line),
		"sort the file by arrival first: e.g. "
}
