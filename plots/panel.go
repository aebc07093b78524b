package plots

import (
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

var (
	gridLine  = draw.LineStyle{Color: grid, Width: 0.6}
	frameLine = draw.LineStyle{Color: frame, Width: 0.7}
)

// panel draws one pair of axes with its curves into a rectangle.
func (f *Lines) panel(p page, panel *Panel, xs []float64, r vg.Rectangle) {
	y := newScale(panel.Y.Unit, panel.ys())
	yTicks := y.ticks(7)
	labels := vg.Length(0)
	for _, t := range yTicks {
		labels = max(labels, textWidth(textFont, t.label))
	}
	box := r
	box.Min.X += labels + 6
	if panel.Y.Label != "" {
		box.Min.X += textFont.Size * leading
	}
	box.Min.Y += 2*textFont.Size*leading + 2
	box.Max.X -= 6 // The last label may stand out.
	if panel.Title != "" {
		box.Max.Y -= panelFont.Size * leading
	}
	p.text(panelFont, ink, vg.Point{X: box.Min.X, Y: box.Max.Y + 6}, leftBase, panel.Title)

	x := newSpan(f.X.Unit, xs).between(box.Min.X, box.Max.X)
	y = y.between(box.Min.Y, box.Max.Y)
	p.axes(x, y, x.places(xs), yTicks, box)
	p.text(textFont, ink, vg.Point{X: (box.Min.X + box.Max.X) / 2, Y: r.Min.Y + capital(textFont)}, centerTop, f.X.Label)
	if panel.Y.Label != "" {
		p.upwards(textFont, ink, vg.Point{X: r.Min.X + textFont.Size*leading, Y: (box.Min.Y + box.Max.Y) / 2}, panel.Y.Label)
	}
	for i := range panel.Series {
		p.band(&panel.Series[i], len(panel.Series), x, y)
	}
	// Of curves that coincide the upper ones have the smaller markers, so that all are seen.
	size := 1.35 * markerSize
	for i := range panel.Series {
		p.curve(&panel.Series[i], x, y, size)
		size -= 0.6 * markerSize / vg.Length(len(panel.Series))
	}
}

// places labels the values that were swept when all labels fit, and round ones otherwise.
func (s scale) places(values []float64) []tick {
	ticks := make([]tick, len(values))
	for i, v := range values {
		ticks[i] = tick{v, s.unit.write(v)}
	}
	for n := 8; !s.fit(ticks); n-- {
		if n < 2 {
			return ticks[:1]
		}
		ticks = s.ticks(n)
	}
	return ticks
}

// fit reports whether labels below an axis do not run into each other.
func (s scale) fit(ticks []tick) bool {
	const gap = 5
	for i := 1; i < len(ticks); i++ {
		need := (textWidth(textFont, ticks[i-1].label)+textWidth(textFont, ticks[i].label))/2 + gap
		if s.at(ticks[i].value)-s.at(ticks[i-1].value) < need {
			return false
		}
	}
	return true
}

func (p page) axes(x, y scale, xTicks, yTicks []tick, box vg.Rectangle) {
	for _, t := range yTicks {
		at := y.at(t.value)
		p.line(gridLine, box.Min.X, at, box.Max.X, at)
		p.text(textFont, ink, vg.Point{X: box.Min.X - 4, Y: at}, rightMid, t.label)
	}
	for _, t := range xTicks {
		at := x.at(t.value)
		p.line(gridLine, at, box.Min.Y, at, box.Max.Y)
		p.line(frameLine, at, box.Min.Y, at, box.Min.Y-3)
		p.text(textFont, ink, vg.Point{X: at, Y: box.Min.Y - 6}, centerTop, t.label)
	}
	p.line(frameLine, box.Min.X, box.Min.Y, box.Max.X, box.Min.Y)
	if !y.floor {
		p.line(frameLine, box.Min.X, box.Min.Y, box.Min.X, box.Max.Y)
		return
	}
	// The axis is broken between the floor of zeros and the least value.
	mid := box.Min.Y + floorHigh/2
	p.line(frameLine, box.Min.X, box.Min.Y, box.Min.X, mid-1.5)
	p.line(frameLine, box.Min.X, mid+1.5, box.Min.X, box.Max.Y)
	for _, at := range []vg.Length{mid - 1.5, mid + 1.5} {
		p.line(frameLine, box.Min.X-3, at-1.5, box.Min.X+3, at+1.5)
	}
}

// band fills what the intervals of one of n series cover, piece by piece between gaps.
func (p page) band(s *Series, n int, x, y scale) {
	if s.Theory {
		return
	}
	c := lookOf(s.Look).colour
	var up, down []vg.Point
	flush := func() {
		if len(up) == 1 { // One point has no band; it gets a whisker.
			p.line(draw.LineStyle{Color: c, Width: 0.8}, up[0].X, up[0].Y, down[0].X, down[0].Y)
		}
		if len(up) > 1 {
			for i := len(down) - 1; i >= 0; i-- {
				up = append(up, down[i])
			}
			p.FillPolygon(p.faint(c, n), up)
		}
		up, down = nil, nil
	}
	for _, v := range s.Points {
		if math.IsNaN(v.Y) || math.IsNaN(v.Lo) || math.IsNaN(v.Hi) {
			flush()
			continue
		}
		up = append(up, vg.Point{X: x.at(v.X), Y: y.at(v.Hi)})
		down = append(down, vg.Point{X: x.at(v.X), Y: y.at(v.Lo)})
	}
	flush()
}

// markerApart is how far apart markers stand at least: of many points some have none.
const markerApart = vg.Length(16)

// curve draws the line and its markers; what was not measured is a gap.
func (p page) curve(s *Series, x, y scale, size vg.Length) {
	var piece []vg.Point
	flush := func() {
		if len(piece) > 1 {
			p.StrokeLines(s.style(), piece)
		}
		piece = nil
	}
	for _, v := range s.Points {
		if math.IsNaN(v.Y) {
			flush()
			continue
		}
		piece = append(piece, vg.Point{X: x.at(v.X), Y: y.at(v.Y)})
	}
	flush()
	if s.Theory {
		return
	}
	l := lookOf(s.Look)
	last, open := vg.Length(-markerApart), false
	for _, v := range s.Points {
		at := vg.Point{X: x.at(v.X), Y: y.at(v.Y)}
		if math.IsNaN(v.Y) || at.X-last < markerApart && v.Bound == open {
			continue
		}
		last, open = at.X, v.Bound
		radius := size
		if v.Bound { // Its emptiness must show, be it below another.
			radius *= 1.35
		}
		p.mark(l.marker, l.colour, at, radius, v.Bound)
	}
}
