package main

import (
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress is a bar on a terminal, and nothing at all elsewhere.
type progress struct{ bar *progressbar.ProgressBar }

func newProgress(w io.Writer, quiet bool, what string) *progress {
	return newBar(w, quiet, what)
}

// newRate is a bar that also says how many there are in a second.
func newRate(w io.Writer, quiet bool, what string) *progress {
	return newBar(w, quiet, what, progressbar.OptionShowIts(), progressbar.OptionSetItsString(what))
}

func newBar(w io.Writer, quiet bool, what string, more ...progressbar.Option) *progress {
	f, ok := w.(*os.File)
	if quiet || !ok || !term.IsTerminal(int(f.Fd())) {
		return &progress{}
	}
	return &progress{progressbar.NewOptions(-1, append([]progressbar.Option{
		progressbar.OptionSetWriter(f),
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetWidth(30),
		progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionClearOnFinish(),
	}, more...)...)}
}

// at moves the bar. A bar that cannot be drawn is no reason to fail.
func (p *progress) at(done, total int) {
	if p.bar == nil {
		return
	}
	if p.bar.GetMax() != total {
		p.bar.ChangeMax(total)
	}
	_ = p.bar.Set(done)
}

// clear takes the bar away before anything else is written.
func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
