package explore

import "testing"

// BenchmarkSearch searches one world on one core without any reduction.
func BenchmarkSearch(b *testing.B) {
	w, _ := Named("stop-and-loss")
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n += Run(w, Options{}).Transitions
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "transitions/s")
}
