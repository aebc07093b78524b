package spelling

import (
	"slices"
	"strings"
)

// Slip returns the word that a misspelt one can only be: the same but for case, dashes and
// underscores and one wrong letter, in a long word two. It is "" for the words themselves and for
// whatever else, so that a word may be refused for it where others are unknown and allowed.
func Slip(written string, words []string) string {
	if slices.Contains(words, written) {
		return ""
	}
	const long = 10
	for _, w := range words {
		allowed := 1
		if len(w) >= long {
			allowed = 2
		}
		if distance(plain(written), plain(w)) <= allowed {
			return w
		}
	}
	return ""
}

func plain(word string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(word))
}
