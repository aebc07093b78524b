package trace

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func mapOf(t testing.TB, text string) Map {
	if text == "" {
		return Map{}
	}
	m, err := ParseMap(text)
	require.NoError(t, err)
	return m
}

func readMapped(m Map, name, text string) ([]Job, error) {
	r, err := m.NewReader(name, strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	return drain(r)
}

func TestColumnsOfOtherNamesAreRead(t *testing.T) {
	const s = time.Second
	two := func(lines ...int) []Job { return []Job{{0, 2 * s, "mail", lines[0]}, {90 * s, 3 * s, "zip", lines[1]}} }
	for name, c := range map[string]struct {
		mapping, text string
		want          []Job
	}{
		"Azure Functions, ends out of order and before the zero of the trace": {"",
			"app,func,end_timestamp,duration\n0123456789,abcdefghi,91,3\n0123456789,b,0,2\n", []Job{{0, 2 * s, "01234567/b", 3}, {90 * s, 3 * s, "01234567/abcdefgh", 2}}},
		"CSV by arrival and duration": {"arrival=at,duration=took,kind=queue", "took,queue,at\n2,mail,5\n3,zip,95\n", two(2, 3)},
		"CSV by arrival and end": {"arrival=from,end=to,kind=Q", "from;to;q\n2024-11-15 16:57:50;2024-11-15 16:57:52;mail\n2024-11-15T16:59:20;2024-11-15 16:59:23;zip\n",
			two(2, 3)},
		"units":                     {"arrival=a:m,duration=b:ms,kind=c", "a,b,c\n1.5,3000,zip\n0,2e3,mail\n", two(3, 2)},
		"instants with zones":       {"arrival=a,duration=b,kind=c", "a,b,c\n2024-11-15T16:57:50+05:30,2s,mail\n2024-11-15 11:29:20Z,3s,zip\n", two(2, 3)},
		"zones of PostgreSQL":       {"arrival=a,end=b,kind=c", "a,b,c\n2024-11-15 16:57:50.5+00,2024-11-15 16:57:52.5+00,mail\n2024-11-15 11:29:20.5-05:30,2024-11-15 16:59:23.5+00,zip\n", two(2, 3)},
		"zones of Git and Ruby":     {"arrival=a,duration=b,kind=c", "a,b,c\n2024-11-15 17:57:50 +0100,2,mail\n2024-11-15 16:59:20 UTC,3,zip\n", two(2, 3)},
		"zones of Go and of mail":   {"arrival=a,duration=b,kind=c", "a,b,c\n2024-11-15 16:57:50 +0000 UTC,2,mail\n2024-11-15 16:59:20 GMT,3,zip\n", two(2, 3)},
		"rows without a time":       {"arrival=a,end=b,kind=c", "a,b,c\n,9,x\n0,2,mail\n7,,x\n90,93,zip\n", two(3, 5)},
		"rows that say so":          {"arrival=a,end=b,kind=c", "a,b,c\n\\N,9,x\n0,2,mail\n7,NULL,x\n90,93,zip\nUnknown,None,x\n3,NaT,x\n4,N/A,x\n5,null,x\n6,NA,x\n", two(3, 5)},
		"a map of our own names":    {"arrival=arrival,duration=duration,kind=kind", "arrival,duration,kind\n90,3,zip\n0,2,mail\n", two(3, 2)},
		"a column with a colon":     {"arrival=t:x:s,duration=d,kind=k:y", "t:x,d,k:y\n0,2,mail\n90,3,zip\n", two(2, 3)},
		"JSON of our own names":     {"", `[{"arrival": 0, "duration": "2s", "kind": "mail"}, {"duration": 3, "arrival": 90, "kind": "zip"}]`, two(1, 1)},
		"JSON lines, newest first":  {"arrival=a:ms,duration=b", "{\"a\": 9000, \"b\": 1}\n\n{\"b\": \"2\", \"a\": 0, \"x\": {\"a\": [1, {}]}}\n", []Job{{0, 2 * s, "job", 3}, {9 * s, s, "job", 1}}},
		"JSON with null and escape": {"arrival=a,duration=b,kind=k", `[{"a": 0, "b": 2, "k": "m\u0061\u0069\u006C"}, {"a": null, "b": 1, "k": ""}, {"a": 90, "b": 3, "k": "z\u0069p"}]`, two(1, 1)},
		"a surrogate pair":          {"arrival=a,duration=b,kind=k", `{"a": 0, "b": 2, "k": "\ud83d\ude80"}`, []Job{{0, 2 * s, "🚀", 1}}},
		"a job list of ci-metrics": {"", "[\n{\"Workflow\": \"W\", \"Job\": \"zip\", \"Conclusion\": \"failure\", \"Started\": \"2020-06-05T14:11:30Z\", \"Completed\": \"2020-06-05T14:11:33Z\"},\n" +
			"{\"Workflow\": \"W\", \"Job\": \"x\", \"Conclusion\": \"skipped\", \"Started\": \"2020-06-05T14:11:38Z\", \"Completed\": \"2020-06-05T14:11:38Z\"},\n" +
			"{\"Workflow\": \"W\", \"Job\": \"mail\", \"Conclusion\": \"success\", \"Started\": \"2020-06-05T14:10:00Z\", \"Completed\": \"2020-06-05T14:10:02Z\"}]",
			[]Job{{0, 2 * s, "W / mail", 4}, {90 * s, 3 * s, "W / zip", 2}}},
		"GitHub's command line, with jobs that run, that never ran, and that were cancelled before they did": {"", `{"jobs": [{"name": "zip", "conclusion": "success", "startedAt": "2020-06-05T14:11:30Z", "completedAt": "2020-06-05T14:11:33Z"}, {"name": "running", "conclusion": "", "startedAt": "2020-06-05T14:10:00Z", "completedAt": "0001-01-01T00:00:00Z"},` + "\n" +
			`{"name": "cancelled", "conclusion": "cancelled", "startedAt": "2020-06-05T14:10:00Z", "completedAt": "2020-06-05T14:09:58Z"}, {"name": "mail", "conclusion": "cancelled", "startedAt": "2020-06-05T14:10:00Z", "completedAt": "2020-06-05T14:10:02Z"}]}`,
			two(2, 1)},
		"bars between the cells, as sacct and psql write": {"arrival=Submit,end=End,kind=Q", "Q|Submit|End\nzip|95|98\nmail|5|7\n", two(3, 2)},
		"two pages of GitHub's API": {"", `{"total_count": 3, "jobs": [{"id": 1, "name": "zip", "conclusion": "success", "started_at": "2020-06-05T14:11:30Z", "completed_at": "2020-06-05T14:11:33Z", "steps": [{"name": "x"}]}], "x": {}}` + "\n" +
			`{"total_count": 3, "jobs": [{"name": "running", "conclusion": null, "started_at": "2020-06-05T14:10:00Z", "completed_at": null}, {"name": "mail", "conclusion": "success", "started_at": "2020-06-05T14:10:00Z", "completed_at": "2020-06-05T14:10:02Z"}]}`,
			two(2, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readMapped(mapOf(t, c.mapping), "a", c.text)
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestBadMappedInputIsPlacedAndExplained(t *testing.T) {
	const both = "arrival=a,duration=b,kind=k"
	for name, c := range map[string]struct {
		mapping, text   string
		line, column    int
		problem, remedy string // parts of them
	}{
		"no such column":            {both, "a,bb,k\n0,1,x\n", 1, 1, `header has no column "b"`, "it has a, bb, k"},
		"a misspelt column":         {"arrival=at,duration=took", "at,tok\n0,1\n", 1, 4, `header has no column "took"`, "did you mean tok? it has at, tok"},
		"a column twice":            {both, "a,b,A,k\n", 1, 5, "names a twice", "rename"},
		"not in the unit":           {"arrival=a,duration=b:ms", "a,b\n0,1s\n", 2, 3, `"1s" is not a number of units of 1ms`, "leave the unit out"},
		"too large for the unit":    {"arrival=a,duration=b:d", "a,b\n0,40000\n", 2, 3, "more than 100 years in units of 24h0m0s", "right unit"},
		"negative in the unit":      {"arrival=a,duration=b:ms", "a,b\n0,-5\n", 2, 3, "is negative", "leave it out"},
		"an end before its arrival": {"arrival=a,end=b", "a,b\n5,4\n", 2, 3, `end "4" is before arrival "5"`, "correct the row"},
		"an end of another form":    {"arrival=a,end=b", "a,b\n5,2024-11-15T16:57:50Z\n", 2, 3, "is an RFC 3339 instant, but line 2 holds an offset", "one form"},
		"a zone on one row only":    {both, "a,b,k\n2024-11-15 16:57:50,1,x\n2024-11-15T16:57:50Z,1,x\n", 3, 1, "but line 2 holds a date without a zone", "one form"},
		"an impossible date":        {both, "a,b,k\n2024-13-15 16:57:50,1,x\n", 2, 1, "is not an RFC 3339 instant", "2024-11-15T16:57:50Z"},
		"an arrival of 200 years":   {"end=a:s,duration=b:s", "a,b\n0,3153600000\n3153600000,0\n", 3, 0, "more than 100 years after the first one", "units"},
		"all rows without a time":   {both, "a,b,k\n,1,x\n", 0, 0, "all rows were skipped, 1 with no arrival", "when jobs came"},

		"a zone of half a number":  {both, "a,b,k\n2024-11-15 16:57:50 +1,1,x\n", 2, 1, "is not an RFC 3339 instant", "2024-11-15T16:57:50Z"},
		"a zone with no time":      {both, "a,b,k\n2024-11-15 +0100,1,x\n", 2, 1, "is not an RFC 3339 instant", "2024-11-15T16:57:50Z"},
		"milliseconds since 1970":  {both, "a,b,k\n1709287200000,1,x\n", 2, 1, "more than 100 years", "--map, such as arrival=COLUMN:ms"},
		"a run of nanoseconds":     {both, "a,b,k\n0,15000000000,x\n", 2, 3, "more than 100 years", "--map, such as duration=COLUMN:ms"},
		"a map for SWF":            {both, "; Version: 2\n" + swfRow("0", "60", "1"), 1, 1, "Standard Workload Format", "leave the map out"},
		"carriage returns alone":   {both, "a,b,k\r0,1,x\r", 1, 6, "carriage return alone", `tr '\r' '\n' < a > converted.csv`},
		"JSON inside of a list":    {"", `{"items": [{"arrival": 0, "duration": 5}]}`, 1, 1, "it has items", "keys inside of others, such as in items, are not seen"},
		"JSON inside of an object": {"arrival=m.a,duration=b", `{"m": {"a": 1}, "b": 2}`, 1, 1, `no key "m.a"`, "keys inside of others, such as in m, are not seen"},
		"JSON of nothing":          {"", `{}`, 1, 1, "object has no keys", "one object per job"},

		"JSON without the key":         {both, "[\n {\"a\": 1, \"bb\": 2, \"k\": 3}]", 2, 2, `first object has no key "b"`, "it has a, bb, k"},
		"JSON with a misspelt key":     {"arrival=at,duration=took", `[{"at": 1, "tok": 2}]`, 1, 2, `first object has no key "took"`, "did you mean tok? it has at, tok"},
		"a spot series":                {"", `{"metadata": {}, "data": []}`, 1, 1, "is a history of faults", "faults: {trace: FILE}"},
		"a spot fleet":                 {"", "0,add,node1\n", 1, 1, "is a history of faults", "faults: {trace: FILE}"},
		"node failures":                {"", "nodenum,Prob Started\n", 1, 1, "is a history of faults", "faults: {trace: FILE}"},
		"faults of our own":            {"", "time,seat,kind\n", 1, 1, "is a history of faults", "faults: {trace: FILE}"},
		"JSON of an unknown form":      {"", `{"x": 1}`, 1, 1, "not of a form that is known; it has x", "--map arrival=KEY"},
		"JSON with a bad value":        {both, "[{\"a\": 0, \"b\": 1, \"k\": 0},\n{\"a\": 1, \"k\": 1, \"b\": \"soon\"}]", 2, 23, `duration "soon" is not a number of seconds`, "2.5"},
		"JSON with a nested value":     {both, `{"a": 0, "b": [1], "k": ""}`, 1, 15, "duration is neither text nor a number", "plain values"},
		"JSON with a truth for a time": {both, `{"a": true, "b": 1, "k": ""}`, 1, 7, "arrival is neither text nor a number", "plain values"},
		"JSON with a key twice":        {both, "{\"a\": 0, \"b\": 1, \"k\": 1}\n{\"a\": 0, \"a\": 1, \"b\": 1}", 2, 15, `key "a" twice`, "keep one"},
		"JSON cut short":               {both, `[{"a": 0, "b": 1, "k": 1}, {"a": `, 1, 34, "ends in the middle", "cut short"},
		"JSON cut between two":         {both, `[{"a": 0, "b": 1, "k": 1}`, 1, 26, "ends in the middle", "cut short"},
		"JSON without a comma":         {both, `[{"a": 0, "b": 1, "k": 1} {"a": 0}]`, 1, 27, "',' should stand here", "JSON tool"},
		"JSON with a word of another":  {both, `[{"a": None}]`, 1, 12, "no value ends here", "JSON tool"},
		"JSON with a line in a string": {both, "[{\"a\": \"x\ny\"}]", 1, 10, "behind the end of a line", "JSON tool"},
		"JSON with an unknown escape":  {both, `[{"a": "\x"}]`, 1, 10, "unknown escape", "JSON tool"},
		"JSON with a bad code point":   {both, `[{"a": "\u00zz"}]`, 1, 13, "four hexadecimal digits", "JSON tool"},
		"JSON of numbers":              {both, `[1, 2]`, 1, 2, "element of the list is not an object", "one object per job"},
		"JSON, then something else":    {both, "{\"a\": 0, \"b\": 1, \"k\": 1}\nx", 2, 1, "neither an object nor a list", "one object per job"},
		"JSON, nested too deep":        {both, `{"x": ` + strings.Repeat("[", 300), 1, 207, "nested deeper than 200", "leave the nested"},
		"JSON without objects":         {both, `[]`, 0, 0, "has no rows", "one row per job"},
		"an end before JSON's arrival": {"", `[{"started_at": "2020-06-05T14:11:30Z", "completed_at": "2020-06-05T14:11:29Z", "name": "x"}]`, 1, 57, "is before arrival", "correct"},
	} {
		t.Run(name, func(t *testing.T) {
			jobs, err := readMapped(mapOf(t, c.mapping), "a", c.text)
			checkStream(t, jobs, err)
			e := requireError(t, err)
			assert.Equal(t, [2]int{c.line, c.column}, [2]int{e.Line, e.Column}, "line and column of: %v", e)
			assert.Contains(t, e.Problem, c.problem)
			assert.Contains(t, e.Remedy, c.remedy)
		})
	}
}

// What an error quotes is what stands at the place that it names.
func TestAJobThatEndedBeforeItStartedIsCounted(t *testing.T) {
	r, err := NewReader("a", strings.NewReader(`{"jobs": [{"name": "a", "conclusion": "cancelled", "started_at": "2020-06-05T14:10:00Z", "completed_at": "2020-06-05T14:09:58Z"}, {"name": "b", "conclusion": "success", "started_at": "2020-06-05T14:10:00Z", "completed_at": "2020-06-05T14:10:02Z"}]}`))
	require.NoError(t, err)
	_, err = drain(r)
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"an end before its start": 1}, r.tally.skipped)
}

func TestANumberInAColumnThatSaysAUnitNeedsIt(t *testing.T) {
	for mapping, c := range map[string]struct{ text, says string }{
		"arrival=at,duration=exec_ms":       {"at,exec_ms\n0,1500\n", `a:2:3: duration "1500" is a number without a unit, which would be seconds, and the name exec_ms says ms; write duration=exec_ms:ms in the map, or duration=exec_ms:s if these are seconds`},
		"arrival=startMillis,end=endMillis": {`{"startMillis": 1700000000, "endMillis": 1700000100}`, "arrival=startMillis:ms in the map"},
		"arrival=at,duration=took (us)":     {"at,took (us)\n0,1500\n", "duration=took (us):us in the map"},
		"arrival=at,duration=DurationNs":    {"at,DurationNs\n0,1500\n", "duration=DurationNs:ns in the map"},
		"arrival=at,duration=ms":            {"at,ms\n0,15\n", "duration=ms:ms in the map"},
		"arrival=at,duration=run_min":       {"at,run_min\n0,15\n", "duration=run_min:m in the map"},
	} {
		t.Run(mapping, func(t *testing.T) {
			_, err := readMapped(mapOf(t, mapping), "a", c.text)
			assert.ErrorContains(t, err, c.says)
		})
	}
	for mapping, text := range map[string]string{
		"arrival=at,duration=exec_ms:ms": "at,exec_ms\n0,1500\n",
		"arrival=at,duration=exec_ms:s":  "at,exec_ms\n0,1.5\n",
		"arrival=at,duration=exec_ms":    "at,exec_ms\n0,1.5s\n",
		"arrival=at_s,duration=took_sec": "at_s,took_sec\n0,1.5\n",
		"arrival=at,duration=items":      "at,items\n0,1.5\n",
	} {
		_, err := readMapped(mapOf(t, mapping), "a", text)
		assert.NoError(t, err, mapping)
	}
}

func TestAColumnWithACommaIsNamedInQuotes(t *testing.T) {
	r, err := readMapped(mapOf(t, `arrival=at,duration="Exec, ms":ms`), "a", "at,\"Exec, ms\"\n0,1500\n")
	require.NoError(t, err)
	assert.Equal(t, 1500*time.Millisecond, r[0].Duration)
}

func TestAKeyThatComesTwiceIsQuotedWithItsSecondValue(t *testing.T) {
	for _, text := range []string{
		"{\"a\": 0, \"b\": 1}\n{\"a\": 3, \"b\": 2, \"b\": 9}",
		`{"a": 3, "b": 2, "b": 9}`,
	} {
		_, err := readMapped(mapOf(t, "arrival=a,duration=b"), "a", text)
		assert.Contains(t, requireError(t, err).Source, `"b": 2, "b": 9`)
	}
}

func TestMapsThatMakeNoSenseAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                               `"" names no column`,
		"arrival=a,duration=a":           `names one column for two of arrival, duration and end`,
		"duration=a:ms,end=a":            `names one column for two of arrival, duration and end`,
		"arrival":                        `"arrival" names no column`,
		"arival=a,duration=b":            `"arival" is nothing a job has; it has arrival, duration, end and kind`,
		"arrival=a,arrival=b":            "arrival is given twice",
		"arrival=,duration=b":            "arrival has no column",
		"arrival=a":                      "how long jobs run; add duration=COLUMN or end=COLUMN",
		"duration=a,kind=b":              "when jobs arrive; add arrival=COLUMN",
		"arrival=a,duration=b,end=c":     "one too many",
		"arrival=a,duration=b:sec":       `"sec" is not a unit`,
		"arrival=a,duration=b,kind=c=d,": `"" names no column`,
		`arrival=a,duration="b,kind=c`:   "the quotes do not end",
	} {
		_, err := ParseMap(text)
		assert.ErrorContains(t, err, want, text)
	}
	for _, text := range []string{"arrival=a,duration=b", "duration=b:h,end=a:ms,kind=c:d", "arrival=x:y:s,end=z", `arrival=at,duration="Exec, ms":ms,kind="a,b"`, `arrival=5" pipe,end=z`} {
		assert.Equal(t, text, mapOf(t, text).String(), "it is written as it is read")
	}
}

// Whatever encoding/json writes, in whatever order, comes back sorted.
func TestJSONIsReadAsItIsWritten(t *testing.T) {
	m := mapOf(t, "arrival=at:ns,duration=took:ns,kind=k")
	rapid.Check(t, func(t *rapid.T) {
		type object struct {
			Extra any    `json:"extra"`
			At    int64  `json:"at"`
			Took  int64  `json:"took"`
			K     string `json:"k"`
		}
		objects := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) object {
			return object{rapid.SampledFrom([]any{nil, "a\"\\\n", 1.5, []any{map[string]any{"at": 1}}, true}).Draw(t, "extra"),
				rapid.Int64Range(0, 50).Draw(t, "at"), rapid.Int64Range(0, 1e12).Draw(t, "took"),
				rapid.StringMatching(`[a-zé"\\/😀]{1,6}`).Draw(t, "k")}
		}), 1, 20).Draw(t, "objects")
		var text strings.Builder
		encoder := json.NewEncoder(&text)
		if rapid.Bool().Draw(t, "indent") {
			encoder.SetIndent(" ", "\t")
		}
		if rapid.Bool().Draw(t, "lines") {
			for _, o := range objects {
				require.NoError(t, encoder.Encode(o))
			}
		} else {
			require.NoError(t, encoder.Encode(objects))
		}
		slices.SortStableFunc(objects, func(a, b object) int { return int(a.At - b.At) })
		got, err := readMapped(m, "a", text.String())
		require.NoError(t, err)
		require.Len(t, got, len(objects))
		for i, o := range objects {
			require.Equal(t, Job{time.Duration(o.At - objects[0].At), time.Duration(o.Took), o.K, got[i].Line}, got[i])
		}
	})
}

func FuzzMapped(f *testing.F) {
	const both = "arrival=a,duration=b,kind=k"
	f.Add(both, "a,b,k\n2024-11-15 16:57:50,1,x\n")
	f.Add("end=a:ms,duration=b:d", "a;b\n1e3;\"2\"\n")
	f.Add(both, `{"a": 0, "b": [1], "k": "\ud83d\ude80"} {"a": null}`)
	f.Add("", `{"jobs": [{"started_at": "2020-06-05T14:11:30Z", "completed_at": "2020-06-05T14:11:39Z", "name": "x"}]} []`)
	f.Add("", "app,func,end_timestamp,duration\na,b,1,2\n")
	f.Fuzz(func(t *testing.T, mapping, text string) {
		var m Map
		if mapping != "" {
			var err error
			if m, err = ParseMap(mapping); err != nil {
				return
			}
			require.NoError(t, m.Check())
			again, err := ParseMap(m.String())
			require.NoError(t, err)
			require.Equal(t, m, again)
		}
		jobs, err := readMapped(m, "a", text)
		checkStream(t, jobs, err)
	})
}

func TestManyJSONObjectsAllocateAlmostNothingButTheirRows(t *testing.T) {
	const rows = 50_000
	g := generated{header: "[", write: func(b []byte, i int) []byte {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"a": %d, "b": "1.5", "k": "m%d", "other": {"x": [1, "y"]}}`, rows-i, i%50)
		if i == rows-1 {
			b = append(b, ']')
		}
		return b
	}, rows: rows}
	m := mapOf(t, "arrival=a,duration=b,kind=k")
	r, err := m.NewReader("a", &g)
	require.NoError(t, err)
	assert.LessOrEqual(t, len(r.window.blocks)*windowRows*int(unsafe.Sizeof(row{})), (rows+windowRows)*32, "32 bytes per row")
	n := 0
	allocs := testing.AllocsPerRun(rows/2-1, func() {
		_, err := r.Next()
		require.NoError(t, err)
		n++
	})
	assert.Zero(t, allocs)
	assert.Equal(t, rows/2, n)
}
