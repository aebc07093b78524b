package manifest

import "strings"

// token is a word of a shell script, its quotes taken off, or an operator: one of
// ; & && || | ( ) where a line break counts as ;.
type token struct {
	text     string
	operator bool
}

// tokenize splits a script as a shell would. Substitutions stay unexpanded inside their word.
func tokenize(text string) []token {
	var tokens []token
	for text != "" {
		switch c := text[0]; {
		case c == ' ' || c == '\t' || c == '\r':
			text = text[1:]
		case c == '#':
			end := strings.IndexByte(text, '\n')
			if end < 0 {
				return tokens
			}
			text = text[end:]
		case strings.IndexByte(";&|()\n", c) >= 0:
			n := 1
			if strings.HasPrefix(text, "&&") || strings.HasPrefix(text, "||") {
				n = 2
			}
			tokens = append(tokens, token{strings.ReplaceAll(text[:n], "\n", ";"), true})
			text = text[n:]
		default:
			n, word := scanWord(text)
			tokens = append(tokens, token{word, false})
			text = text[n:]
		}
	}
	return tokens
}

// scanWord gives the word that text begins with, and how many bytes it takes.
func scanWord(text string) (n int, word string) {
	var b strings.Builder
	for n < len(text) {
		c := text[n]
		redirected := n > 0 && (text[n-1] == '>' || text[n-1] == '<')
		switch {
		case c == '\\' && n+1 < len(text):
			b.WriteByte(text[n+1])
			n += 2
		case c == '\'' || c == '"' || c == '`':
			end := closing(text[n+1:], c)
			b.WriteString(text[n+1 : n+1+end])
			n = min(n+end+2, len(text))
		case strings.HasPrefix(text[n:], "$("):
			end := n + brackets(text[n+1:]) + 1
			b.WriteString(text[n:end])
			n = end
		case c == '&' && redirected: // 2>&1
			b.WriteByte(c)
			n++
		case strings.IndexByte(" \t\r\n;&|()", c) >= 0:
			return n, b.String()
		default:
			b.WriteByte(c)
			n++
		}
	}
	return n, b.String()
}

// closing finds the quote that ends a quoted part; a backslash hides one, except between '.
func closing(text string, quote byte) int {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote != '\'':
			i++
		case text[i] == quote:
			return i
		}
	}
	return len(text)
}

// brackets is the length of a part in round brackets, with those inside it.
func brackets(text string) int {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}
