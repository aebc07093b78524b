package main

import (
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"time"
)

// drawTo is all that the child does: one frame, as PNG. It writes while it draws, so that
// its file is half written for as long as that takes.
func drawTo(out io.Writer, f film, frame int) error {
	f.Name = "frame" // it is only asked for one
	if err := f.check(); err != nil {
		return err
	}
	return png.Encode(out, &picture{
		size: f.Size,
		zoom: 1.5 * math.Pow(0.8, float64(frame)),
		row:  f.Pace / time.Duration(f.Size),
		done: -1,
	})
}

// picture is a view of the Mandelbrot set that is computed as it is read, row by row.
type picture struct {
	size int
	zoom float64       // half of its width
	row  time.Duration // a row takes at least so long: the pace of a renderer with more to do
	done int           // the last row that was waited for
}

func (p *picture) ColorModel() color.Model { return color.GrayModel }
func (p *picture) Bounds() image.Rectangle { return image.Rect(0, 0, p.size, p.size) }

// At computes a pixel.
func (p *picture) At(x, y int) color.Color {
	if y > p.done {
		p.done = y
		time.Sleep(p.row)
	}
	const limit = 255
	half := float64(p.size) / 2
	c := complex(-0.743643+p.zoom*(float64(x)/half-1), 0.131825+p.zoom*(float64(y)/half-1))
	z, n := c, 0
	for ; n < limit && real(z)*real(z)+imag(z)*imag(z) < 4; n++ {
		z = z*z + c
	}
	return color.Gray{Y: uint8(limit - n)}
}
