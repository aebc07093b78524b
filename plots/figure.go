package plots

// Unit says how the numbers of an axis are written.
type Unit uint8

// Units.
const (
	Number  Unit = iota // 0.001, 20, 3,000
	Seconds             // written as a duration: 20ms, 5m, 2h
	Share               // written in percent
)

// Axis is one axis of a figure.
type Axis struct {
	Label string
	Unit  Unit
}

// Lines is a figure of curves, in one panel per metric.
type Lines struct {
	Title   string
	Caption []string // paragraphs below the panels
	X       Axis
	Panels  []Panel
}

// Panel is one pair of axes with its curves. Its axis has no label when Title says enough.
type Panel struct {
	Title  string
	Y      Axis
	Series []Series
}

// Series is one curve. Series of equal names look equal in every panel.
type Series struct {
	Name   string
	Look   int  // index of colour, dash and marker; see Looks
	Theory bool // drawn dashed and without markers, in no colour
	Points []Point
}

// Point is one value of a curve with its interval. Lo and Hi are NaN without an interval, Y
// is NaN when nothing was measured.
type Point struct {
	X, Y, Lo, Hi float64
	Bound        bool // Y is a lower bound
}

// Heat is a figure of heat maps, one per policy, that share their scale.
type Heat struct {
	Title   string
	Caption []string
	X, Y    Axis
	Xs, Ys  []string // labels of columns from left to right, and of rows from below
	Value   Axis
	Maps    []Map
}

// Map is one heat map. Cells go by row, from below, then by column.
type Map struct {
	Title string
	Cells [][]Cell
}

// Cell is one value of a heat map, NaN when nothing was measured, or too little to say a value.
type Cell struct {
	Value  float64
	Bound  bool // Value is a lower bound
	TooFew bool // why Value is NaN
}

// Bars is a figure of histograms, one below the other.
type Bars struct {
	Title   string
	Caption []string
	Panels  []BarPanel
}

// BarPanel counts what lies between edges, of which there is one more than there are values.
// With labels, one per edge, all bars are equally wide; then the last edge may be infinite.
// Without, the axis is even.
type BarPanel struct {
	Title  string
	X, Y   Axis
	Edges  []float64 // rising, from zero or more
	Labels []string
	Values []float64
	Marks  []Mark
}

// Mark is a value of the horizontal axis with a name, such as a quantile.
type Mark struct {
	Name string
	At   float64
}
