package chronicle

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"time"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// Heights of a page, in pixels.
const (
	stripHeight = 6  // of the row of a process
	rowHeight   = 13 // of a slot
	trackGap    = 7
)

// WriteHTML writes a page that stands alone: no other file, no network. It works without its
// script, which zooms, shows what is under the pointer, and finds a job again.
func (c *Chronicle) WriteHTML(out io.Writer) error { return page.Execute(out, c.layout()) }

// sheet is what the page is made of.
type sheet struct {
	Title, Span string
	From, Until int64
	Height      int
	Legend      []Class
	Names       []label
	Shapes      []shape
	Marks       []shape
	Ticks       []tick
}

type label struct {
	Top  int
	Text string
}

// shape is a box, or a line where its width is empty. Places along the time are percentages, so
// that a zoom is nothing but a wider page.
type shape struct {
	Class    string
	Job      uint64
	X, Width string
	Y, High  int
	Told     string
}

type tick struct{ X, Text string }

func (c *Chronicle) layout() sheet {
	s := sheet{
		Title: c.Title, From: c.From, Until: c.Until, Span: told(c.From) + " to " + told(c.Until),
		Legend: []Class{Starting, Serving, Quiet, Draining, Finished, Failed, HandedBack, Parked, Lost, Killed, Unfinished, Undoing, Settling},
	}
	top := trackGap
	for _, t := range c.Tracks {
		s.Names = append(s.Names, label{top, t.Name})
		for _, span := range t.ordered() {
			if span.Class == Running || span.Class == Lifetime {
				continue // they are where nothing else is
			}
			s.Shapes = append(s.Shapes, c.box(top, t, &span))
		}
		for _, m := range t.Marks {
			y, high := rowTop(top, m.Row)
			s.Marks = append(s.Marks, shape{Job: m.Job, X: c.percent(m.At), Y: y - 1, High: high + 2, Told: t.row(m.Row) + "\n" + told(m.At) + "  " + m.Name})
		}
		top += stripHeight + t.Slots*rowHeight + trackGap
	}
	s.Height = top
	for i := range 10 { // one at the very end would hang over it
		at := c.From + (c.Until-c.From)/10*int64(i)
		s.Ticks = append(s.Ticks, tick{c.percent(at), told(at)})
	}
	return s
}

// rowTop is where a row of a track begins, and how high what is in it is.
func rowTop(top, row int) (y, high int) {
	if row == 0 {
		return top, stripHeight - 1
	}
	return top + stripHeight + (row-1)*rowHeight, rowHeight - 1
}

func (c *Chronicle) box(top int, t *Track, s *Span) shape {
	y, high := rowTop(top, s.Row)
	if s.Class > Running { // a part of a claim: over the lower half of it
		y, high = y+high/2, high-high/2
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n%s to %s, %s", t.row(s.Row), s.Name, told(s.From), told(s.Until), long(s.Until-s.From))
	for _, d := range s.Details {
		fmt.Fprintf(&b, "\n%s: %s", d.Name, d.Value)
	}
	return shape{Class: s.Class.String(), Job: s.Job, X: c.percent(s.From), Width: c.share(s.Until - s.From), Y: y, High: high, Told: b.String()}
}

func (t *Track) row(row int) string {
	if row == 0 {
		return t.Name
	}
	return fmt.Sprintf("%s, slot %d", t.Name, row-1)
}

func (c *Chronicle) percent(at int64) string { return c.share(at - c.From) }

func (c *Chronicle) share(d int64) string {
	return strconv.FormatFloat(100*float64(d)/float64(max(c.Until-c.From, 1)), 'f', 4, 64) + "%"
}

// told is an instant as it is read on the page, to the millisecond.
func told(at int64) string { return time.Duration(at).Round(time.Millisecond).String() }

// long is a length of time, to a thousandth of itself or so.
func long(d int64) string {
	unit := time.Nanosecond
	for time.Duration(d) > 10_000*unit {
		unit *= 10
	}
	return time.Duration(d).Round(unit).String()
}
