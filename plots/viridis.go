package plots

import (
	"image/color"
	"math"
)

// viridis is seventeen even steps of the palette of that name by van der Walt and Smith
// (matplotlib, CC0): equal steps look equally far apart, in colour, in grey and to readers
// who see no difference between red and green.
var viridis = []color.RGBA{
	rgb(0x440154), rgb(0x481668), rgb(0x482878), rgb(0x433a83), rgb(0x3d4a89), rgb(0x355a8c), rgb(0x2e698e),
	rgb(0x28778e), rgb(0x21868d), rgb(0x1f958b), rgb(0x23a386), rgb(0x37b178), rgb(0x56c06a), rgb(0x7cd04f),
	rgb(0xa8db34), rgb(0xd4e11b), rgb(0xfde725),
}

// shade returns the colour at x, from 0 to 1. Little is dark and much is bright.
func shade(x float64) color.RGBA {
	x = min(max(x, 0), 1) * float64(len(viridis)-1)
	i := min(int(x), len(viridis)-2)
	a, b, t := viridis[i], viridis[i+1], x-float64(i)
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a)*(1-t) + float64(b)*t)) }
	return color.RGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 0xff}
}

// contrast returns black or white, whichever is read better on a colour. By WCAG 2 both have
// the same contrast at a luminance of 0.18; on saturated colours white is read better a
// little beyond it, and still has 4:1.
func contrast(c color.RGBA) color.RGBA {
	if luminance(c) > 0.21 {
		return ink
	}
	return white
}

func luminance(c color.RGBA) float64 {
	linear := func(v uint8) float64 {
		x := float64(v) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}
