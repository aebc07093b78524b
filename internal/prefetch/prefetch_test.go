package prefetch

import "testing"

// Whatever it is told to fetch, it reads nothing: no address is wrong.
func TestNothingIsRead(t *testing.T) {
	type page [4096]byte
	All[page](nil)
	First[page](nil, 1)
	All(new(page))
	All(new(byte))
}
