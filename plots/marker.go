package plots

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// marker is the shape of a point.
type marker uint8

const (
	circle marker = iota
	square
	diamond
	triangle
	triangleDown
	pentagon
	star
	cross
	plus
)

const quarter = math.Pi / 2

// mark draws a point of a size, which is a radius: filled, or open when its value is a lower bound.
func (p page) mark(m marker, c color.Color, at vg.Point, size vg.Length, open bool) {
	switch m {
	case cross, plus:
		p.strokes(m, c, at, size, open)
		return
	}
	outline := m.outline(at, size)
	outline = append(outline, outline[0])
	if open {
		p.FillPolygon(white, outline)
		p.StrokeLines(draw.LineStyle{Color: c, Width: 1.2}, outline)
		return
	}
	p.FillPolygon(c, outline)
	p.StrokeLines(draw.LineStyle{Color: white, Width: 0.5}, outline) // Apart from what lies below.
}

// strokes draws a marker that has no inside; open ones get a ring.
func (p page) strokes(m marker, c color.Color, at vg.Point, size vg.Length, open bool) {
	d, style := size*0.95, draw.LineStyle{Color: c, Width: 1.3}
	if open {
		ring := polygon(at, 24, size*0.9, 0)
		ring = append(ring, ring[0])
		p.FillPolygon(white, ring)
		p.StrokeLines(draw.LineStyle{Color: c, Width: 0.8}, ring)
		d *= 0.62
	}
	if m == plus {
		p.line(style, at.X-d, at.Y, at.X+d, at.Y)
		p.line(style, at.X, at.Y-d, at.X, at.Y+d)
		return
	}
	d *= 0.85
	p.line(style, at.X-d, at.Y-d, at.X+d, at.Y+d)
	p.line(style, at.X-d, at.Y+d, at.X+d, at.Y-d)
}

func (m marker) outline(at vg.Point, size vg.Length) []vg.Point {
	switch m {
	case square:
		return polygon(at, 4, size*1.25, quarter/2)
	case diamond:
		return polygon(at, 4, size*1.35, 0)
	case triangle:
		return polygon(at, 3, size*1.35, quarter)
	case triangleDown:
		return polygon(at, 3, size*1.35, -quarter)
	case pentagon:
		return polygon(at, 5, size*1.2, quarter)
	case star:
		out, in := polygon(at, 5, size*1.5, quarter), polygon(at, 5, size*0.65, quarter+math.Pi/5)
		var points []vg.Point
		for i := range out {
			points = append(points, out[i], in[i])
		}
		return points
	default:
		return polygon(at, 24, size, 0)
	}
}

// polygon returns the corners of a regular polygon, the first in the direction of turn.
func polygon(at vg.Point, corners int, radius vg.Length, turn float64) []vg.Point {
	points := make([]vg.Point, corners)
	for i := range points {
		sin, cos := math.Sincos(turn + 2*math.Pi*float64(i)/float64(corners))
		points[i] = vg.Point{X: at.X + radius*vg.Length(cos), Y: at.Y + radius*vg.Length(sin)}
	}
	return points
}
