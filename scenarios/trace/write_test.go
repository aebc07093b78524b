package trace

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/quiesce/quiesce/internal/realdata"
)

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	m := mapOf(t, "arrival=a:ns,duration=b:ns,kind=c")
	rapid.Check(t, func(t *rapid.T) {
		text := []byte("a\tb\tc\n")
		for range rapid.IntRange(1, 20).Draw(t, "rows") {
			text = append(text, rapid.StringMatching(`[0-9]{1,12}\t[0-9]{1,18}\t("[a-z, ;é\x60]*(""[a-z,]*)?"|[a-zé]+|)\n`).Draw(t, "row")...)
		}
		want, err := readMapped(m, "a.tsv", string(text))
		require.NoError(t, err)
		r, err := m.NewReader("a.tsv", strings.NewReader(string(text)))
		require.NoError(t, err)
		var out strings.Builder
		require.NoError(t, WriteCSV(&out, r))
		got, err := readAll("b.csv", out.String())
		require.NoError(t, err)
		for i := range want {
			want[i].Line = i + 2
		}
		require.Equal(t, want, got, "%s", out.String())
	})
}

func TestSecondsAreWrittenExactly(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0", 1: "0.000000001", 1500 * time.Millisecond: "1.5", time.Hour + 1e8: "3600.1"} {
		assert.Equal(t, want, string(appendSeconds(nil, d)))
	}
}

func TestWritingEndsAtTheFirstError(t *testing.T) {
	r, err := NewReader("a.csv", strings.NewReader(head+"0,1,a\n"))
	require.NoError(t, err)
	full := errors.New("disk full")
	assert.ErrorIs(t, WriteCSV(refusing{full}, r), full)
	r, err = newReader("a.csv", strings.NewReader(head+"0,1,a\n1,-1,a\n"), Map{}, 1)
	require.NoError(t, err)
	requireError(t, WriteCSV(iotest.TruncateWriter(&strings.Builder{}, 1<<20), r))
}

type refusing struct{ err error }

func (r refusing) Write([]byte) (int, error) { return 0, r.err }

// Reading what was written of a real trace gives the same summary, apart from what was left
// out and put in order on the way.
func TestARealTraceComesBackTheSame(t *testing.T) {
	data := realdata.Folder(t, "traces")
	path := filepath.Join(data, "linkerd-ci-2020/jobs.json")
	want, err := Map{}.Profile(t.Context(), path)
	require.NoError(t, err)
	r, err := Open(path)
	require.NoError(t, err)
	defer r.Close()
	var out strings.Builder
	require.NoError(t, WriteCSV(&out, r))
	again, err := NewReader("b.csv", strings.NewReader(out.String()))
	require.NoError(t, err)
	got, err := profile(t.Context(), again)
	require.NoError(t, err)
	want.Skipped, want.SkipReasons, want.Warnings, got.Warnings = 0, nil, nil, nil
	assert.Equal(t, want, got)
}
