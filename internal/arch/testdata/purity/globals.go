package fixture

import "io"

type register struct{ rows [4]int }

var (
	runs  int
	names = map[string]int{}
	one   register
	rows  = &one
)

func init() { names["first"] = 1 }

func remember(name string) {
	runs++             // want: global
	names[name] = 1    // want: global
	one.rows[2] = 3    // want: global
	*rows = register{} // want: global
	(rows).rows[1]++   // want: global
	io.EOF = nil       // want: global
	runs := 4
	runs++
	local := one
	local.rows[0] = runs
}
