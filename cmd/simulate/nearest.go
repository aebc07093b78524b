package main

import (
	"fmt"
	"strings"
)

// suggest ends an error about a word that is not one of words: with the nearest one if one
// is near, since a wrong suggestion sends people further away than none, and with all.
func suggest(word string, words []string) string {
	all := "use one of " + strings.Join(words, ", ")
	if w := nearest(word, words); w != "" {
		return fmt.Sprintf("did you mean %s? (%s)", w, all)
	}
	return all
}

// nearest returns the word most like a misspelt one, or "".
func nearest(misspelt string, words []string) string {
	best, least := "", max(len(misspelt)/3, 2)+1
	for _, w := range words {
		if d := distance(misspelt, w); d < least && d < len(w) {
			best, least = w, d
		}
	}
	return best
}

// distance counts the letters to insert, drop, change or swap with their neighbour that turn
// one word into the other.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
