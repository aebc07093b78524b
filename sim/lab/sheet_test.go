package lab

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
)

// sheets carries a plan out in so many shards.
func sheets(t testing.TB, seeds, of int, change func(*Plan)) []NamedSheet {
	t.Helper()
	var all []NamedSheet
	for i := range of {
		plan := Plan{Scenario: deployment(), Policies: []string{"crash-only", "hybrid"}, Seeds: seeds, First: 3, Shard: Shard{i, of}}
		if change != nil {
			change(&plan)
		}
		res, err := Run(t.Context(), plan)
		require.NoError(t, err)
		part, err := NewPart(&plan, res, json.RawMessage(`{"words":["x"]}`))
		require.NoError(t, err)
		s := &Sheet{Format: meter.FormatVersion, Build: "test", Index: i, Of: of, Parts: []Part{part}}
		all = append(all, NamedSheet{File: "s" + string(rune('0'+i)), Sheet: reread(t, s)})
	}
	return all
}

func reread(t testing.TB, s *Sheet) *Sheet {
	var b bytes.Buffer
	require.NoError(t, s.Write(&b))
	back, err := ReadSheet(&b)
	require.NoError(t, err)
	return back
}

// signed puts the checksum under a text whose last line it is not, as the program would that
// wrote such a text.
func signed(text string) string {
	body, _, _ := strings.Cut(text, "\n"+sumKey)
	body += "\n"
	return body + sumLine([]byte(body)) + "\n"
}

func TestShardsJoinedAreOneRun(t *testing.T) {
	plan := Plan{Scenario: deployment(), Policies: []string{"crash-only", "hybrid"}, Seeds: 5, First: 3}
	whole, err := Run(t.Context(), plan)
	require.NoError(t, err)
	whole.Wall = 0
	for _, of := range []int{1, 2, 3, 7} {
		shards := sheets(t, 5, of, nil)
		// Nobody can be asked to name files in order.
		for i, j := 0, len(shards)-1; i < j; i, j = i+1, j-1 {
			shards[i], shards[j] = shards[j], shards[i]
		}
		joined, err := Join(shards)
		require.NoError(t, err)
		require.Len(t, joined, 1)
		assert.Equal(t, whole, joined[0].Results, "of %d shards", of)
		assert.JSONEq(t, `{"words":["x"]}`, string(joined[0].Facts))
	}
}

func TestShardsThatDoNotBelongTogetherAreRefused(t *testing.T) {
	good := sheets(t, 4, 3, nil)
	other := func(change func(*Plan)) NamedSheet {
		s := sheets(t, 4, 3, change)[2]
		s.File = "other"
		return s
	}
	edited := func(change func(*Sheet)) NamedSheet {
		s := *good[2].Sheet
		change(&s)
		return NamedSheet{"other", &s}
	}
	for _, c := range []struct {
		name   string
		shards []NamedSheet
		says   string
	}{
		{"missing", []NamedSheet{good[1]}, "of 3 shards 2 are missing: 0, 2"},
		{"one missing", good[:2], "of 3 shards one is missing: 2"},
		{"twice", []NamedSheet{good[0], good[1], good[0], good[2]}, "shard 0 of 3 is there twice, as s0 and s0"},
		{"another build", []NamedSheet{good[0], good[1], edited(func(s *Sheet) { s.Build = "next" })}, "s0 and other do not belong together: they were made by different builds, test and next"},
		{"another number of shards", []NamedSheet{good[0], good[1], edited(func(s *Sheet) { s.Of = 4 })}, "shard of 3, the other of 4"},
		{"another number of loads", []NamedSheet{good[0], good[1], edited(func(s *Sheet) { s.Parts = append(s.Parts, s.Parts[0]) })}, "1 loads, the other 2"},
		{"other policies", []NamedSheet{good[0], good[1], other(func(p *Plan) { p.Policies = []string{"crash-only", "drain"} })}, "their policies are crash-only,hybrid and crash-only,drain"},
		{"other seeds", []NamedSheet{good[0], good[1], other(func(p *Plan) { p.First = 4 })}, "4 seeds from 3, the other of 4 from 4"},
		{"more seeds", []NamedSheet{good[0], good[1], other(func(p *Plan) { p.Seeds = 5 })}, "4 seeds from 3, the other of 5 from 3"},
		{"another name", []NamedSheet{good[0], good[1], other(func(p *Plan) { p.Scenario.Name = "x" })}, "scenarios are deployment and x"},
		{"one setting", []NamedSheet{good[0], good[1], other(func(p *Plan) { p.Scenario.Queue.Lease++ })}, "was not the same in both"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Join(c.shards)
			assert.ErrorContains(t, err, c.says)
		})
	}
}

func TestFilesThatAreNoShardAreRefused(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, sheets(t, 2, 2, nil)[1].Write(&b))
	good := b.String()
	require.Equal(t, good, signed(good))
	change := func(old, becomes string) string {
		require.True(t, strings.Contains(good, old), old)
		return strings.Replace(good, old, becomes, 1)
	}
	// What is wrong with it is said of a file that was written so, and not changed.
	replace := func(old, becomes string) string { return signed(change(old, becomes)) }
	const changed = "was changed after it was written"
	for _, c := range []struct{ name, text, says string }{
		{"empty", "", "ends in the middle"},
		{"cut short", good[:len(good)/2], "ends in the middle"},
		{"something else", `{"a":1}`, "it has no format"},
		{"not JSON", "name: tiny", "line 1"},
		{"another format", replace(`"format":2`, `"format":7`), "has format 7, this program reads format 2"},
		{"unknown field", replace(`"build"`, `"bild"`), "unknown field"},
		{"a shard that cannot be", replace(`"shard":1`, `"shard":2`), "shard 2 of 2"},
		{"no rows", signed(`{"format":2,"build":"","shard":0,"of":1,"parts":[],` + "\n" + sumKey), "holds no rows"},
		{"another number in a row", change(`"jobs_enqueued":2`, `"jobs_enqueued":3`), changed},
		{"one digit more", change(`"released":`, `"released":9`), changed},
		{"another seed", change(`"first_seed":3`, `"first_seed":4`), changed},
		{"another policy", change(`["crash-only","hybrid"]`, `["crash-only","drain"]`), changed},
		{"another build", change(`"build":"test"`, `"build":"next"`), changed},
		{"spaces", change(`,"build"`, `, "build"`), changed},
		{"another sum", change(sumKey+`"`, sumKey+`"0`), changed},
		{"a key of the sum in capitals", change(`"sha256"`, `"SHA256"`), changed},
		{"parts behind the sum", strings.Replace(good, "\"}\n", "\",\"parts\":[]}\n", 1), changed},
		{"no sum", strings.Replace(good, ",\n"+sumKey, "}\n", 1)[:strings.Index(good, ",\n"+sumKey)+2], "has no checksum"},
		{"absurd plan", replace(`"seeds":2`, `"seeds":2000000000`), "2000000000 replications cannot be"},
		{"fewer rows than seeds", replace(`"seeds":2`, `"seeds":5`), "there are 1 rows, shard 1 of 2 of 5 replications has 2"},
		{"row that is none", replace(`"rows":[[{`, `"rows":[[null,{`), "there are 2 rows"},
		{"damaged row", replace(`"jobs_enqueued":`, `"jobs_enqueued":-`), "jobs_enqueued is negative"},
		{"policy without rows", replace(`["crash-only","hybrid"]`, `["crash-only"]`), "do not fit"},
		{"no duration", replace(`"duration":1200000000000`, `"duration":0`), "no duration"},
		{"more behind it", good + "{}", "line 5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadSheet(strings.NewReader(c.text))
			assert.ErrorContains(t, err, c.says)
		})
	}
}

// Whatever a file holds, it is refused, or it can be joined and reported.
func FuzzReadSheet(f *testing.F) {
	var b bytes.Buffer
	require.NoError(f, sheets(f, 2, 1, func(p *Plan) { p.Scenario.Duration = 3 * protocol.Minute })[0].Write(&b))
	f.Add(b.Bytes())
	f.Add([]byte(`{"format":2,"build":"","shard":0,"of":1,"parts":[{"seeds":1,"policies":["x"],"fingerprints":["y"],"duration":1,"rows":[[{"trace_hash":"0000000000000000"}]]}],` + "\n" + sumKey))
	f.Add([]byte(`{"format":2}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		// Without a sum that fits, next to nothing would get past it.
		s, err := ReadSheet(strings.NewReader(signed(string(text))))
		if err != nil {
			return
		}
		joined, err := Join([]NamedSheet{{"x", s}})
		if err != nil {
			return
		}
		for _, j := range joined {
			j.Estimates()
			j.Paired()
			j.Judge()
			j.Transients()
			j.Notes()
		}
		var b bytes.Buffer
		require.NoError(t, s.Write(&b))
		again, err := ReadSheet(&b)
		require.NoError(t, err)
		assert.Equal(t, len(s.Parts), len(again.Parts))
	})
}
