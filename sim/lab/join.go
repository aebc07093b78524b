package lab

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/quiesce/quiesce/model/meter"
)

// NamedSheet is a sheet and the file it was read from.
type NamedSheet struct {
	File string
	*Sheet
}

// Joined is one plan put together again.
type Joined struct {
	*Results
	First uint64
	Facts json.RawMessage
}

// Join puts the shards of a plan together, in whatever order they come. The results are those
// that one run of the whole plan has. It refuses shards that do not belong together, that are
// there twice or that are missing, and names them.
func Join(sheets []NamedSheet) ([]Joined, error) {
	first := sheets[0]
	by := make([]*NamedSheet, first.Of)
	for i := range sheets {
		s := &sheets[i]
		if why := differ(first.Sheet, s.Sheet); why != "" {
			return nil, fmt.Errorf("%s and %s do not belong together: %s", first.File, s.File, why)
		}
		if other := by[s.Index]; other != nil {
			return nil, fmt.Errorf("shard %d of %d is there twice, as %s and %s; give one of them", s.Index, s.Of, other.File, s.File)
		}
		by[s.Index] = s
	}
	var missing []string
	for i, s := range by {
		if s == nil {
			missing = append(missing, fmt.Sprint(i))
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("of %d shards %s missing: %s; every shard is needed", first.Of, areIs(len(missing)), strings.Join(missing, ", "))
	}
	all := make([]Joined, len(first.Parts))
	for i := range all {
		all[i] = joinPart(by, i)
	}
	return all, nil
}

func areIs(n int) string {
	if n == 1 {
		return "one is"
	}
	return fmt.Sprintf("%d are", n)
}

// differ says why two sheets are not shards of one plan, or nothing.
func differ(a, b *Sheet) string {
	switch {
	case a.Build != b.Build:
		return fmt.Sprintf("they were made by different builds, %s and %s, whose rows need not agree", a.Build, b.Build)
	case a.Of != b.Of:
		return fmt.Sprintf("the one is a shard of %d, the other of %d", a.Of, b.Of)
	case len(a.Parts) != len(b.Parts):
		return fmt.Sprintf("the one has %d loads, the other %d", len(a.Parts), len(b.Parts))
	}
	for i := range a.Parts {
		p, q := &a.Parts[i], &b.Parts[i]
		switch {
		case p.Scenario != q.Scenario:
			return fmt.Sprintf("their scenarios are %s and %s", p.Scenario, q.Scenario)
		case !slices.Equal(p.Policies, q.Policies):
			return fmt.Sprintf("their policies are %s and %s", strings.Join(p.Policies, ","), strings.Join(q.Policies, ","))
		case !slices.Equal(p.Fingerprints, q.Fingerprints):
			return fmt.Sprintf("scenario %s was not the same in both: some setting, or its trace, differs", p.Scenario)
		case p.Seeds != q.Seeds || p.First != q.First:
			return fmt.Sprintf("the one is of %d seeds from %d, the other of %d from %d", p.Seeds, p.First, q.Seeds, q.First)
		}
	}
	return ""
}

func joinPart(by []*NamedSheet, i int) Joined {
	p := &by[0].Parts[i]
	res := &Results{
		Scenario: p.Scenario, Policies: p.Policies, Asked: p.Seeds,
		Setting: Setting{Duration: p.Duration, Warmup: p.Warmup, Cooldown: p.Cooldown, Load: math.NaN()},
		Rows:    make([][]*meter.Row, len(p.Policies)),
	}
	if p.Load != nil {
		res.Setting.Load = *p.Load
	}
	for s := range p.Seeds {
		res.Seeds = append(res.Seeds, p.First+uint64(s))
		for k := range p.Policies {
			res.Rows[k] = append(res.Rows[k], by[s%len(by)].Parts[i].Rows[k][s/len(by)])
		}
	}
	return Joined{Results: res, First: p.First, Facts: p.Facts}
}
