package sim

// wire holds what is on its way, in any order of arrival, and uses its room again. There are a few
// hundred at once in a fleet of any size, so they lie in one piece, which a near cache has room for.
type wire[T any] struct {
	all  []T
	free []uint32 // places
}

// room returns a place, and what is there to be overwritten, until room is next called.
func (w *wire[T]) room() (uint32, *T) {
	last := len(w.free) - 1
	if last < 0 {
		var none T
		w.all = append(w.all, none)
		place := uint32(len(w.all) - 1)
		return place, &w.all[place]
	}
	place := w.free[last]
	w.free = w.free[:last]
	return place, &w.all[place]
}

// put puts something on its way and returns its place.
func (w *wire[T]) put(v T) uint32 {
	place, at := w.room()
	*at = v
	return place
}

// at returns what is at a place, until room is next called.
func (w *wire[T]) at(place uint32) *T { return &w.all[place] }

// take takes what is at a place off its way.
func (w *wire[T]) take(place uint32) T {
	w.drop(place)
	return w.all[place]
}

// drop gives a place up.
func (w *wire[T]) drop(place uint32) { w.free = append(w.free, place) }
