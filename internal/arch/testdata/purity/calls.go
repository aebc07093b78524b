package fixture

import (
	"fmt"
	"maps"
	clock "time" // want: import
)

type timer struct{ length clock.Duration }

func (t *timer) wait() {
	clock.Sleep(t.length)                // want: call
	clock.NewTimer(t.length)             // want: call
	clock.NewTicker(t.length)            // want: call
	clock.AfterFunc(t.length, func() {}) // want: call
	_ = clock.Since(clock.Time{})        // want: call
	_ = clock.Until(clock.Time{})        // want: call
	_ = clock.Unix(0, 0)
	_ = clock.After(t.length) // want: call, channel
	_ = clock.Tick(t.length)  // want: call, channel
}

// A function that is handed on is as good as called.
var now = clock.Now // want: call

func talk(m map[string]int, n *int) string {
	print("a")         // want: call
	println("b")       // want: call
	fmt.Print("c")     // want: call
	fmt.Printf("d")    // want: call
	fmt.Println("e")   // want: call
	fmt.Scan(n)        // want: call
	fmt.Scanf("%d", n) // want: call
	fmt.Scanln(n)      // want: call
	_ = maps.All(m)    // want: call
	_ = maps.Keys(m)   // want: call
	_ = maps.Values(m) // want: call
	_ = maps.Clone(m)
	return fmt.Sprint("g", m) // sorted
}
