package plots

import (
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	barsWide = 480 * vg.Length(1)
	barsHigh = 160 * vg.Length(1) // of a panel with its labels
	barAir   = 0.6 * vg.Length(1) // on both sides of a bar
	barLeast = 0.9 * vg.Length(1) // what is there is seen
	markHigh = 11 * vg.Length(1)  // a line of names above the bars
)

var (
	barColour = lookOf(6).colour
	markLine  = draw.LineStyle{Color: lookOf(1).colour, Width: 0.9, Dashes: dash(3, 2.2)}
)

func (f *Bars) size() (wide, high vg.Length) {
	wide = 2*margin + barsWide
	s := f.sheet(wide)
	n := vg.Length(len(f.Panels))
	return wide, s.head() + n*barsHigh + (n-1)*panelGap + s.foot()
}

func (f *Bars) sheet(wide vg.Length) sheet {
	return sheet{wide: wide, title: f.Title, caption: f.Caption}
}

func (f *Bars) draw(p page) {
	wide, high := f.size()
	s := f.sheet(wide)
	s.draw(p, high)
	labels := vg.Length(0) // All panels begin at one line.
	for i := range f.Panels {
		for _, t := range counts(f.Panels[i].height()) {
			labels = max(labels, textWidth(textFont, t.label))
		}
	}
	for i := range f.Panels {
		top := high - s.head() - vg.Length(i)*(barsHigh+panelGap)
		f.Panels[i].draw(p, vg.Rectangle{
			Min: vg.Point{X: margin + labels + 6 + textFont.Size*leading, Y: top - barsHigh + 2*textFont.Size*leading + 2},
			Max: vg.Point{X: margin + barsWide - 10, Y: top - panelFont.Size*leading}, // The last label may stand out.
		})
	}
}

// height is the scale of the values. It is never logarithmic: bars begin at zero.
func (b *BarPanel) height() scale {
	most := 0.0
	for _, v := range b.Values {
		most = max(most, v)
	}
	if most == 0 {
		most = 1
	}
	return scale{unit: b.Y.Unit, hi: most * 1.06}
}

// counts are the labels of the values: there is no half job.
func counts(y scale) []tick {
	return slices.DeleteFunc(y.ticks(6), func(t tick) bool { return t.value != math.Trunc(t.value) })
}

// span is the scale of the horizontal axis: the numbers of the edges when bars are equally
// wide, and their values otherwise.
func (b *BarPanel) span() scale {
	if b.Labels != nil {
		return scale{hi: float64(len(b.Values))}
	}
	return scale{unit: b.X.Unit, lo: b.Edges[0], hi: b.Edges[len(b.Edges)-1]}
}

// place returns where on the span a value lies. Within a bar of a labelled axis it is as far
// from the edges as their ratios say, and in the middle when one of them is zero or infinite.
func (b *BarPanel) place(v float64) float64 {
	if b.Labels == nil {
		return v
	}
	i, found := slices.BinarySearch(b.Edges, v)
	if found {
		return float64(i)
	}
	i = min(max(i, 1), len(b.Values))
	from, to := b.Edges[i-1], b.Edges[i]
	if from <= 0 || math.IsInf(to, 1) {
		return float64(i) - 0.5
	}
	return float64(i-1) + min(max(math.Log(v/from)/math.Log(to/from), 0), 1)
}

// edges labels as many edges as there is room for; they are every second, every third …
func (b *BarPanel) edges(x scale) []tick {
	if b.Labels == nil {
		return x.ticks(9)
	}
	for every := 1; ; every++ {
		var ticks []tick
		for i := 0; i < len(b.Labels); i += every {
			ticks = append(ticks, tick{float64(i), b.Labels[i]})
		}
		if len(ticks) == 1 || x.fit(ticks) {
			return ticks
		}
	}
}

// draw draws the panel; box is what the axes enclose, with the names of the marks.
func (b *BarPanel) draw(p page, box vg.Rectangle) {
	p.text(panelFont, ink, vg.Point{X: box.Min.X, Y: box.Max.Y + 6}, leftBase, b.Title)
	names := box.Max.Y
	box.Max.Y -= vg.Length(len(b.Marks)) * markHigh
	x, y := b.span().between(box.Min.X, box.Max.X), b.height().between(box.Min.Y, box.Max.Y)
	p.axes(x, y, b.edges(x), counts(y), box)
	p.text(textFont, ink, vg.Point{X: (box.Min.X + box.Max.X) / 2, Y: box.Min.Y - 2*textFont.Size*leading - 2 + capital(textFont)}, centerTop, b.X.Label)
	p.upwards(textFont, ink, vg.Point{X: margin + textFont.Size, Y: (box.Min.Y + box.Max.Y) / 2}, b.Y.Label)
	for i, v := range b.Values {
		from, to := b.Edges[i], b.Edges[i+1]
		if b.Labels != nil {
			from, to = float64(i), float64(i+1)
		}
		if v > 0 {
			top := max(y.at(v), box.Min.Y+barLeast)
			p.fill(barColour, vg.Rectangle{Min: vg.Point{X: x.at(from) + barAir, Y: box.Min.Y}, Max: vg.Point{X: x.at(to) - barAir, Y: top}})
		}
	}
	for i, m := range b.Marks {
		at := x.at(b.place(m.At))
		p.line(markLine, at, box.Min.Y, at, names-vg.Length(i)*markHigh)
	}
	for i, m := range b.Marks {
		p.name(m, x.at(b.place(m.At)), names-(vg.Length(i)+0.5)*markHigh, box.Max.X+10)
	}
}

// name writes the name of a mark beside the top of its line, left of it where there is no room
// before an end. The names stand one below the other and never meet, but one on the left may
// lie on the line of a mark before it, which is interrupted there.
func (p page) name(m Mark, x, y, end vg.Length) {
	at, w := vg.Point{X: x + 4, Y: y}, textWidth(textFont, m.Name)
	if at.X+w > end {
		at.X = x - 4 - w
		p.fill(white, vg.Rectangle{Min: vg.Point{X: at.X - 2, Y: y - markHigh/2}, Max: vg.Point{X: x - 2, Y: y + markHigh/2}})
	}
	p.text(textFont, ink, at, leftMid, m.Name)
}
