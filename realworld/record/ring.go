package record

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/quiesce/quiesce/protocol/worker"
)

// Suffix ends the name of every segment.
const Suffix = ".flight"

// namer names the segments of a life: by when it began, so that a listing is in order of
// time, by its seat for people, and by its nonce, because two lives may share all else.
func namer(life worker.Life, began time.Time) func(segment uint64) string {
	seat := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, life.Seat)
	prefix := fmt.Sprintf("%s-%.80s-%x-", began.UTC().Format("20060102T150405.000Z"), seat, life.Nonce[:4])
	return func(segment uint64) string { return fmt.Sprintf("%s%06d%s", prefix, segment, Suffix) }
}

// siblings is the name of a segment up to its number.
func siblings(name string) (prefix string, ok bool) {
	base, ok := strings.CutSuffix(name, Suffix)
	if i := strings.LastIndexByte(base, '-'); ok && i >= 0 {
		return base[:i+1], true
	}
	return "", false
}

// makeRoom removes the oldest segments until a new one fits the bound.
func (w *writer) makeRoom() {
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		return // writing fails next, and says why
	}
	var all []fs.FileInfo
	total := w.segmentBytes
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && strings.HasSuffix(e.Name(), Suffix) {
			all = append(all, info)
			total += info.Size()
		}
	}
	slices.SortFunc(all, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	for _, old := range all {
		if total <= w.maxBytes {
			return
		}
		if err := os.Remove(filepath.Join(w.dir, old.Name())); err != nil {
			w.log.Warn("an old flight recording could not be removed", "error", err)
			continue
		}
		total -= old.Size()
	}
}
