package plots

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is what can be drawn: [*Lines], [*Heat] and [*Bars].
type Figure interface {
	size() (wide, high vg.Length)
	draw(page)
}

// Formats are the file formats, named by their endings.
func Formats() []string { return []string{"svg", "png", "pdf"} }

// dpi makes a PNG sharp on paper as well.
const dpi = 200

// Write draws a figure in a format of [Formats].
func Write(w io.Writer, f Figure, format string) error {
	wide, high := f.size()
	var c interface {
		vg.CanvasSizer
		io.WriterTo
	}
	switch format {
	case "svg":
		return writeSVG(w, f)
	case "png":
		c = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(wide, high), vgimg.UseDPI(dpi), vgimg.UseBackgroundColor(white))}
	case "pdf":
		c = vgpdf.New(wide, high)
	default:
		return fmt.Errorf("plots: there is no format %q; use svg, png or pdf", format)
	}
	f.draw(page{Canvas: draw.New(c), pdf: format == "pdf"})
	_, err := c.WriteTo(w)
	return err
}

// writeSVG leaves the font to the reader's machine and names what may stand in for it. Text
// is as long as it was planned, so that it does not run out of the figure in another font.
func writeSVG(w io.Writer, f Figure) error {
	wide, high := f.size()
	c := vgsvg.NewWith(vgsvg.UseWH(wide, high))
	var widths []vg.Length
	p := page{Canvas: draw.New(c), widths: &widths}
	p.fill(white, vg.Rectangle{Max: vg.Point{X: wide, Y: high}})
	f.draw(p)
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	parts := strings.Split(b.String(), "<text ")
	for i := range widths {
		parts[i+1] = fmt.Sprintf(`<text textLength="%.2f" lengthAdjust="spacingAndGlyphs" %s`, widths[i].Points(), parts[i+1])
	}
	_, err := io.WriteString(w, strings.ReplaceAll(strings.Join(parts, ""),
		"font-family:Liberation Sans;", "font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"))
	return err
}
