package plots

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// sheet is what every figure has around its panels: a title and a legend above, a caption
// below.
type sheet struct {
	wide    vg.Length
	title   string
	caption []string
	keys    []Series
}

const (
	keyWide = vg.Length(26) // the piece of line in the legend
	keyGap  = vg.Length(16)
	keyHigh = vg.Length(15)
)

func (s sheet) inner() vg.Length { return s.wide - 2*margin }

func (s sheet) titleLines() []string { return wrap(titleFont, s.inner(), s.title) }

func (s sheet) captionLines() []string {
	var lines []string
	for _, paragraph := range s.caption {
		lines = append(lines, wrap(captionFont, s.inner(), paragraph)...)
	}
	return lines
}

// rows breaks the legend into lines.
func (s sheet) rows() [][]Series {
	var rows [][]Series
	var used vg.Length
	for _, k := range s.keys {
		w := keyWide + 5 + textWidth(textFont, k.Name) + keyGap
		if len(rows) == 0 || used+w-keyGap > s.inner() {
			rows, used = append(rows, nil), 0
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], k)
		used += w
	}
	return rows
}

// head and foot are the heights of what stands above and below the panels.
func (s sheet) head() vg.Length {
	h := margin + vg.Length(len(s.titleLines()))*titleFont.Size*leading
	if n := len(s.rows()); n > 0 {
		h += 4 + vg.Length(n)*keyHigh
	}
	return h + 8
}

func (s sheet) foot() vg.Length {
	n := len(s.captionLines())
	if n == 0 {
		return margin
	}
	return margin + 8 + vg.Length(n)*captionLine
}

func (s sheet) draw(p page, high vg.Length) {
	y := high - margin
	for _, line := range s.titleLines() {
		p.text(titleFont, ink, vg.Point{X: margin, Y: y - capital(titleFont)}, leftBase, line)
		y -= titleFont.Size * leading
	}
	y -= 4
	for _, row := range s.rows() {
		x, mid := margin, y-keyHigh/2
		for _, k := range row {
			p.key(k, x, mid)
			p.text(textFont, ink, vg.Point{X: x + keyWide + 5, Y: mid}, leftMid, k.Name)
			x += keyWide + 5 + textWidth(textFont, k.Name) + keyGap
		}
		y -= keyHigh
	}
	y = s.foot() - 8
	for _, line := range s.captionLines() {
		y -= captionLine
		p.text(captionFont, muted, vg.Point{X: margin, Y: y}, leftBase, line)
	}
}

// key draws the piece of line that a legend shows.
func (p page) key(k Series, x, y vg.Length) {
	p.line(k.style(), x, y, x+keyWide, y)
	if !k.Theory {
		l := lookOf(k.Look)
		p.mark(l.marker, l.colour, vg.Point{X: x + keyWide/2, Y: y}, markerSize, false)
	}
}

// style is how the line of a series is drawn.
func (s *Series) style() draw.LineStyle {
	if s.Theory {
		return draw.LineStyle{Color: muted, Width: 1.1, Dashes: dash(3, 2.2)}
	}
	l := lookOf(s.Look)
	return draw.LineStyle{Color: l.colour, Width: lineWidth, Dashes: l.dashes}
}
