package handlertest_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/quiesce/quiesce/protocol/worker"
	"github.com/quiesce/quiesce/protocol/worker/handlertest"
)

// convert writes one file, staged, from three parts.
func convert(ctx context.Context, job *worker.Job) error {
	out, err := job.Scope.Stage(string(job.Payload))
	if err != nil {
		return err
	}
	for part := range 3 {
		if err := job.Checkpoint(ctx); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "part %d\n", part); err != nil {
			return err
		}
	}
	return nil
}

// A test in your own package, which go test runs as TestConvertStopsWell.
func ExampleCancelEverywhere() {
	testConvertStopsWell := func(t *testing.T) {
		dir := t.TempDir()
		path := dir + "/film.txt"
		handlertest.CancelEverywhere(t, convert, handlertest.Env{
			Payload: []byte(path),
			Dirs:    []string{dir},
			Reset:   func() { _ = os.Remove(path) },
			Done: func() error {
				content, err := os.ReadFile(path)
				if err == nil && string(content) != "part 0\npart 1\npart 2\n" {
					err = fmt.Errorf("the film is %q", content)
				}
				return err
			},
		})
	}
	_ = testConvertStopsWell
}

func TestTheExamplePasses(t *testing.T) {
	dir := t.TempDir()
	path := dir + "/film.txt"
	handlertest.CancelEverywhere(t, convert, handlertest.Env{
		Payload: []byte(path), Dirs: []string{dir}, Reset: func() { _ = os.Remove(path) },
		Done: func() error { _, err := os.Stat(path); return err },
	})
}
