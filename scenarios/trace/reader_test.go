package trace

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// readAll drains a trace. It returns the jobs before an error, too.
func readAll(name, text string) ([]Job, error) {
	r, err := NewReader(name, strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	return drain(r)
}

func drain(r *Reader) (jobs []Job, err error) {
	for {
		job, err := r.Next()
		if err == io.EOF {
			return jobs, nil
		}
		if err != nil {
			return jobs, err
		}
		jobs = append(jobs, job)
	}
}

// swfRow fills the fields that do not matter here.
func swfRow(submit, run, executable string) string {
	return "1 " + submit + " -1 " + run + " 1 -1 -1 1 -1 -1 1 1 1 " + executable + " -1 -1 -1 -1"
}

func TestReaderUnderstandsEveryFormat(t *testing.T) {
	const s = time.Second
	two := []Job{{0, 2 * s, "mail", 2}, {1500 * time.Millisecond, 90 * s, "job", 3}}
	for name, c := range map[string]struct {
		file, text string
		want       []Job
	}{
		"commas":                              {"a.csv", "arrival,duration,kind\n0,2,mail\n1.5,90,\n", two},
		"semicolons":                          {"a.csv", "arrival;duration;kind\n0;2;mail\n1.5;90;\n", two},
		"tabs":                                {"a.tsv", "arrival\tduration\tkind\n0\t2\tmail\n1.5\t90\t\n", two},
		"blanks around cells":                 {"a.csv", " arrival , duration , kind \n 0 , 2 , mail \n 1.5 , 90 , \n", two},
		"columns in another order and case":   {"a.csv", "Kind,DURATION,id,Arrival\nmail,2,x,0\n,90,y,1.5\n", two},
		"an unnamed first column":             {"a.csv", ";arrival;duration;kind\n0;0;2;mail\n1;1.5;90;\n", two},
		"CRLF":                                {"a.csv", "arrival,duration,kind\r\n0,2,mail\r\n1.5,90,\r\n", two},
		"a byte order mark":                   {"a.csv", "\ufeffarrival,duration,kind\n0,2,mail\n1.5,90,\n", two},
		"no line feed at the end":             {"a.csv", "arrival,duration,kind\n0,2,mail\n1.5,90,", two},
		"quotes":                              {"a.csv", "\"arrival\",\"duration\",\"kind\"\n\"0\", \"2\" ,\"mail\"\n\"1.5\",\"90\",\"\"\n", two},
		"Go durations":                        {"a.csv", "arrival,duration,kind\n0s,2s,mail\n1500ms,1m30s,\n", two},
		"Go durations among numbers":          {"a.csv", "arrival,duration,kind\n0,2s,mail\n1.5s,90,\n", two},
		"exponents":                           {"a.csv", "arrival,duration,kind\n0e0,2000e-3,mail\n15E-1,+9.e1,\n", two},
		"instants":                            {"a.csv", "arrival,duration,kind\n2024-02-29T23:59:59Z,2,mail\n2024-03-01T00:00:00.5Z,90,\n", two},
		"instants of different zones":         {"a.csv", "arrival,duration,kind\n2024-03-01T05:29:59+05:30,2,mail\n2024-02-29T16:00:00.5-08:00,90,\n", two},
		"arrivals that start far from zero":   {"a.csv", "arrival,duration,kind\n1700000000,2,mail\n1700000001.5,90,\n", two},
		"content that contradicts its name":   {"a.swf", "arrival,duration,kind\n0,2,mail\n1.5,90,\n", two},
		"gzip whatever its name":              {"a.csv", packed("arrival,duration,kind\n0,2,mail\n1.5,90,\n"), two},
		"gzip in several members":             {"a.gz", packed("arrival,duration,kind\n0,2,ma") + packed("il\n1.5,90,\n"), two},
		"no kind column":                      {"a.csv", "arrival,duration\n0,2\n", []Job{{0, 2 * s, "job", 2}}},
		"blank lines":                         {"a.csv", "\n\narrival,duration\n\n0,2\n  \n1,3\n\n", []Job{{0, 2 * s, "job", 5}, {s, 3 * s, "job", 7}}},
		"a duration of zero":                  {"a.csv", "arrival,duration\n0,0\n", []Job{{0, 0, "job", 2}}},
		"separator and quotes in a kind":      {"a.csv", "arrival,duration,kind\n0,2,\"5\"\" pipe, long\"\n", []Job{{0, 2 * s, `5" pipe, long`, 2}}},
		"a quoted cell over several lines":    {"a.csv", "note,arrival,duration\n\"one\ntwo, \"\"three\"\"\n\",0,2\nx,1,3\n", []Job{{0, 2 * s, "job", 2}, {s, 3 * s, "job", 5}}},
		"unsorted rows":                       {"a.csv", "arrival,duration\n5,1\n3,2\n4,3\n3,4\n", []Job{{0, 2 * s, "job", 3}, {0, 4 * s, "job", 5}, {s, 3 * s, "job", 4}, {2 * s, s, "job", 2}}},
		"SWF":                                 {"a.swf", "; Version: 2.2\n" + swfRow("10", "2", "7") + "\n ; note\n" + swfRow("11.5", "90", "-1"), []Job{{0, 2 * s, "exe-7", 2}, {1500 * time.Millisecond, 90 * s, "job", 4}}},
		"SWF without header, name and spaces": {"log", "  " + strings.ReplaceAll(swfRow("10", "2", "7"), " ", "   ") + "\r\n", []Job{{0, 2 * s, "exe-7", 1}}},
		"SWF with more fields":                {"a.swf", swfRow("10", "2", "7") + " {1, 2, 3} q_1d 1:ppn=2\n", []Job{{0, 2 * s, "exe-7", 1}}},
		"SWF with unknown times":              {"a.swf", swfRow("-1", "-1", "7") + "\n" + swfRow("3", "-1", "7") + "\n" + swfRow("4", "-99", "7") + "\n" + swfRow("5", "0", "7"), []Job{{0, 0, "exe-7", 4}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readAll(c.file, c.text)
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

func packed(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, text)
	w.Close()
	return b.String()
}

func TestOpenReadsFilesFromDisk(t *testing.T) {
	plain := openAll(t, "testdata/shop.csv")
	assert.Len(t, plain, 200)
	assert.Equal(t, plain, openAll(t, "testdata/shop-packed.csv.gz"), "the packed file holds the same rows")
	assert.Len(t, openAll(t, "testdata/batch.swf"), 9)
}

func openAll(t *testing.T, path string) []Job {
	r, err := Open(path)
	require.NoError(t, err)
	jobs, err := drain(r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	return jobs
}

func TestNextRepeatsTheEnd(t *testing.T) {
	r, err := NewReader("a.csv", strings.NewReader("arrival,duration\n0,1\n"))
	require.NoError(t, err)
	_, err = r.Next()
	require.NoError(t, err)
	for range 2 {
		_, err = r.Next()
		assert.Equal(t, io.EOF, err)
	}
}

func TestNextAfterCloseIsRefused(t *testing.T) {
	r, err := Open("testdata/shop.csv")
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.NoError(t, r.Close(), "a second Close does nothing")
	_, err = r.Next()
	assert.ErrorIs(t, err, fs.ErrClosed)
}

func TestKindsShareOneString(t *testing.T) {
	k := newKinds()
	for _, name := range []string{"mail", "report"} {
		kind, problem := k.intern([]byte(name))
		require.Empty(t, problem)
		assert.Equal(t, name, k.names[kind])
	}
	name := []byte("mail")
	assert.Zero(t, testing.AllocsPerRun(100, func() { k.intern(name) }))
	assert.Equal(t, []string{defaultKind, "mail", "report"}, k.names)
}

// failing gives some text, then an error of the system.
type failing struct{ text io.Reader }

var errUnplugged = errors.New("disk unplugged")

func (f failing) Read(p []byte) (int, error) {
	n, err := f.text.Read(p)
	if err == io.EOF {
		err = errUnplugged
	}
	return n, err
}

func TestARowBeforeAReadErrorIsNotTrusted(t *testing.T) {
	_, err := NewReader("a.csv", failing{strings.NewReader("arrival,duration\n0,1\n1,20")})
	var e *Error
	require.ErrorAs(t, err, &e)
	assert.ErrorIs(t, err, errUnplugged)
	assert.Equal(t, 3, e.Line)
}
