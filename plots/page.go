package plots

import (
	"image/color"
	"strings"
	"sync"

	xfont "golang.org/x/image/font"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const bold = xfont.WeightBold

// fonts are read when the first figure is drawn.
var fonts = sync.OnceValue(func() text.Plain {
	return text.Plain{Fonts: font.NewCache(liberation.Collection())}
})

// page is a canvas with the few strokes that figures are made of. Points count from the
// lower left corner.
type page struct {
	draw.Canvas
	pdf    bool
	widths *[]vg.Length // of every piece of text, in the order they are written; may be nil
}

// align says which part of a text stands at its point: 0 is left or below, 1 right or above.
type align struct{ x, y float64 }

var (
	leftBase  = align{0, 0}
	rightMid  = align{1, 0.5}
	centerTop = align{0.5, 1}
	centerMid = align{0.5, 0.5}
	leftMid   = align{0, 0.5}
)

// atLeast is drawn by hand: the encoding of text in PDF has no such letter.
const atLeast = "≥"

func textWidth(f font.Font, s string) vg.Length {
	if s == "" {
		return 0
	}
	w, _, _ := fonts().Box(strings.ReplaceAll(s, atLeast, "="), f)
	return w
}

// capital is the height of capital letters and digits, by which text is set at mid-height.
func capital(f font.Font) vg.Length { return 0.72 * f.Size }

// text writes one line.
func (p page) text(f font.Font, c color.Color, at vg.Point, a align, s string) {
	at.X -= vg.Length(a.x) * textWidth(f, s)
	at.Y -= vg.Length(a.y) * capital(f)
	for i, part := range strings.Split(s, atLeast) {
		if i > 0 {
			p.atLeast(f, c, at)
			at.X += textWidth(f, "=")
		}
		p.write(text.Style{Color: c, Font: f}, at, part)
		at.X += textWidth(f, part)
	}
}

// write writes a piece of text whose letters every format has.
func (p page) write(sty text.Style, at vg.Point, s string) {
	if s == "" {
		return
	}
	sty.Handler = fonts()
	if p.widths != nil {
		*p.widths = append(*p.widths, textWidth(sty.Font, s))
	}
	if !p.pdf {
		p.FillText(sty, at, s)
		return
	}
	// The canvas for PDF confuses the files of two fonts and does not encode text. So there is
	// one font, and bold is struck twice.
	strokes := 1
	if sty.Font.Weight == bold {
		sty.Font.Weight, strokes = xfont.WeightNormal, 2
	}
	for range strokes {
		p.FillText(sty, at, windows1252(s))
		at.X += sty.Font.Size * 0.035
	}
}

func (p page) atLeast(f font.Font, c color.Color, at vg.Point) {
	w, h := textWidth(f, "="), capital(f)
	left, right := at.X+w*0.1, at.X+w*0.9
	line := draw.LineStyle{Color: c, Width: f.Size * 0.075}
	p.StrokeLines(line,
		[]vg.Point{{X: left, Y: at.Y + h*0.98}, {X: right, Y: at.Y + h*0.62}, {X: left, Y: at.Y + h*0.26}},
		[]vg.Point{{X: left, Y: at.Y + h*0.02}, {X: right, Y: at.Y + h*0.02}})
}

// upwards writes one line from below to above, centred at a point.
func (p page) upwards(f font.Font, c color.Color, at vg.Point, s string) {
	p.write(text.Style{Color: c, Font: f, Rotation: quarter, XAlign: text.XCenter, YAlign: text.YBottom}, at, s)
}

func (p page) fill(c color.Color, r vg.Rectangle) {
	p.FillPolygon(c, []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}})
}

func (p page) line(style draw.LineStyle, x0, y0, x1, y1 vg.Length) {
	p.StrokeLine2(style, x0, y0, x1, y1)
}

// wrap breaks a paragraph between words.
func wrap(f font.Font, wide vg.Length, paragraph string) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(paragraph) {
		if line != "" && textWidth(f, line+" "+word) > wide {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
		for textWidth(f, line) > wide {
			at := breaks(f, wide, line)
			lines, line = append(lines, line[:at]), line[at:]
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// breaks returns where to break a word that is wider than a line, such as a long list of names:
// behind the last comma or slash that fits, or else wherever the line is full.
func breaks(f font.Font, wide vg.Length, word string) int {
	full, behind := 0, 0
	for i := range word { // where letters begin, so that none is cut in two
		if i == 0 {
			continue
		}
		if full > 0 && textWidth(f, word[:i]) > wide {
			break
		}
		full = i
		if c := word[i-1]; c == ',' || c == '/' {
			behind = i
		}
	}
	switch {
	case behind > 0:
		return behind
	case full == 0:
		return len(word) // of one letter
	}
	return full
}
