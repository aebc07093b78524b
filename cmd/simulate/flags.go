package main

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim/lab"
)

// value is a flag that is checked while the command line is read, so that whoever mistyped
// it hears about it before anything is loaded.
type value struct {
	kind string // shown in the help
	text string
	set  func(string) error
}

func (v *value) String() string { return v.text }
func (v *value) Type() string   { return v.kind }

func (v *value) Set(s string) error {
	if err := v.set(s); err != nil {
		return err
	}
	v.text = s
	return nil
}

// Output formats.
const (
	asTable = "table"
	asJSON  = "json"
	asCSV   = "csv"
)

func formatFlag(to *string, formats ...string) *value {
	*to = formats[0]
	return &value{kind: strings.Join(formats, "|"), text: *to, set: func(s string) error {
		if !slices.Contains(formats, s) {
			return fmt.Errorf("is not a format; %s", suggest(s, formats))
		}
		*to = s
		return nil
	}}
}

// maxSeeds is more replications than anybody has waited for.
const maxSeeds = 10_000

func seedsFlag(to *int, n int) *value {
	*to = n
	return &value{kind: "N", text: strconv.Itoa(n), set: func(s string) error {
		n, err := strconv.Atoi(s)
		switch {
		case err != nil:
			return fmt.Errorf("is not a whole number of replications; write for example 10")
		case n < 1:
			return fmt.Errorf("is no replication at all; write at least 1, or 10 for an interval")
		case n > maxSeeds:
			return fmt.Errorf("is more replications than can be waited for; write at most %d", maxSeeds)
		}
		*to = n
		return nil
	}}
}

func seedFlag(to *uint64) *value {
	*to = 1
	return &value{kind: "N", text: "1", set: func(s string) error {
		n, err := strconv.ParseUint(s, 10, 64)
		// The seeds of all replications follow from the first and must exist.
		if err != nil || n > math.MaxUint64-maxSeeds {
			return fmt.Errorf("is not a seed; write a whole number from 0 to %d", uint64(math.MaxUint64-maxSeeds))
		}
		*to = n
		return nil
	}}
}

// policyFlag is the name of one column. Whether there is such a policy only the scenario
// knows, which may describe some of its own.
func policyFlag(to *string, name string) *value {
	*to = name
	return pathFlag(to, "P", "policy")
}

func policiesFlag(to *[]string) *value { return namesFlag(to, "policy", nil) }

// queuesFlag is names of real queues.
func queuesFlag(to *[]string) *value { return namesFlag(to, "queue", model.QueuePresetNames()) }

// namesFlag is a list of names, each given once; without a list of valid ones any may stand there.
func namesFlag(to *[]string, what string, valid []string) *value {
	return &value{kind: "a,b,c", set: func(s string) error {
		*to = nil
		for _, name := range strings.Split(s, ",") {
			name = strings.TrimSpace(name)
			if valid != nil && !slices.Contains(valid, name) {
				return fmt.Errorf("there is no %s %q; %s", what, name, suggest(name, valid))
			}
			if slices.Contains(*to, name) {
				return fmt.Errorf("names %s twice; name each %s once", name, what)
			}
			*to = append(*to, name)
		}
		return nil
	}}
}

// checkPolicies refuses names that a scenario does not know.
func checkPolicies(sc *model.Scenario, flag string, names ...string) error {
	for _, name := range names {
		if _, _, err := sc.Under(name); err != nil {
			return misuse("--%s %s: there is no policy %q; %s", flag, strings.Join(names, ","), name, suggest(name, sc.ColumnNames()))
		}
	}
	return nil
}

// sinceStartFlag is an instant of a run, written as the time since its start.
func sinceStartFlag(to *protocol.Instant, unset protocol.Instant) *value {
	*to = unset
	return &value{kind: "20m", set: func(s string) error {
		d, err := time.ParseDuration(s)
		if err != nil || d < 0 {
			return fmt.Errorf("is not a time since the start; write it like 20m or 1h20m5s")
		}
		*to = protocol.Instant(d)
		return nil
	}}
}

// numberFlag is the number of something that is counted from least on; *to is -1 when it is
// not given.
func numberFlag(to *int64, what string, least int64) *value {
	*to = -1
	return &value{kind: "N", set: func(s string) error {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < least {
			return fmt.Errorf("is not the number of a %s; they are counted from %d", what, least)
		}
		*to = n
		return nil
	}}
}

// percentage is a share between 0 and 1, written as a percentage.
type percentage float64

func (p percentage) String() string { return strconv.FormatFloat(100*float64(p), 'g', 6, 64) + "%" }

func precisionFlag(to *percentage) *value {
	return &value{kind: "2%", set: func(s string) error {
		digits, ok := strings.CutSuffix(s, "%")
		v, err := strconv.ParseFloat(digits, 64)
		switch {
		case !ok || err != nil:
			return fmt.Errorf("is not a precision; write a percentage such as 2%%")
		case !(v >= 0.01 && v <= 100):
			return fmt.Errorf("cannot be aimed at; write a percentage from 0.01%% to 100%%")
		}
		*to = percentage(v / 100)
		return nil
	}}
}

// mostLoad is how overloaded a fleet may be: waits grow with the run, and nothing else is to
// be seen beyond.
const mostLoad = 2

func loadsFlag(to *[]float64) *value {
	return &value{kind: "0.6,0.9", set: func(s string) error {
		*to = nil
		for _, word := range strings.Split(s, ",") {
			v, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
			switch {
			case err != nil:
				return fmt.Errorf("is not a list of loads; write shares such as 0.6,0.9")
			case !(v >= 0.01 && v <= mostLoad):
				return fmt.Errorf("cannot be offered; write shares of the slots' time from 0.01 to %d", mostLoad)
			case slices.Contains(*to, v):
				return fmt.Errorf("names %v twice; name each load once", v)
			}
			*to = append(*to, v)
		}
		return nil
	}}
}

func shardFlag(to *lab.Shard) *value {
	return &value{kind: "I/N", set: func(s string) (err error) {
		*to, err = lab.ParseShard(s)
		return err
	}}
}

// mostScenarios is more than a week of hunting.
const mostScenarios = 1_000_000_000

// manySeedsFlag is a number of scenarios to draw.
func manySeedsFlag(to *int, n int) *value {
	*to = n
	return &value{kind: "N", text: strconv.Itoa(n), set: func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > mostScenarios {
			return fmt.Errorf("is not a number of seeds; write a whole number from 1 to %d", mostScenarios)
		}
		*to = n
		return nil
	}}
}

// lengthFlag is how long something goes on by the clock on the wall.
func lengthFlag(to *time.Duration) *value {
	return &value{kind: "10m", set: func(s string) error {
		d, err := time.ParseDuration(s)
		switch {
		case err != nil:
			return fmt.Errorf("is not a length of time; write it like 10m or 90s")
		case d <= 0:
			return fmt.Errorf("is not above zero; write it like 10m or 90s")
		}
		*to = d
		return nil
	}}
}

// checkRedis refuses what is no address of a Redis, wherever it was said. The address is not
// repeated: it may hold a password.
func checkRedis(where, address string) error {
	if u, err := url.Parse(address); err != nil || u.Scheme != "redis" && u.Scheme != "rediss" && u.Scheme != "unix" {
		return misuse("%s is not the address of a Redis; write for example redis://localhost:6379", where)
	}
	return nil
}

// withoutPassword is an address as it may be printed and kept.
func withoutPassword(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "URL"
	}
	return u.Redacted()
}

// pathFlag is a file, a folder, or whatever else is named and looked for later. An empty one is
// no way to say that there is none: it is a variable of a script that is not set.
func pathFlag(to *string, kind, what string) *value {
	return &value{kind: kind, text: *to, set: func(s string) error {
		if s == "" {
			return fmt.Errorf("is empty; name a %s, or leave it out", what)
		}
		*to = s
		return nil
	}}
}

// namesOfOne is one of several names.
func namesOfOne(to *string, what string, valid []string) *value {
	return &value{kind: "NAME", set: func(s string) error {
		if !slices.Contains(valid, s) {
			return fmt.Errorf("there is no %s %q; %s", what, s, suggest(s, valid))
		}
		*to = s
		return nil
	}}
}
