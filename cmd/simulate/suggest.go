package main

import (
	"fmt"
	"strings"

	"github.com/quiesce/quiesce/internal/spelling"
)

// suggest ends an error about a word that is not one of words: with the nearest one if one
// is near, since a wrong suggestion sends people further away than none, and with all.
func suggest(word string, words []string) string {
	all := "use one of " + strings.Join(words, ", ")
	if w := spelling.Nearest(word, words); w != "" {
		return fmt.Sprintf("did you mean %s? (%s)", w, all)
	}
	return all
}
