package fixture

type index map[uint64]int

func sum(m map[string]int, i index, list []int) (n int) {
	for _, v := range m { // want: map order
		n += v
	}
	for range i { // want: map order
		n++
	}
	for _, v := range list {
		n += v + m["a"] + i[1]
	}
	for v := range 3 {
		n += v
	}
	delete(m, "a")
	return n + len(m)
}

func count[M ~map[K]V, K comparable, V any](m M) (n int) {
	for range m { // want: map order
		n++
	}
	return n
}

func each[S ~[]E, E any](s S) (n int) {
	for range s {
		n++
	}
	return n
}
