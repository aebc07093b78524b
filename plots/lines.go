package plots

import (
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
)

// columns returns how many panels stand side by side.
func columns(panels int) int {
	switch {
	case panels <= 1:
		return 1
	case panels == 3 || panels > 4:
		return 3
	default:
		return 2
	}
}

// cell returns the size of one panel with its labels.
func (f *Lines) cell() (wide, high vg.Length) {
	if len(f.Panels) == 1 {
		return singleWide, singleHigh
	}
	return panelWide, panelHigh
}

func (f *Lines) size() (wide, high vg.Length) {
	w, h := f.cell()
	n := columns(len(f.Panels))
	rows := (len(f.Panels) + n - 1) / n
	wide = 2*margin + vg.Length(n)*w + vg.Length(n-1)*panelGap
	s := f.sheet(wide)
	return wide, s.head() + vg.Length(rows)*h + vg.Length(rows-1)*panelGap + s.foot()
}

func (f *Lines) sheet(wide vg.Length) sheet {
	return sheet{wide: wide, title: f.Title, caption: f.Caption, keys: f.keys()}
}

// keys are the entries of the legend: every series once, in the order they come.
func (f *Lines) keys() []Series {
	var keys []Series
	for _, p := range f.Panels {
		for _, s := range p.Series {
			if !slices.ContainsFunc(keys, func(k Series) bool { return k.Name == s.Name }) {
				keys = append(keys, s)
			}
		}
	}
	return keys
}

func (f *Lines) draw(p page) {
	wide, high := f.size()
	s := f.sheet(wide)
	s.draw(p, high)
	w, h := f.cell()
	n := columns(len(f.Panels))
	xs := f.xs()
	for i := range f.Panels {
		left := margin + vg.Length(i%n)*(w+panelGap)
		top := high - s.head() - vg.Length(i/n)*(h+panelGap)
		f.panel(p, &f.Panels[i], xs, vg.Rectangle{Min: vg.Point{X: left, Y: top - h}, Max: vg.Point{X: left + w, Y: top}})
	}
}

// xs are all values that were swept, so that every panel has the same axis.
func (f *Lines) xs() []float64 {
	var xs []float64
	for _, p := range f.Panels {
		for _, s := range p.Series {
			for _, v := range s.Points {
				xs = append(xs, v.X)
			}
		}
	}
	slices.Sort(xs)
	return slices.Compact(xs)
}

// ys are the values that the vertical axis must show. The lower end of a wide interval may
// lie far below on a logarithmic axis; it is cut off, as the mean is what counts.
func (p *Panel) ys() []float64 {
	var ys []float64
	for _, s := range p.Series {
		for _, v := range s.Points {
			ys = append(ys, v.Y)
			if !math.IsNaN(v.Y) && !math.IsNaN(v.Hi) {
				ys = append(ys, v.Hi)
			}
		}
	}
	return ys
}
