// Package plots draws what a sweep measured: curves with their confidence bands, and heat
// maps; and what is in recorded input, as histograms. Plain rows go in, pictures come out.
//
// # What it promises
//
// One house style. Policies keep colour, dash and marker in every figure, from the palette
// of Okabe and Ito, so that figures are told apart without colour too, by readers and by
// printers. Axes count in the units of people: 30s, 5m, 1h. The legend stands outside of the
// data, and the caption says what was measured, with which seeds, by which version.
//
// Nothing is made up. A mean that is only a lower bound has an open marker; what was not
// measured is a gap in the line; zero, which a logarithmic axis has no place for, gets a
// floor of its own below the axis, and the axis says so.
//
// Equal figures give equal bytes as SVG and PNG. A PDF holds the moment of its making.
//
// # What it does not
//
// It does not compute: means, intervals and theory come from the caller. It writes to what
// it is given and touches no other file.
package plots
