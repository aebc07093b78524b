package plots

import (
	"math"

	"gonum.org/v1/plot/vg"
)

const (
	barWide  = vg.Length(12) // of the colour scale
	barSteps = 128
	heatGap  = vg.Length(14)
)

// side returns the room for labels left of the first map.
func (f *Heat) side() vg.Length {
	w := vg.Length(0)
	for _, l := range f.Ys {
		w = max(w, textWidth(textFont, l))
	}
	return w + 8 + textFont.Size*leading
}

// legend returns the room that the colour scale takes on the right.
func (f *Heat) legend() vg.Length {
	if !f.measured() {
		return 0
	}
	w := vg.Length(0)
	for _, t := range f.scale().ticks(6) {
		w = max(w, textWidth(textFont, t.label))
	}
	return 16 + barWide + 6 + w
}

// measured reports whether any cell has a value; without one a colour scale says nothing.
func (f *Heat) measured() bool {
	for _, m := range f.Maps {
		for _, row := range m.Cells {
			for _, c := range row {
				if !math.IsNaN(c.Value) {
					return true
				}
			}
		}
	}
	return false
}

// column is as wide as the widest value or label asks.
func (f *Heat) column() vg.Length {
	w := heatWide
	for _, l := range f.Xs {
		w = max(w, textWidth(textFont, l)+8)
	}
	for _, m := range f.Maps {
		for _, row := range m.Cells {
			for _, c := range row {
				w = max(w, textWidth(textFont, f.label(c))+8)
			}
		}
	}
	return w
}

func (f *Heat) label(c Cell) string {
	switch {
	case c.TooFew:
		return "too few"
	case math.IsNaN(c.Value):
		return "–"
	case c.Bound:
		return atLeast + " " + f.Value.Unit.write(c.Value)
	}
	return f.Value.Unit.write(c.Value)
}

// block is the size of one map without the labels on the left.
func (f *Heat) block() (wide, high vg.Length) {
	return max(vg.Length(len(f.Xs))*f.column(), 90), vg.Length(len(f.Ys)) * heatHigh
}

// under is the room below a map, over that above it.
func (f *Heat) under() vg.Length { return 2*textFont.Size*leading + 12 }
func (f *Heat) over() vg.Length  { return panelFont.Size * leading }

// across returns how many maps stand side by side: as many as make a page.
func (f *Heat) across() int {
	w, _ := f.block()
	return max(1, min(len(f.Maps), int(780/(w+heatGap)), 3))
}

func (f *Heat) size() (wide, high vg.Length) {
	w, h := f.block()
	n := f.across()
	rows := (len(f.Maps) + n - 1) / n
	wide = max(2*margin+f.side()+vg.Length(n)*(w+heatGap)-heatGap+f.legend(), 330)
	s := f.sheet(wide)
	return wide, s.head() + vg.Length(rows)*(h+f.under()+f.over()) + s.foot()
}

func (f *Heat) sheet(wide vg.Length) sheet {
	return sheet{wide: wide, title: f.Title, caption: f.Caption}
}

func (f *Heat) scale() scale {
	var values []float64
	for _, m := range f.Maps {
		for _, row := range m.Cells {
			for _, c := range row {
				values = append(values, c.Value)
			}
		}
	}
	s := newScale(f.Value.Unit, values)
	if s.log { // The ends of a colour scale are the extremes, with no room beyond them.
		s.lo, s.hi = s.lo*1.35, s.hi/1.35
	} else if s.hi != 1 {
		s.hi /= 1.06
	}
	return s
}

// level returns where in the palette a value lies.
func (f *Heat) level(s scale, v float64) float64 {
	s.floor = false // Zero has the colour of the least.
	return float64(s.between(0, 1).at(v))
}

func (f *Heat) draw(p page) {
	wide, high := f.size()
	s := f.sheet(wide)
	s.draw(p, high)
	w, h := f.block()
	n := f.across()
	values := f.scale()
	top := high - s.head()
	for i := range f.Maps {
		left := margin + f.side() + vg.Length(i%n)*(w+heatGap)
		ceiling := top - vg.Length(i/n)*(h+f.under()+f.over()) - f.over()
		f.cells(p, &f.Maps[i], values, vg.Rectangle{Min: vg.Point{X: left, Y: ceiling - h}, Max: vg.Point{X: left + w, Y: ceiling}}, i%n == 0)
	}
	if !f.measured() {
		return
	}
	right := margin + f.side() + vg.Length(n)*(w+heatGap) - heatGap
	f.bar(p, values, vg.Rectangle{Min: vg.Point{X: right + 16, Y: top - f.over() - h}, Max: vg.Point{X: right + 16 + barWide, Y: top - f.over()}})
}

// cells draws one map into a rectangle; the first of a line has the labels of the rows.
func (f *Heat) cells(p page, m *Map, values scale, r vg.Rectangle, first bool) {
	w, h := (r.Max.X-r.Min.X)/vg.Length(len(f.Xs)), heatHigh
	p.text(panelFont, ink, vg.Point{X: r.Min.X, Y: r.Max.Y + 6}, leftBase, m.Title)
	for row, cells := range m.Cells {
		y := r.Min.Y + vg.Length(row)*h
		if first {
			p.text(textFont, ink, vg.Point{X: r.Min.X - 5, Y: y + h/2}, rightMid, f.Ys[row])
		}
		for col, c := range cells {
			x := r.Min.X + vg.Length(col)*w
			colour := empty
			letters := muted
			if !math.IsNaN(c.Value) {
				colour = shade(f.level(values, c.Value))
				letters = contrast(colour)
			}
			p.fill(colour, vg.Rectangle{Min: vg.Point{X: x + 0.5, Y: y + 0.5}, Max: vg.Point{X: x + w - 0.5, Y: y + h - 0.5}})
			p.text(textFont, letters, vg.Point{X: x + w/2, Y: y + h/2}, centerMid, f.label(c))
		}
	}
	for col, l := range f.Xs {
		p.text(textFont, ink, vg.Point{X: r.Min.X + (vg.Length(col)+0.5)*w, Y: r.Min.Y - 5}, centerTop, l)
	}
	p.text(textFont, ink, vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: r.Min.Y - 6 - textFont.Size*leading}, centerTop, f.X.Label)
	if first {
		p.upwards(textFont, ink, vg.Point{X: margin + textFont.Size, Y: (r.Min.Y + r.Max.Y) / 2}, f.Y.Label)
	}
}

// bar draws the colour scale.
func (f *Heat) bar(p page, values scale, r vg.Rectangle) {
	step := (r.Max.Y - r.Min.Y) / barSteps
	for i := range barSteps {
		y := r.Min.Y + vg.Length(i)*step
		// A little overlap, or seams shine through.
		p.fill(shade((float64(i)+0.5)/barSteps), vg.Rectangle{Min: vg.Point{X: r.Min.X, Y: y}, Max: vg.Point{X: r.Max.X, Y: min(y+1.5*step, r.Max.Y)}})
	}
	values.floor = false
	values = values.between(r.Min.Y, r.Max.Y)
	n := max(2, min(6, int((r.Max.Y-r.Min.Y)/(1.6*textFont.Size))))
	for _, t := range values.ticks(n) {
		at := values.at(t.value)
		p.line(frameLine, r.Max.X, at, r.Max.X+3, at)
		p.text(textFont, ink, vg.Point{X: r.Max.X + 5, Y: at}, leftMid, t.label)
	}
}
