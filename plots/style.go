package plots

import (
	"image/color"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// look is how one curve is told from the others: by colour, by dash and by marker, each of
// which is enough.
type look struct {
	colour color.RGBA
	dashes []vg.Length
	marker marker
}

// looks follows the palette of Okabe and Ito, "Color Universal Design" (2008), but for its
// yellow, which cannot be seen as a line on white: wine (Paul Tol's #882255) stands in. Grey
// is the ninth.
var looks = []look{
	{rgb(0x000000), dash(1, 2), cross},
	{rgb(0xD55E00), nil, circle},
	{rgb(0xCC79A7), dash(7, 2, 1, 2), triangleDown},
	{rgb(0xE69F00), dash(5, 2), triangle},
	{rgb(0x009E73), nil, square},
	{rgb(0x56B4E9), dash(3, 1.5), pentagon},
	{rgb(0x0072B2), dash(6, 3), diamond},
	{rgb(0x999999), dash(2, 2), plus},
	{rgb(0x882255), dash(8, 2, 2, 2), star},
}

// Looks is the number of looks of which each part is different. Of more, the colours come again
// with another marker and another dash, so that no two of eighty-one are the same.
const Looks = 9

func lookOf(i int) look {
	in := func(i int) look { return looks[((i%Looks)+Looks)%Looks] }
	round := i / Looks
	return look{colour: in(i).colour, marker: in(i + round).marker, dashes: in(i + 2*round).dashes}
}

func dash(lengths ...float64) []vg.Length {
	d := make([]vg.Length, len(lengths))
	for i, l := range lengths {
		d[i] = vg.Points(l)
	}
	return d
}

func rgb(v uint32) color.RGBA {
	return color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 0xff}
}

// faint is a colour for one of n bands: what lies below shines through, and the more there
// are the more of it must.
func (p page) faint(c color.RGBA, n int) color.Color {
	alpha := uint8(max(0x08, 0x30*3/max(n, 3)))
	if p.pdf {
		return straight{c, alpha}
	}
	return color.NRGBA{c.R, c.G, c.B, alpha}
}

// straight is a colour that is not multiplied by its alpha, as the canvas for PDF takes it.
type straight struct {
	opaque color.RGBA
	alpha  uint8
}

func (s straight) RGBA() (r, g, b, a uint32) {
	r, g, b, _ = s.opaque.RGBA()
	return r, g, b, uint32(s.alpha) * 0x101
}

var (
	ink   = rgb(0x1a1a1a)
	muted = rgb(0x595959) // 7:1 on white
	grid  = rgb(0xe3e3e3)
	frame = rgb(0x8a8a8a)
	white = rgb(0xffffff)
	empty = rgb(0xf0f0f0) // a cell without a value
)

var (
	titleFont   = sans(12, font.Font{Weight: bold})
	panelFont   = sans(9.5, font.Font{Weight: bold})
	textFont    = sans(9, font.Font{})
	captionFont = sans(7.5, font.Font{})
)

// sans is metrically equal to Arial and Helvetica, which stand in where an SVG is looked at
// without the font.
func sans(size float64, f font.Font) font.Font {
	f.Typeface, f.Variant, f.Size = "Liberation", "Sans", vg.Points(size)
	return f
}

// Sizes of a figure.
const (
	margin      = 12 * vg.Length(1)
	lineWidth   = 1.5 * vg.Length(1)
	markerSize  = 3 * vg.Length(1)
	singleWide  = 400 * vg.Length(1)
	singleHigh  = 250 * vg.Length(1)
	panelWide   = 262 * vg.Length(1)
	panelHigh   = 170 * vg.Length(1)
	panelGap    = 18 * vg.Length(1)
	heatHigh    = 30 * vg.Length(1) // a row
	heatWide    = 46 * vg.Length(1) // a column
	leading     = 1.3
	captionLine = 7.5 * 1.35
)
