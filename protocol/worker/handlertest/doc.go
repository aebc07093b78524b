// Package handlertest cancels a job handler wherever it can be cancelled, and reports what a
// production worker would suffer from later: a handler that does not stop, that leaves
// goroutines, files or directories behind, that says it is done when it is not, or that does
// not resume where it had saved its progress.
//
//	func TestRenderStopsWell(t *testing.T) {
//		handlertest.CancelEverywhere(t, render, handlertest.Env{
//			Payload: []byte("film 7"),
//			Dirs:    []string{dir},
//			Reset:   func() { os.RemoveAll(out) },
//			Done:    func() error { return whole(out) },
//		})
//	}
//
// The handler is run without a worker and without a broker; Job.Sleep passes at once, and
// what is saved is stored at once, or not at all, in turn. What the handler waits for in
// other ways it really waits for, unless the test runs in a bubble of testing/synctest, in
// which CancelEverywhere works as well.
//
// A handler is cancelled at its checkpoints, and nowhere else: at Checkpoint and Sleep, Save
// and Flush, and before and after whatever its scope acquires (Acquire, TempDir, Stage). One
// that never comes to such a place is cancelled in the middle of nothing, and said so.
package handlertest
