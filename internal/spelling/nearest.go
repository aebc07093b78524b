// Package spelling finds the word that a misspelt one was meant to be.
package spelling

// Nearest returns the word most like a misspelt one, or "" when none is near: a suggestion
// that is wrong sends people further away than none.
func Nearest(misspelt string, words []string) string {
	best, least := "", max(len(misspelt)/3, 2)+1
	for _, w := range words {
		if d := distance(misspelt, w); d < least && d < max(len(w), 2) {
			best, least = w, d
		}
	}
	return best
}

// distance counts the letters to insert, drop, change or swap with their neighbour that turn
// one word into the other (optimal string alignment).
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last := make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row := make([]int, len(y)+1)
		row[0] = i
		for j := 1; j <= len(y); j++ {
			change := last[j-1]
			if x[i-1] != y[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(y)]
}
