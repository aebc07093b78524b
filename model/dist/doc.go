// Package dist holds the distributions a simulation draws durations from: immutable
// tables that turn one uniformly random 64-bit word into whole nanoseconds.
//
// # What it promises
//
// The same table and the same word give the same nanosecond on every architecture, Go
// release and compiler setting. Floating point cannot promise that: Go may fuse a multiply
// and an add on arm64 and not on amd64, and math.Exp has assembly on some machines only. One
// bit of difference in one service time reorders two events, and from there on a run is
// another run. So knots are built and words are turned into values in integers alone; the
// golden hashes in the tests are the same everywhere or the tests fail.
//
// Sample is monotone in its word, reaches Min at word 0 and Max at the last word, allocates
// nothing and may be called from any number of goroutines.
//
// # The table
//
// Exponential, Lognormal and Pareto, and Empirical with many values, are inverse transforms:
// the quantile function is known at knots, and a word between two knots is interpolated
// linearly and rounded to the nearest nanosecond. The unit of probability is cut into 1,024
// even cells, and the first and the last of them into 1,024 cells each. That makes 3,069
// knots inside the unit interval, the outermost at 2^-20 and 1 - 2^-20, plus one at
// either end: 3,071 altogether. Even cells alone are not enough: the rarest thousandth of a
// lognormal carries a visible part of E[S²], the number that decides how long a queue gets.
//
// A law with an endless tail is cut at the last knot: the rarest millionth takes the
// value of the quantile at 1 - 2^-20. Lognormal is cut at both sides, so that no job has
// zero work. A quantile that was given to the constructor is itself a knot: 1/2 falls on
// one anyway, 0.99 does not and splits its cell in two.
//
// Constant and Uniform need no knots; Empirical keeps every value while there are no more
// of them than a table has knots.
//
// # What it does not promise
//
// A table is not the law it was named after. Interpolation and the cut shift the moments,
// little for the laws above (for exponential, and for lognormal with a p99 near five times
// the p50, E[S²] is right within 0.1%) and without bound for a Pareto law with alpha ≤ 2,
// whose E[S²] is infinite. Theory is therefore compared with Moments, the table's own.
//
// # Sources
//
// Exponential: -mean·ln(1-p). Pareto: min·(1-p)^(-1/alpha). Lognormal: p50·exp(σ·z(p)) with
// σ = ln(p99/p50)/z(0.99). Logarithms are taken bit by bit by repeated squaring (Knuth, The
// Art of Computer Programming, 1.2.2), exponentials by Taylor series
// after splitting off a power of two; both are within 2^-40 with room to spare. z is found by
// Newton's method on the series Φ(z) = 1/2 + φ(z)·(z + z³/3 + z⁵/(3·5) + …) (Abramowitz and
// Stegun 26.2.11), within 10^-9. Residual life E[S²]/2E[S]: Kleinrock, Queueing Systems I, 5.2.
package dist
