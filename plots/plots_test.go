package plots

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"image/png"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/vg"
)

func render(t *testing.T, f Figure, format string) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Write(&b, f, format))
	return b.Bytes()
}

var figures = map[string]func() Figure{
	"one panel":   func() Figure { return sampleLines(1) },
	"four panels": func() Figure { return sampleLines(4) },
	"six panels":  func() Figure { return sampleLines(6) },
	"bars":        func() Figure { return sampleBars() },
	"one map":     func() Figure { return sampleHeat(1) },
	"four maps":   func() Figure { return sampleHeat(4) },
	"a long title": func() Figure {
		f := sampleLines(1)
		f.Title = strings.Repeat(f.Title+" ", 3)
		return f
	},
	"far intervals": func() Figure {
		f := sampleLines(2)
		f.Panels[0].Series[0].Points[1].Lo = -1e9
		linear := f.Panels[1].Series[:1]
		linear[0].Points = linear[0].Points[3:] // the last two are near to each other
		linear[0].Points[0].Lo = -1e9
		f.Panels[1].Series = linear
		return f
	},
}

func TestEqualFiguresGiveEqualBytes(t *testing.T) {
	for name, f := range figures {
		assert.Equal(t, render(t, f(), "svg"), render(t, f(), "svg"), name)
	}
	assert.True(t, bytes.Equal(render(t, sampleHeat(1), "png"), render(t, sampleHeat(1), "png")))
}

func TestFigureSaysWhatItShows(t *testing.T) {
	svg := render(t, sampleLines(2), "svg")
	all := texts(t, svg)
	for _, want := range []string{
		"Stall of jobs that a deploy interrupts, by lease", "mean", "median",
		"crash-only", "drain", "hybrid", "finish-only", "adaptive", "theory: lease less age",
		"lease", "30s", "1m", "2m", "5m", "10m", "100ms", "1s", "0", "quiesce v0.1",
	} {
		assert.Contains(t, all, want)
	}
	assert.Contains(t, strings.Join(all, " "), "Seeds 1–5")
	assert.NotContains(t, string(svg), "NaN")
	assert.NotContains(t, string(svg), "Inf")
	assert.NotContains(t, strings.Join(all, ""), atLeast, "it is drawn, or a PDF would not have it")
}

func TestHeatMapHasValuesInItsCells(t *testing.T) {
	h := sampleHeat(2)
	all := writings(t, render(t, h, "svg"))
	said := texts(t, render(t, h, "svg"))
	for _, want := range []string{"crash-only", "drain", "grace", "lease", "1m30s", "10s", "–", "5.4s"} {
		assert.Contains(t, said, want)
	}
	// leftmost and lowest are the labels of rows and columns: some values are written like them.
	leftmost := func(text string) (found writing) {
		for _, w := range all {
			if w.text == text && (found.text == "" || w.x < found.x) {
				found = w
			}
		}
		return found
	}
	lowest := func(text string) (found []writing) { // of each map, from left to right
		for _, w := range all {
			switch {
			case w.text != text || len(found) > 0 && w.y > found[0].y+1:
			case len(found) > 0 && w.y > found[0].y-1:
				found = append(found, w)
			default:
				found = []writing{w}
			}
		}
		return found
	}
	assert.Less(t, leftmost(h.Ys[0]).y, leftmost(h.Ys[1]).y, "from below")
	for i, m := range h.Maps {
		for row, cells := range m.Cells {
			for col, c := range cells {
				columns := lowest(h.Xs[col])
				require.Len(t, columns, 2)
				x, y, label := columns[i].middle(), leftmost(h.Ys[row]).y, strings.TrimPrefix(h.label(c), atLeast)
				assert.True(t, slices.ContainsFunc(all, func(w writing) bool {
					return w.text == label && math.Abs(w.y-y) < 0.1 && (c.Bound || math.Abs(w.middle()-x) < 0.1)
				}), "%s: %s in column %s, row %s", m.Title, label, h.Xs[col], h.Ys[row])
			}
		}
	}
}

func TestLowerBoundsOfAHeatMapHaveASign(t *testing.T) {
	h := sampleHeat(1)
	strokes := func() int { return bytes.Count(render(t, h, "svg"), []byte("<path")) }
	plain := strokes()
	h.Maps[0].Cells[0][0].Bound = true
	assert.Equal(t, plain+2, strokes(), "an angle and a line below it")
}

func TestOnlyWhatHasAnIntervalHasABand(t *testing.T) {
	f := sampleLines(1)
	f.Panels[0].Series = f.Panels[0].Series[:1]
	bands := func() int { return bytes.Count(render(t, f, "svg"), []byte("fill-opacity")) }
	assert.Equal(t, 1, bands())
	all := f.Panels[0].Series[0].Points
	all[2].Lo = math.NaN()
	assert.Equal(t, 2, bands(), "one on either side")
	all[2].Lo, all[2].Hi = all[2].Y, math.NaN()
	assert.Equal(t, 2, bands())
	for i := range all {
		all[i].Lo = math.NaN()
	}
	assert.Zero(t, bands())
}

func TestTooFewIsSaidInItsCell(t *testing.T) {
	h := sampleHeat(1)
	h.Maps[0].Cells[0][0] = Cell{Value: math.NaN(), TooFew: true}
	assert.Equal(t, "too few", h.label(h.Maps[0].Cells[0][0]))
	assert.Equal(t, "–", h.label(Cell{Value: math.NaN()}))
}

func TestLowerBoundsAreOpen(t *testing.T) {
	closed, open := sampleLines(1), sampleLines(1)
	closed.Panels[0].Series, open.Panels[0].Series = closed.Panels[0].Series[:1], open.Panels[0].Series[:1]
	open.Panels[0].Series[0].Points[0].Bound = true
	whites := func(f Figure) int { return bytes.Count(render(t, f, "svg"), []byte("fill:#FFFFFF")) }
	assert.Equal(t, whites(closed)+1, whites(open))
}

func TestNothingIsDrawnOutsideOfThePage(t *testing.T) {
	number := regexp.MustCompile(`[ML](-?[0-9.e+]+),(-?[0-9.e+]+)`)
	for name, f := range figures {
		wide, high := f().size()
		for _, m := range number.FindAllStringSubmatch(string(render(t, f(), "svg")), -1) {
			x, err := strconv.ParseFloat(m[1], 64)
			require.NoError(t, err)
			y, err := strconv.ParseFloat(m[2], 64)
			require.NoError(t, err)
			const rounding = 0.01
			assert.True(t, x >= 0 && x <= wide.Points()+rounding && y >= 0 && y <= high.Points()+rounding, "%s: %s", name, m[0])
		}
		for _, w := range writings(t, render(t, f(), "svg")) {
			if !w.turned {
				assert.True(t, w.x >= 0 && w.x+w.long <= wide.Points() && w.y >= 0 && w.top() <= high.Points(), "%s: %+v", name, w)
			}
		}
	}
}

func TestNoTextLiesOnAnother(t *testing.T) {
	for name, f := range figures {
		all := writings(t, render(t, f(), "svg"))
		for i := range all {
			for j := range i {
				if a, b := &all[j], &all[i]; !a.turned && !b.turned {
					assert.False(t, a.covers(b), "%s: %q and %q", name, a.text, b.text)
				}
			}
		}
	}
}

func TestEveryFormatIsWhatItIsCalled(t *testing.T) {
	f := sampleLines(1)
	wide, _ := f.size()
	img, err := png.Decode(bytes.NewReader(render(t, f, "png")))
	require.NoError(t, err)
	assert.InDelta(t, wide.Points()/72*dpi, img.Bounds().Dx(), 1)
	assert.True(t, bytes.HasPrefix(render(t, f, "pdf"), []byte("%PDF-")))
	require.ErrorContains(t, Write(io.Discard, f, "jpg"), `no format "jpg"`)
}

func TestFiguresWithHardlyAnything(t *testing.T) {
	none := math.NaN()
	for name, points := range map[string][]Point{
		"one point":         {{X: 30, Y: 1, Lo: 0.5, Hi: 1.5}},
		"nothing measured":  {{X: 30, Y: none, Lo: none, Hi: none}, {X: 60, Y: none, Lo: none, Hi: none}},
		"zeros":             {{X: 0, Y: 0, Lo: 0, Hi: 0}, {X: 60, Y: 0, Lo: 0, Hi: 0}},
		"interval to below": {{X: 0, Y: 1, Lo: -3, Hi: 5}, {X: 60, Y: 100, Lo: -50, Hi: 250}},
	} {
		f := &Lines{Title: name, X: Axis{"x", Seconds}, Panels: []Panel{{Series: []Series{{Name: "a", Points: points}}}}}
		assert.NotContains(t, string(render(t, f, "svg")), "NaN", name)
		h := &Heat{Title: name, Xs: []string{"1"}, Ys: []string{"1"}, Maps: []Map{{Title: "a", Cells: [][]Cell{{{Value: points[0].Y}}}}}}
		assert.NotContains(t, string(render(t, h, "svg")), "NaN", name)
	}
}

func TestPaletteRisesInBrightness(t *testing.T) {
	before := -1.0
	for i := range 100 {
		c := shade(float64(i) / 99)
		l := luminance(c)
		assert.Greater(t, l, before, "at %d%%", i)
		before = l
		letters := luminance(contrast(c))
		ratio := (max(l, letters) + 0.05) / (min(l, letters) + 0.05)
		assert.Greater(t, ratio, 3.8, "text on it can be read at %d%%", i)
	}
}

func TestLooksDifferInMarkersAndColours(t *testing.T) {
	require.Len(t, looks, Looks)
	colours, markers := map[any]bool{}, map[marker]bool{}
	for _, l := range looks {
		colours[l.colour], markers[l.marker] = true, true
	}
	assert.Len(t, colours, Looks)
	assert.Len(t, markers, Looks)
	// The tenth has the colour of the first and nothing else of it, and so on: who sees no colours
	// tells all of them apart as well.
	full, grey := map[string]bool{}, map[string]bool{}
	for i := range Looks * Looks {
		l := lookOf(i)
		full[fmt.Sprint(l.colour, l.marker)], grey[fmt.Sprint(l.marker, l.dashes)] = true, true
		if i < Looks {
			assert.Equal(t, looks[i], l)
		}
	}
	assert.Len(t, full, Looks*Looks)
	assert.Len(t, grey, Looks*(Looks-1), "two of the nine are drawn without a dash")
	for i := range Looks {
		again := lookOf(i + Looks)
		assert.Equal(t, looks[i].colour, again.colour)
		assert.NotEqual(t, looks[i].marker, again.marker)
		assert.NotEqual(t, looks[i].dashes, again.dashes)
	}
	assert.NotPanics(t, func() { lookOf(-1) })
}

// A caption holds a command line, and that a list of policies without a space in it.
func TestAWordThatIsWiderThanAPageIsBroken(t *testing.T) {
	const wide = 100
	list := strings.Repeat("crash-only,", 9) + "hybrid"
	lines := wrap(captionFont, wide, "simulate --policies "+list+" --seeds 2 "+strings.Repeat("x", 90))
	for i, line := range lines {
		assert.LessOrEqual(t, textWidth(captionFont, line), vg.Length(wide), line)
		if strings.HasPrefix(line, "crash") && i > 0 && !strings.Contains(line, "hybrid") {
			assert.True(t, strings.HasSuffix(line, ","), "behind a comma: %q", line)
		}
	}
	assert.Contains(t, strings.Join(lines, ""), list)
	const short = "words that fit are never broken, whatever is left of a line"
	assert.Equal(t, short, strings.Join(wrap(captionFont, wide, short), " "))
	assert.Equal(t, []string{"abc"}, wrap(captionFont, 1000, " abc "))
	assert.Len(t, wrap(captionFont, 1, "abc"), 3, "no line is without a letter")
}

func TestAHeatMapOfNothingHasNoScale(t *testing.T) {
	h := sampleHeat(1)
	full := len(texts(t, render(t, h, "svg")))
	for _, row := range h.Maps[0].Cells {
		for i := range row {
			row[i] = Cell{Value: math.NaN()}
		}
	}
	empty := texts(t, render(t, h, "svg"))
	assert.Less(t, len(empty), full)
	assert.NotContains(t, strings.Join(empty, " "), "800ms")
}

func TestTextOfAPDFIsEncodedForItsFont(t *testing.T) {
	assert.Equal(t, "1\x963, 5\xb5s \xb1 2\xd7 -1 ?", windows1252("1–3, 5µs ± 2× −1 ж"))
	pdf := render(t, sampleLines(1), "pdf")
	inflated := false
	for _, part := range bytes.Split(pdf, []byte("stream\n"))[1:] {
		r, err := zlib.NewReader(bytes.NewReader(part))
		if err != nil {
			continue
		}
		text, _ := io.ReadAll(r) // what follows is not compressed
		inflated = inflated || bytes.Contains(text, []byte("Seeds 1\x965"))
		assert.NotContains(t, string(text), "Seeds 1–5")
	}
	assert.True(t, inflated, "the caption is found")
}

// Where an SVG is looked at without the font, another takes no more room.
func TestEveryTextOfAnSVGKeepsItsLength(t *testing.T) {
	for name, f := range figures {
		turned := 0
		for _, w := range writings(t, render(t, f(), "svg")) {
			assert.InDelta(t, textWidth(w.font(), w.text).Points(), w.long, 0.01, "%s: %q", name, w.text)
			if w.turned {
				turned++
			}
		}
		if name == "bars" {
			assert.Equal(t, 2, turned, "the labels of its axes are seen here as well")
		}
	}
}

func TestOfManyPointsSomeHaveNoMarker(t *testing.T) {
	f := &Lines{Title: "many", X: Axis{"x", Seconds}, Panels: []Panel{{Series: []Series{{Name: "a", Look: 1}}}}}
	for i := range 400 {
		f.Panels[0].Series[0].Points = append(f.Panels[0].Series[0].Points, Point{X: float64(i), Y: 1, Lo: 1, Hi: 1})
	}
	markers := bytes.Count(render(t, f, "svg"), []byte("fill:#D55E00\""))
	assert.InDelta(t, 22, markers, 4)
	before := bytes.Count(render(t, f, "svg"), []byte("fill:#FFFFFF"))
	f.Panels[0].Series[0].Points[201].Bound = true
	assert.Equal(t, before+1, bytes.Count(render(t, f, "svg"), []byte("fill:#FFFFFF")), "a bound among many is not passed over")
}
