package trace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const head = "arrival,duration,kind\n"

func TestBadInputIsPlacedAndExplained(t *testing.T) {
	for name, c := range map[string]struct {
		file, text   string
		line, column int
		field        string
		problem      string // a part of it
		remedy       string // a part of it
	}{
		"empty file":             {"a.csv", "", 0, 0, "", "is empty", "arrival,duration,kind"},
		"empty packed file":      {"a.csv", packed(""), 0, 0, "", "is empty", "arrival,duration,kind"},
		"only a byte order mark": {"a.csv", "\ufeff", 0, 0, "", "only blank lines", "arrival,duration,kind"},
		"only blank lines":       {"a.csv", "\n \n", 0, 0, "", "only blank lines", "arrival,duration,kind"},
		"header only":            {"a.csv", head, 0, 0, "", "has no rows", "one row per job"},
		"SWF comments only":      {"a.swf", "; Version: 2\n", 0, 0, "", "has no rows", "one row per job"},
		"SWF with unknown times only": {"a.swf", swfRow("0", "-1", "1") + "\n" + swfRow("-1", "3", "1"), 0, 0, "",
			"all rows were skipped, 1 with unknown run time, 1 with unknown submit time", "when jobs came and how long they ran"},

		"negative duration":          {"a.csv", head + "0.5,-3,mail\n", 2, 5, "duration", `duration "-3" is negative`, "for example 3"},
		"negative Go duration":       {"a.csv", head + "0.5,-3s,mail\n", 2, 5, "duration", `duration "-3s" is negative`, "for example 3s"},
		"negative arrival":           {"a.csv", head + "0,1,a\n-1,2,mail\n", 3, 1, "arrival", `arrival "-1" is negative`, "for example 0"},
		"NaN":                        {"a.csv", head + "0,NaN,mail\n", 2, 3, "duration", `"NaN" is not a finite number`, "2.5"},
		"infinite":                   {"a.csv", head + "-Inf,1,mail\n", 2, 1, "arrival", `"-Inf" is not a finite number`, "12.5"},
		"hexadecimal":                {"a.csv", head + "0,0x1F,mail\n", 2, 3, "duration", `"0x1F" is hexadecimal`, "2.5"},
		"milliseconds since 1970":    {"a.csv", head + "1700000000000,1,mail\n", 2, 1, "arrival", "more than 100 years", "or say the unit: --map arrival=arrival:ms"},
		"absurd duration":            {"a.csv", head + "0,3153600001,mail\n", 2, 3, "duration", "more than 100 years", "in seconds"},
		"absurd exponent":            {"a.csv", head + "0,1e999999999999999999999,mail\n", 2, 3, "duration", "more than 100 years", "in seconds"},
		"absurd Go duration":         {"a.csv", head + "0,876001h,mail\n", 2, 3, "duration", "more than 100 years", "in seconds"},
		"empty arrival":              {"a.csv", head + ",1,mail\n", 2, 1, "arrival", "arrival is empty", "12.5"},
		"empty duration":             {"a.csv", head + "0, ,mail\n", 2, 4, "duration", "duration is empty", "2.5"},
		"word for a number":          {"a.csv", head + "0,soon,mail\n", 2, 3, "duration", `"soon" is not a number of seconds`, "1m30s"},
		"two points":                 {"a.csv", head + "0,1.2.3,mail\n", 2, 3, "duration", `"1.2.3" is not a number`, "2.5"},
		"number over two lines":      {"a.csv", head + "0,\"1\n2\",mail\n", 2, 3, "duration", `"1\n2" is not a number`, "2.5"},
		"decimal comma":              {"a.csv", "arrival;duration\n0;1,5\n", 2, 3, "duration", `"1,5" has a decimal comma`, "write 1.5"},
		"instant for a duration":     {"a.csv", head + "0,2024-11-15T16:57:50Z,mail\n", 2, 3, "duration", "is an instant", "subtract the start from the end"},
		"date without T and zone":    {"a.csv", head + "2024-11-15 16:57:50,1,mail\n", 2, 1, "arrival", "is not an RFC 3339 instant", "write it as 2024-11-15T16:57:50Z"},
		"date with impossible month": {"a.csv", head + "2024-13-15T16:57:50Z,1,mail\n", 2, 1, "arrival", "is not an RFC 3339 instant", "2024-11-15T16:57:50Z"},
		"date with impossible zone":  {"a.csv", head + "2024-11-15T16:57:50+24:00,1,mail\n", 2, 1, "arrival", "is not an RFC 3339 instant", "2024-11-15T16:57:50Z"},
		"year before 1970":           {"a.csv", head + "1969-12-31T23:59:59Z,1,mail\n", 2, 1, "arrival", "is not within 100 years after 1970", "correct the year"},
		"year far ahead":             {"a.csv", head + "2204-11-15T16:57:50Z,1,mail\n", 2, 1, "arrival", "is not within 100 years after 1970", "correct the year"},
		"instant after offsets": {"a.csv", head + "0,1,a\n\n2024-11-15T16:57:50Z,1,mail\n", 4, 1, "arrival",
			"is an RFC 3339 instant, but line 2 holds an offset", "one form"},
		"offset after instants": {"a.csv", "duration,arrival\n1,2024-11-15T16:57:50Z\n1,12\n", 3, 3, "arrival",
			`arrival "12" is an offset, but line 2 holds an RFC 3339 instant`, "one form"},

		"row cut short":                   {"a.csv", head + "0,1,a\n1,2", 3, 4, "", "row has 2 cells where the header has 3", "complete the row"},
		"row cut short before CRLF":       {"a.csv", "arrival,duration,kind\r\n1,2\r\n", 2, 4, "", "row has 2 cells where the header has 3", "complete the row"},
		"row too long":                    {"a.csv", head + "0,1,5,mail\n", 2, 7, "", "row has 4 cells where the header has 3", "quote cells that contain a comma"},
		"quote inside a cell":             {"a.csv", head + "0,1,5\" pipe\n", 2, 6, "", "quote inside a cell", `"5"" pipe"`},
		"text after a quote":              {"a.csv", head + "0,1,\"a\"b\n", 2, 8, "", "text after a closing quote", "double the quotes"},
		"quote never closed":              {"a.csv", head + "0,1,a\n1,2,\"mail\n2,3,c\n", 3, 5, "", "quote is never closed", "close it"},
		"quote closed beyond the limit":   {"a.csv", head + "1,2,\"" + strings.Repeat("mail\n", maxLine/5) + "\"", 2, 5, "", "quote is never closed", "close it"},
		"bad cell after a multi-line one": {"a.csv", "note,arrival,duration\n\"x\ny\",0,-1\n", 3, 6, "duration", "is negative", "for example 1"},
		"bad cell before a multi-line one": {"a.csv", "duration,note,arrival\n-1,\"x\ny\",0\n", 2, 1, "duration", "is negative",
			"for example 1"},
		"kind that is not text":    {"a.csv", head + "0,1,\xff\xfe\n", 2, 5, "kind", `kind "\xff\xfe" is not printable UTF-8`, "class of the job"},
		"kind as long as a letter": {"a.csv", head + "0,1," + strings.Repeat("x", 257) + "\n", 2, 5, "kind", "257 bytes, more than 256", "class of the job"},
		"a kind for every job":     {"a.csv", head + idPerRow(maxKinds+1), maxKinds + 2, 5, "kind", "one more than 65536 different kinds", "class of the job"},

		"misspelt header":           {"a.csv", "arival,duration\n0,1\n", 1, 1, "arrival", "no column arrival", `did you mean "arival"? rename it to arrival`},
		"a history of deploys":      {"a.csv", "time_utc,app\n2020-11-16T16:11:08Z,web\n", 1, 1, "arrival", "no column arrival", "if these are deploys, name it in a scenario: deploys: {trace: FILE}"},
		"header of another log":     {"a.csv", "id,arrival,exec_time_seconds\nx,0,1\n", 1, 12, "duration", "no column duration", `did you mean "exec_time_seconds"?`},
		"header without a likeness": {"a.csv", "\na,b,c\n0,1,2\n", 2, 1, "arrival", "no column arrival", "arrival,duration,kind"},
		"column named twice":        {"a.csv", "arrival,duration,Arrival\n0,1,2\n", 1, 18, "arrival", "names arrival twice", "rename"},
		"no header":                 {"a.csv", "0,1,mail\n", 1, 1, "", "no header", "arrival,duration,kind"},
		"no header before a date":   {"a.csv", "2024-11-15T16:57:50Z,1,mail\n", 1, 1, "", "no header", "arrival,duration,kind"},
		"quote in the header":       {"a.csv", "arrival,\"duration\n", 1, 9, "", "quote is never closed", "header line"},
		"stray quote in the header": {"a.csv", "arrival,du\"ration\n", 1, 11, "", "quote inside a cell", "whole cell in quotes"},
		"carriage returns only":     {"a.csv", "arrival,duration\r0,1\r", 1, 17, "", "carriage return", "line feed"},
		"JSON":                      {"a.json", "[{\"arrival\": 0}]", 1, 2, "", "object is not of a form that is known; it has arrival", "--map arrival=KEY,duration=KEY"},
		"line beyond the limit":     {"a.csv", head + strings.Repeat("x", maxLine+1) + "\n", 2, 0, "", "longer than 1048576 bytes", "line feed"},
		"endless first line":        {"a.csv", strings.Repeat("x", 3*maxLine), 1, 0, "", "longer than 1048576 bytes", "line feed"},

		"SWF row cut short":              {"a.swf", "; c\n" + swfRow("0", "1", "1") + "\n2 0 -1 5\n", 3, 9, "", "row has 4 fields where SWF has 18", "-1 stands for"},
		"SWF row without its last field": {"a.swf", strings.TrimSuffix(swfRow("0", "1", "1"), " -1"), 1, 42, "", "row has 17 fields where SWF has 18", "-1 stands for"},
		"SWF first row cut short":        {"a.swf.gz", packed("2 0 -1 5"), 1, 9, "", "row has 4 fields where SWF has 18", "-1 stands for"},
		"SWF submit time in words":       {"a.swf", swfRow("now", "1", "1"), 1, 3, "submit time", `submit time "now" (field 2) is not a number`, "-1 if unknown"},
		"SWF submit time negative":       {"a.swf", swfRow("-7", "1", "1"), 1, 3, "submit time", `"-7" (field 2) is negative`, "-1 if unknown"},
		"SWF run time in words":          {"a.swf", swfRow("0", "1m30s", "1"), 1, 8, "run time", `run time "1m30s" (field 4) is not a number`, "-1 if unknown"},
		"SWF run time in milliseconds":   {"a.swf", swfRow("0", "1700000000000", "1"), 1, 8, "run time", "more than 100 years", "not in milliseconds"},
		"SWF program in words":           {"a.swf", swfRow("0", "1", "bash"), 1, 32, "executable number", `"bash" (field 14) is not a whole number`, "-1 if unknown"},

		"gzip cut short":             {"a.gz", packed(head + "0,1,mail\n")[:30], 1, 0, "", "gzip data end too early", "copy or download"},
		"something after gzip":       {"a.gz", packed(head+"0,1,mail\n") + "junk\n", 3, 0, "", "or something follows them", "copy or download"},
		"gzip cut in its header":     {"a.gz", "\x1f\x8b", 0, 0, "", "gzip data end too early", "copy or download"},
		"gzip with a wrong checksum": {"a.gz", flip(packed(head+"0,1,mail\n"), -6), 3, 0, "", "gzip data are damaged", "gzip -t"},
		"gzip with a damaged body":   {"a.gz", flip(packed(head+"0,1,mail\n"), 10), 1, 0, "", "gzip data", "copy or download"},
		"gzip with rubbish behind":   {"a.gz", packed(head+"0,1,mail\n") + "rubbish!rubbish!", 3, 0, "", "gzip data are damaged", "gzip -t"},
		"gzip of gzip":               {"a.gz", packed(packed(head)), 0, 0, "", "compressed by gzip twice", "gunzip it once"},
		"zip":                        {"a.csv", "PK\x03\x04\x14\x00", 0, 0, "", "zip archive", "unzip"},
		"UTF-16":                     {"a.csv", "\xff\xfea\x00r\x00", 0, 0, "", "UTF-16", "UTF-8"},
		"binary garbage":             {"a.csv", "\x7fELF\x02\x01\x01\x00", 0, 0, "", "is not text: byte 5 is 0x02", "CSV or SWF"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readAll(c.file, c.text)
			e := requireError(t, err)
			assert.Equal(t, [2]int{c.line, c.column}, [2]int{e.Line, e.Column}, "line and column of: %v", e)
			assert.Equal(t, c.file, e.File)
			assert.Equal(t, c.field, e.Field)
			assert.Contains(t, e.Problem, c.problem)
			assert.Contains(t, e.Remedy, c.remedy)
			assert.LessOrEqual(t, len([]rune(e.Source)), excerptRunes+2, "the excerpt is short")
		})
	}
}

func requireError(t require.TestingT, err error) *Error {
	var e *Error
	require.ErrorAs(t, err, &e)
	return e
}

func idPerRow(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "1,2,job-%d\n", i)
	}
	return b.String()
}

// flip damages one byte, counted from the end when at is negative.
func flip(text string, at int) string {
	b := []byte(text)
	if at < 0 {
		at += len(b)
	}
	b[at] ^= 0xff
	return string(b)
}

func TestErrorShowsTheLineAndPointsAtTheColumn(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"a cell": {"jobs.csv", head + "0.5,-3,mail\n",
			"jobs.csv:2:5: duration \"-3\" is negative; write the execution time in seconds, for example 3\n" +
				"\t0.5,-3,mail\n" +
				"\t    ^"},
		"the missing end of a row": {"jobs.csv", head + "0.5,3\n",
			"jobs.csv:2:6: row has 2 cells where the header has 3; complete the row; an empty cell still needs its separator\n" +
				"\t0.5,3\n" +
				"\t     ^"},
		"characters of several bytes and none to show": {"jobs.csv", "kind\tarrival\tduration\nmüll\x7f\t0\tx\n",
			"jobs.csv:2:10: duration \"x\" is not a number of seconds; write the execution time in seconds, for example 2.5, or like 1m30s\n" +
				"\tmüll· 0 x\n" +
				"\t        ^"},
		"a later line of a record": {"jobs.csv", "note,arrival,duration,more\n\"x\ny\",0,-1,\"a\nb\"\n",
			"jobs.csv:3:6: duration \"-1\" is negative; write the execution time in seconds, for example 1\n" +
				"\ty\",0,-1,\"a\n" +
				"\t     ^"},
		"the middle of a long line": {"jobs.csv", "note,arrival,duration,more\n" + strings.Repeat("a", 300) + ",0,-1," + strings.Repeat("b", 300) + "\n",
			"jobs.csv:2:304: duration \"-1\" is negative; write the execution time in seconds, for example 1\n" +
				"\t…" + strings.Repeat("a", 36) + ",0,-1," + strings.Repeat("b", 37) + "…\n" +
				"\t" + strings.Repeat(" ", 40) + "^"},
		"the whole file": {"jobs.csv", head,
			"jobs.csv: has no rows; write one row per job below the header, for example 0.5,3,mail"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readAll(c.file, c.text)
			assert.EqualError(t, err, c.want)
		})
	}
}

func TestRowsBeyondTheWindowAreRefused(t *testing.T) {
	late := func(sep, first string) string {
		var b strings.Builder
		for i := range windowRows + 1 {
			fmt.Fprintf(&b, "1%sx%s%d\n", sep, sep, i+10)
		}
		return b.String() + "1" + sep + "x" + sep + first + "\n"
	}
	for name, c := range map[string]struct {
		file, text   string
		line, column int
		remedy       string
	}{
		"commas":     {"a.csv", "duration,kind,arrival\n" + late(",", "3"), 4099, 5, "sort the file by arrival first: e.g. sort -t, -k3,3n, with the header line left on top"},
		"semicolons": {"a.csv", "duration;kind;arrival\n" + late(";", "3"), 4099, 5, "sort the file by arrival first: e.g. sort -t';' -k3,3n, with the header line left on top"},
		"tabs":       {"a.csv", "duration\tkind\tarrival\n" + late("\t", "3"), 4099, 5, `sort the file by arrival first: e.g. sort -t$'\t' -k3,3n, with the header line left on top`},
		"instants": {"a.csv", head + strings.Repeat("2024-01-02T00:00:00Z,1,a\n", windowRows) + "2024-01-01T00:00:00Z,1,a\n", 4098, 1,
			"sort the file by arrival first: e.g. sort -t, -k1,1, with the header line left on top"},
		"SWF": {"a.swf", strings.Repeat(swfRow("9", "1", "1")+"\n", windowRows) + swfRow("8", "1", "1"), 4097, 3,
			"sort the file by arrival first: e.g. sort -k2,2n"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readAll(c.file, c.text)
			e := requireError(t, err)
			assert.Equal(t, [2]int{c.line, c.column}, [2]int{e.Line, e.Column})
			assert.Contains(t, e.Problem, "out of order by more than the 4096 rows")
			assert.Equal(t, c.remedy, e.Remedy)
		})
	}
}

func TestOpenSaysWhatIsWrongWithAPath(t *testing.T) {
	folder := t.TempDir()
	_, err := Open(folder)
	assert.EqualError(t, err, folder+": is a directory; name one trace file inside it")

	missing := filepath.Join(folder, "jobs.csv")
	_, err = Open(missing)
	assert.EqualError(t, err, missing+": does not exist; check the path of the trace")
	assert.ErrorIs(t, err, fs.ErrNotExist)

	require.NoError(t, os.WriteFile(missing, nil, 0o600))
	_, err = Open(missing)
	assert.Contains(t, requireError(t, err).Problem, "is empty")
}

func TestAnErrorIsRepeated(t *testing.T) {
	r, err := newReader("a.csv", strings.NewReader(head+"0,1,a\n1,-1,a\n"), Map{}, 1)
	require.NoError(t, err)
	_, err = r.Next()
	require.NoError(t, err)
	_, first := r.Next()
	_, again := r.Next()
	requireError(t, first)
	assert.True(t, errors.Is(again, first), "the same error value")
}
