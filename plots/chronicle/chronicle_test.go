package chronicle_test

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	. "github.com/quiesce/quiesce/plots/chronicle"
)

const second = 1_000_000_000

const nasty = `</title></script><img src=x onerror="alert(1)">&'` + "`"

// sample is a deploy: a job is interrupted on one worker and goes on at another.
func sample() *Chronicle {
	return &Chronicle{
		Title: nasty, Until: 60 * second,
		Tracks: []*Track{
			{Name: nasty, Slots: 1, Held: []Level{{At: 0, Value: 1}, {At: 31*second + 5, Value: 0}}, Marks: []Mark{{Row: 0, At: 10 * second, Name: nasty}, {Row: 1, At: 30 * second, Name: "cancelled", Job: 7}}, Spans: []Span{
				{Row: 1, From: 30*second + 1, Until: 31*second + 5, Name: "settles", Class: Settling, Job: 7}, // in the order in which they ended
				{Row: 1, From: 0, Until: 30 * second, Name: "runs", Class: Running, Job: 7},
				{Row: 1, From: 0, Until: 31*second + 5, Name: "job 7", Class: HandedBack, Job: 7, Details: []Detail{{"kind", nasty}}},
				{Row: 0, From: 0, Until: 10 * second, Name: "serving", Class: Serving},
				{Row: 0, From: 10 * second, Until: 32 * second, Name: "draining", Class: Draining},
				{Row: 0, From: 0, Until: 32 * second, Name: "life", Class: Lifetime},
			}},
			{Name: "worker 1", Slots: 1, Spans: []Span{{Row: 1, From: 32 * second, Until: 60 * second, Name: "job 7", Class: Unfinished, Job: 7}}},
		},
		Stalls: []Stall{
			{Job: 7, From: 30 * second, Until: 32 * second, Left: Place{0, 1}, Went: Place{1, 1}},
			{Job: 8, From: 50 * second, Until: 60 * second, Left: Nowhere, Went: Nowhere, Open: true},
		},
	}
}

func TestATraceIsWrittenEventByEvent(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, sample().WritePerfetto(&b))
	var doc struct {
		OtherData   map[string]string
		TraceEvents []map[string]any
	}
	require.NoError(t, json.Unmarshal(b.Bytes(), &doc))
	assert.Equal(t, nasty, doc.OtherData["title"])
	var lines []string
	for _, line := range strings.Split(b.String(), "\n") {
		if strings.HasPrefix(line, "{\"name\"") && !strings.Contains(line, `"ph":"M"`) {
			lines = append(lines, strings.TrimSuffix(strings.ReplaceAll(line, string(quoted(nasty)), `"NASTY"`), ","))
		}
	}
	assert.Equal(t, []string{
		`{"name":"life","ph":"X","cat":"life","ts":0,"dur":32000000,"pid":1,"tid":1}`,
		`{"name":"serving","ph":"X","cat":"serving","ts":0,"dur":10000000,"pid":1,"tid":1}`,
		`{"name":"job 7","ph":"X","cat":"handed-back","ts":0,"dur":31000000.005,"pid":1,"tid":2,"args":{"job":7,"kind":"NASTY"}}`,
		`{"name":"runs","ph":"X","cat":"running","ts":0,"dur":30000000,"pid":1,"tid":2,"args":{"job":7}}`,
		`{"name":"claims held","ph":"C","ts":0,"pid":1,"tid":0,"args":{"claims":1}}`,
		`{"name":"draining","ph":"X","cat":"draining","ts":10000000,"dur":22000000,"pid":1,"tid":1}`,
		`{"name":"NASTY","ph":"i","ts":10000000,"pid":1,"tid":1,"s":"t"}`,
		`{"name":"goes on","ph":"s","cat":"job","ts":29999999.999,"pid":1,"tid":2,"id":"1"}`,
		`{"name":"job 7 stands still","ph":"b","cat":"stall","ts":30000000,"pid":3,"tid":0,"id":"1","args":{"job":7}}`,
		`{"name":"cancelled","ph":"i","ts":30000000,"pid":1,"tid":2,"s":"t","args":{"job":7}}`,
		`{"name":"settles","ph":"X","cat":"settling","ts":30000000.001,"dur":1000000.004,"pid":1,"tid":2,"args":{"job":7}}`,
		`{"name":"claims held","ph":"C","ts":31000000.005,"pid":1,"tid":0,"args":{"claims":0}}`,
		`{"name":"job 7 stands still","ph":"e","cat":"stall","ts":32000000,"pid":3,"tid":0,"id":"1"}`,
		`{"name":"job 7","ph":"X","cat":"unfinished","ts":32000000,"dur":28000000,"pid":2,"tid":4,"args":{"job":7}}`,
		`{"name":"goes on","ph":"f","cat":"job","ts":32000000,"pid":2,"tid":4,"id":"1","bp":"e"}`,
		`{"name":"job 8 stands still","ph":"b","cat":"stall","ts":50000000,"pid":3,"tid":0,"id":"2","args":{"job":8}}`,
		`{"name":"job 8 stands still","ph":"e","cat":"stall","ts":60000000,"pid":3,"tid":0,"id":"2"}`,
	}, lines)
	assert.Contains(t, b.String(), `{"name":"thread_name","ph":"M","ts":0,"pid":2,"tid":4,"args":{"name":"slot 0"}}`)
}

func quoted(s string) []byte {
	text, _ := json.Marshal(s)
	return text
}

// Names come from people and from files: nothing in one may become a part of the page.
func TestThePageStandsAloneAndEscapesNames(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, sample().WriteHTML(&b))
	text := b.String()
	assert.NotContains(t, text, "<img")
	assert.NotContains(t, text, nasty)
	assert.Equal(t, 12, strings.Count(text, "&lt;/title&gt;&lt;/script&gt;&lt;img src=x onerror=&#34;alert(1)&#34;&gt;"), "wherever a name is shown")
	assert.Equal(t, 1, strings.Count(text, "<script>"))
	assert.Equal(t, 1, strings.Count(text, "</script>"))
	assert.NotRegexp(t, `(?i)(src|href|action)=|@import|url\(|fetch\(|XMLHttp`, strings.ReplaceAll(text, "&lt;img src=x", ""), "it asks nobody for anything")
	for _, address := range regexp.MustCompile(`\w+://[^"]*`).FindAllString(text, -1) {
		assert.Equal(t, "http://www.w3.org/2000/svg", address)
	}
	assert.Contains(t, text, `<rect class="draining" x="16.6667%" y="7" width="36.6667%" height="5"><title>`)
	assert.Contains(t, text, `<rect class="handed-back" data-job="7" x="0.0000%" y="13" width="51.6667%" height="12"><title>`)
	assert.Contains(t, text, "30s to 31s, 1s", "a part of a claim")
	assert.Contains(t, text, `<rect class="settling" data-job="7" x="50.0000%" y="19" width="1.6667%" height="6"><title>`, "over its lower half")
	assert.NotContains(t, text, `class="running"`, "the claim itself shows it")
	assert.NotContains(t, text, "ZgotmplZ", "the template refused nothing")
}

func TestAPageMayBeginLater(t *testing.T) {
	var b bytes.Buffer
	c := &Chronicle{From: 60 * second, Until: 100 * second, Tracks: []*Track{{Name: "worker", Spans: []Span{{From: 70 * second, Until: 90 * second, Class: Draining}}}}}
	require.NoError(t, c.WriteHTML(&b))
	assert.Contains(t, b.String(), `<rect class="draining" x="25.0000%" y="7" width="50.0000%" height="5"><title>`)
}

func TestTheSameIsWrittenAgain(t *testing.T) {
	for _, write := range []func(*Chronicle, io.Writer) error{(*Chronicle).WriteHTML, (*Chronicle).WritePerfetto} {
		var first bytes.Buffer
		require.NoError(t, write(sample(), &first))
		for range 20 { // whatever order a map takes
			var again bytes.Buffer
			require.NoError(t, write(sample(), &again))
			require.Equal(t, first.String(), again.String())
		}
	}
}

func TestAnEmptyChronicleIsWritten(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, (&Chronicle{}).WritePerfetto(&b))
	assert.True(t, json.Valid(b.Bytes()))
	require.NoError(t, (&Chronicle{}).WriteHTML(&b))
}

func TestErrorsOfTheFileComeBack(t *testing.T) {
	assert.ErrorContains(t, sample().WritePerfetto(full{}), assert.AnError.Error())
	assert.ErrorContains(t, sample().WriteHTML(full{}), assert.AnError.Error())
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, assert.AnError }
