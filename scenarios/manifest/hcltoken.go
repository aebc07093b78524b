package manifest

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// hclTokenKind tags a token of HCL.
type hclTokenKind uint8

const (
	hclEnd hclTokenKind = iota
	hclNewline
	hclIdent
	hclDigits   // a number
	hclQuoted   // a string, its escapes undone
	hclTemplate // a string or heredoc with ${ } or %{ } in it
	hclSymbol   // anything else, one character
	hclBroken   // what no token begins with, or one that does not end
)

type hclToken struct {
	kind       hclTokenKind
	text       string // of hclBroken: what is wrong
	start, end int    // bytes in the source
	line       int
	column     int
}

// hclLexer splits HCL into identifiers, numbers, strings, heredocs and symbols. What is between ${
// and } is an expression, whose tokens are passed over, strings with interpolations of their own
// included (HCL Native Syntax Specification, "Template Expressions").
type hclLexer struct {
	src   string
	at    int
	line  int
	bol   int // the byte the line begins at
	depth int // of strings within strings
}

func (l *hclLexer) next() hclToken {
	l.skipBlanks()
	t := hclToken{start: l.at, line: l.line, column: utf8.RuneCountInString(l.src[l.bol:l.at]) + 1}
	if l.at >= len(l.src) {
		t.end = l.at
		return t
	}
	switch c := l.src[l.at]; {
	case c == '\n':
		t.kind = hclNewline
		l.newline()
	case c == '"':
		t.kind, t.text = l.quoted()
	case strings.HasPrefix(l.src[l.at:], "<<"):
		t.kind, t.text = l.heredoc()
	case c >= '0' && c <= '9':
		t.kind, t.text = hclDigits, hclNumeral.FindString(l.src[l.at:])
		l.at += len(t.text)
	case isIdentStart(l.rune()):
		t.kind, t.text = hclIdent, l.while(func(r rune) bool { return r == '-' || isIdentStart(r) || unicode.IsDigit(r) })
	default:
		t.kind, t.text = hclSymbol, string(l.rune())
		l.at += len(t.text)
	}
	t.end = l.at
	return t
}

// hclNumeral is a number as HCL writes it.
var hclNumeral = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?`)

func isIdentStart(r rune) bool { return r == '_' || unicode.IsLetter(r) }

func (l *hclLexer) rune() rune {
	r, _ := utf8.DecodeRuneInString(l.src[l.at:])
	return r
}

func (l *hclLexer) while(belongs func(rune) bool) string {
	start := l.at
	for l.at < len(l.src) && belongs(l.rune()) {
		l.at += utf8.RuneLen(l.rune())
	}
	return l.src[start:l.at]
}

func (l *hclLexer) newline() {
	l.at++
	l.line++
	l.bol = l.at
}

// skipBlanks passes over blanks and comments, but not over the end of a line, which ends a value.
func (l *hclLexer) skipBlanks() {
	for l.at < len(l.src) {
		rest := l.src[l.at:]
		switch {
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r':
			l.at++
		case rest[0] == '#' || strings.HasPrefix(rest, "//"):
			l.at += indexOr(rest, "\n", len(rest))
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest, "*/")
			if end < 0 {
				end = len(rest) - 2
			}
			for stop := l.at + end + 2; l.at < stop; {
				if l.src[l.at] == '\n' {
					l.newline()
				} else {
					l.at++
				}
			}
		default:
			return
		}
	}
}

// indexOr is where part begins in text, or otherwise when it does not.
func indexOr(text, part string, otherwise int) int {
	if i := strings.Index(text, part); i >= 0 {
		return i
	}
	return otherwise
}

var hclEscapes = map[byte]string{'n': "\n", 'r': "\r", 't': "\t", '"': `"`, '\\': `\`}

// literalTemplate is what $${ and %%{ mean.
var literalTemplate = strings.NewReplacer("$${", "${", "%%{", "%{")

const tooManyStrings = "is a string with too many others in it"

// quoted reads a string. One with interpolations is left as it is written, but for its escapes
// with a backslash: they are text beside what is not worked out.
func (l *hclLexer) quoted() (hclTokenKind, string) {
	if l.depth++; l.depth > hclDepth {
		return hclBroken, tooManyStrings
	}
	defer func() { l.depth-- }()
	kind := hclQuoted
	var b strings.Builder
	l.at++
	for l.at < len(l.src) {
		start := l.at
		switch c := l.src[l.at]; {
		case c == '"':
			l.at++
			if kind == hclQuoted {
				return kind, literalTemplate.Replace(b.String())
			}
			return kind, b.String()
		case c == '\n':
			return hclBroken, "is a string that does not end on its line"
		case c == '\\' && l.at+1 < len(l.src):
			b.WriteString(l.escape())
		case l.stands("$${") || l.stands("%%{"):
			l.at += len("$${")
			b.WriteString(l.src[start:l.at])
		case l.stands("${") || l.stands("%{"):
			kind = hclTemplate
			if problem := l.skipTemplate(); problem != "" {
				return hclBroken, problem
			}
			b.WriteString(l.src[start:l.at])
		default:
			b.WriteByte(c)
			l.at++
		}
	}
	return hclBroken, "is a string that does not end"
}

func (l *hclLexer) stands(text string) bool { return strings.HasPrefix(l.src[l.at:], text) }

// escape passes over a backslash and what it stands before, and returns what they mean; one that
// HCL does not know means itself.
func (l *hclLexer) escape() string {
	rest := l.src[l.at:]
	if known, ok := hclEscapes[rest[1]]; ok {
		l.at += 2
		return known
	}
	if rest[1] == 'u' || rest[1] == 'U' {
		if r, _, after, err := strconv.UnquoteChar(rest, '"'); err == nil {
			l.at += len(rest) - len(after)
			return string(r)
		}
	}
	l.at += 2
	return rest[:2]
}

// skipTemplate passes over ${ … } or %{ … }, and returns what is wrong with it.
func (l *hclLexer) skipTemplate() (problem string) {
	l.at++ // The brace is the first token.
	for depth := 0; ; {
		switch t := l.next(); {
		case t.kind == hclBroken:
			return t.text
		case t.kind == hclEnd:
			return "is a string whose ${ does not end"
		case t.kind == hclSymbol && t.text == "{":
			depth++
		case t.kind == hclSymbol && t.text == "}":
			if depth--; depth == 0 {
				return ""
			}
		}
	}
}

// heredoc reads <<END or <<-END up to the line that says END and no more.
func (l *hclLexer) heredoc() (hclTokenKind, string) {
	l.at += 2
	if l.at < len(l.src) && l.src[l.at] == '-' {
		l.at++
	}
	mark := l.while(func(r rune) bool { return r == '-' || isIdentStart(r) || unicode.IsDigit(r) })
	rest, _, found := strings.Cut(l.src[l.at:], "\n")
	if mark == "" || strings.TrimSpace(rest) != "" || !found {
		return hclBroken, "is no value"
	}
	l.at += len(rest)
	l.newline()
	start := l.at
	for l.at < len(l.src) {
		row, _, more := strings.Cut(l.src[l.at:], "\n")
		if strings.TrimSpace(row) == mark {
			text := l.src[start:l.at]
			l.at += len(strings.TrimRight(row, "\r"))
			if strings.Contains(text, "${") || strings.Contains(text, "%{") {
				return hclTemplate, text
			}
			return hclQuoted, text
		}
		l.at += len(row)
		if more {
			l.newline()
		}
	}
	return hclBroken, "is text that does not end: no line says " + mark
}
