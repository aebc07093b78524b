package plots_test

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/quiesce/quiesce/plots"
)

func Example() {
	f := &plots.Lines{
		Title:   "Stall by lease",
		Caption: []string{"Means of ten runs and their 95% intervals."},
		X:       plots.Axis{Label: "lease", Unit: plots.Seconds},
		Panels: []plots.Panel{{
			Y: plots.Axis{Unit: plots.Seconds},
			Series: []plots.Series{{Name: "crash-only", Look: 1, Points: []plots.Point{
				{X: 60, Y: 54, Lo: 53, Hi: 55}, {X: 300, Y: 274, Lo: 270, Hi: 278},
			}}},
		}},
	}
	var svg bytes.Buffer
	if err := plots.Write(&svg, f, "svg"); err != nil {
		fmt.Println(err)
	}
	fmt.Println(strings.Contains(svg.String(), "crash-only"))
	// Output: true
}
