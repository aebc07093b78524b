// Package excerpt shows the place in a line of somebody's file that an error is about.
package excerpt

import (
	"strings"
	"unicode"
)

// width, in characters, keeps the caret in sight when the line is a whole minified file.
const width = 100

// Around cuts a window around column, from 1 in characters, out of line and tells how many
// characters into it the caret goes.
func Around(line string, column int) (text string, caret int) {
	runes := []rune(line)
	caret = min(max(column-1, 0), len(runes))
	start := 0
	if caret > width*3/4 {
		start = caret - width/2
	}
	end := min(len(runes), start+width)
	return strings.TrimRight(Printable(string(runes[start:end])), " "), caret - start
}

// Printable keeps what a file says from breaking the line or driving the terminal. Each
// character stays one cell, so that the caret stays under its column.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return '?'
		}
		return r
	}, text)
}
