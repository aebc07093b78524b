package plots

import (
	"bytes"
	"encoding/xml"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/font"
)

// writing is a text of an SVG. Points count from the lower left corner of the page.
type writing struct {
	text         string
	x, y         float64 // where it begins
	long         float64 // as it is told to be
	size         float64
	bold, turned bool
}

func (w *writing) middle() float64 { return w.x + w.long/2 }
func (w *writing) top() float64    { return w.y + capital(w.font()).Points() }

func (w *writing) font() font.Font {
	f := font.Font{}
	if w.bold {
		f.Weight = bold
	}
	return sans(w.size, f)
}

// covers reports whether one text lies on the other, by the boxes of their capitals.
func (w *writing) covers(o *writing) bool {
	const touch = 0.01
	return w.x+w.long > o.x+touch && o.x+o.long > w.x+touch && w.top() > o.y+touch && o.top() > w.y+touch
}

// writings are the texts of an SVG, in the order they are drawn. Those that are turned lie in a
// group of their own, and it is not worked out where.
func writings(t *testing.T, svg []byte) (all []writing) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	groups := 0
	var open *writing
	for {
		token, err := d.Token()
		if err == io.EOF {
			return all
		}
		require.NoError(t, err, "an SVG is XML")
		switch e := token.(type) {
		case xml.StartElement:
			switch e.Name.Local {
			case "g":
				groups++
			case "text":
				all = append(all, readWriting(t, e))
				open = &all[len(all)-1]
				open.turned = groups > 1
			}
		case xml.CharData:
			if open != nil {
				open.text += string(e)
			}
		case xml.EndElement:
			switch e.Name.Local {
			case "g":
				groups--
			case "text":
				open = nil
			}
		}
	}
}

func readWriting(t *testing.T, e xml.StartElement) (w writing) {
	t.Helper()
	for _, a := range e.Attr {
		switch a.Name.Local {
		case "x":
			w.x = number(t, a.Value)
		case "y":
			w.y = -number(t, a.Value)
		case "textLength":
			w.long = number(t, a.Value)
		case "style":
			_, rest, _ := strings.Cut(a.Value, "font-size:")
			size, _, _ := strings.Cut(rest, "px")
			w.size = number(t, size)
			w.bold = strings.Contains(a.Value, "font-weight:bold")
		}
	}
	return w
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	require.NoError(t, err)
	return v
}

// texts are the words of an SVG, in the order they are drawn.
func texts(t *testing.T, svg []byte) (all []string) {
	t.Helper()
	for _, w := range writings(t, svg) {
		all = append(all, w.text)
	}
	return all
}
