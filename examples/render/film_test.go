//go:build unix

package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol/worker"
	"github.com/quiesce/quiesce/protocol/worker/handlertest"
	"github.com/quiesce/quiesce/realworld/redis"
)

// small is a film that is drawn in no time.
var small = film{Name: "small", Frames: 2, Size: 16}

// Wherever and however it is cancelled, a film leaves no child and no half frame, and the
// next execution draws the rest.
func TestAFilmStopsWellEverywhere(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	asked := 0
	r := &renderer{out: t.TempDir(), self: self, enqueue: func(_ context.Context, jobs ...redis.Job) ([]redis.Added, error) {
		asked += len(jobs)
		return nil, nil
	}}
	dir := filepath.Join(r.out, small.Name)
	require.NoError(t, os.Mkdir(dir, 0o755))
	handlertest.CancelEverywhere(t, r.film, handlertest.Env{
		Version: newest, Payload: encode(t, small), Dirs: []string{dir},
		Reset: func() {
			for n := range small.Frames {
				_ = os.Remove(r.frame(small, n))
			}
		},
		Done: func() error {
			for n := range small.Frames {
				if _, err := readPicture(r.frame(small, n)); err != nil {
					return err
				}
			}
			return nil
		},
	})
	assert.NotZero(t, asked, "a film that is done asks for its sheet")
}

func TestASheetStopsWellEverywhere(t *testing.T) {
	r := &renderer{out: t.TempDir()}
	drawFrames(t, r, small)
	sheet := filepath.Join(r.out, small.Name, "sheet.png")
	handlertest.CancelEverywhere(t, r.sheet, handlertest.Env{
		Version: newest, Payload: encode(t, small), Dirs: []string{filepath.Dir(sheet)},
		Reset: func() { _ = os.Remove(sheet) },
		Done:  func() error { _, err := readPicture(sheet); return err },
	})
}

// Jobs that were enqueued before sizes existed are still drawn.
func TestAFilmOfVersion1HasTheSizeThatFilmsHadThen(t *testing.T) {
	f, err := readFilm(&worker.Job{Version: 1, Payload: []byte(`{"name":"old","frames":3}`)})
	require.NoError(t, err)
	assert.Equal(t, film{Name: "old", Frames: 3, Size: 120}, f)
}

func TestFilmsThatCannotBeDrawnAreRefused(t *testing.T) {
	for _, c := range []struct {
		film film
		want string
	}{
		{film{Name: "../up", Frames: 1, Size: 16}, "cannot be called"},
		{film{Name: "a", Size: 16}, "0 frames; 1 to 10000"},
		{film{Name: "a", Frames: 1, Size: 5000}, "5000 pixels wide; 16 to 2048"},
		{film{Name: "a", Frames: 1, Size: 16, Pace: -time.Second}, "cannot take -1s"},
	} {
		assert.ErrorContains(t, c.film.check(), c.want)
	}
}

func TestProgressIsReadBack(t *testing.T) {
	assert.Equal(t, 0, drawn(nil))
	assert.Equal(t, 300, drawn(cursor(300)))
}

func TestBadUsageIsStatus2(t *testing.T) {
	for _, args := range [][]string{{"-x"}, {"foo"}, {"enqueue"}, {"enqueue", "a/b"}, {"look", "at"}, {"-seat", "a/b"}, {"look", "-seat", ""}, {"-slots", "0"}} {
		assert.Equal(t, 2, run(args), args)
	}
	assert.Equal(t, 0, run([]string{"-h"}))
	assert.Equal(t, 1, run([]string{"prestop", "-state", t.TempDir()}), "no worker is there")
}

func encode(t *testing.T, f film) []byte {
	t.Helper()
	payload, err := json.Marshal(f)
	require.NoError(t, err)
	return payload
}

func drawFrames(t *testing.T, r *renderer, f film) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(r.out, f.Name), 0o755))
	for n := range f.Frames {
		out, err := os.Create(r.frame(f, n))
		require.NoError(t, err)
		require.NoError(t, drawTo(out, f, n))
		require.NoError(t, out.Close())
	}
}
