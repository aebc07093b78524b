package manifest

import (
	"fmt"
	"strings"
)

// hclValueKind tags a value of HCL.
type hclValueKind uint8

const (
	hclText hclValueKind = iota
	hclNumber
	hclBool
	hclNull
	hclList
	hclObject
	hclCall    // of a function, all of whose arguments were understood
	hclDynamic // an expression that only the tool can work out
)

// hclValue is a value with its place. Expressions are delimited, not evaluated, so that what is
// not needed does no harm.
type hclValue struct {
	kind         hclValueKind
	text         string     // the string, number or name of the function; of hclDynamic the expression
	quoted       bool       // of hclDynamic: a string with ${ } in it, and nothing besides
	items        []hclValue // of a list or call
	fields       []hclAttr  // of an object
	line, column int
}

// everything is what the value says, with what it holds and the arguments of a call.
func (v hclValue) everything() string {
	var b strings.Builder
	v.say(&b)
	return b.String()
}

func (v hclValue) say(b *strings.Builder) {
	b.WriteString(v.text)
	for _, item := range v.items {
		b.WriteByte(' ')
		item.say(b)
	}
	for _, f := range v.fields {
		b.WriteByte(' ')
		f.value.say(b)
	}
}

type hclAttr struct {
	name         string
	value        hclValue
	line, column int
}

// plain is a text or number that is written; an expression is none.
func (v hclValue) plain() string {
	if v.kind == hclText || v.kind == hclNumber {
		return v.text
	}
	return ""
}

// hclBlock is a block: kind "label" { … }.
type hclBlock struct {
	kind         string
	labels       []string
	attrs        []hclAttr
	blocks       []*hclBlock
	line, column int
}

// attr returns the value of an attribute; ok is false when it is not written or null.
func (b *hclBlock) attr(name string) (v hclValue, ok bool) { return field(b.attrs, name) }

func field(attrs []hclAttr, name string) (v hclValue, ok bool) {
	for _, a := range attrs {
		if a.name == name {
			return a.value, a.value.kind != hclNull
		}
	}
	return hclValue{}, false
}

// named returns the blocks of a kind, in the order of the file.
func (b *hclBlock) named(kind string) []*hclBlock {
	var found []*hclBlock
	for _, inner := range b.blocks {
		if inner.kind == kind {
			found = append(found, inner)
		}
	}
	return found
}

// label is the name of a block, if it has one.
func (b *hclBlock) label() string {
	if len(b.labels) == 0 {
		return ""
	}
	return b.labels[len(b.labels)-1]
}

// hclDepth bounds nesting, and with it the stack.
const hclDepth = 100

// hclParser reads HCL 2 (and of HCL 1 what job files use) into blocks.
type hclParser struct {
	src   *source
	lexer hclLexer
	token hclToken // the one to be read next
	depth int
	err   error
}

// hcl parses a file. The result is a block without a kind that holds everything.
func (s *source) hcl() (*hclBlock, error) {
	p := &hclParser{src: s, lexer: hclLexer{src: string(s.data), line: 1}}
	p.advance()
	root := &hclBlock{line: 1, column: 1}
	p.body(root, hclEnd)
	if p.err != nil {
		return nil, p.err
	}
	return root, nil
}

func (p *hclParser) fail(t hclToken, field, problem, remedy string) {
	if p.err == nil {
		p.err = p.src.at(t.line, t.column, field, problem, remedy)
	}
	p.token = hclToken{kind: hclEnd, line: t.line, column: t.column} // Every loop ends at the end.
}

func (p *hclParser) advance() hclToken {
	t := p.token
	if p.err == nil {
		p.token = p.lexer.next()
		if p.token.kind == hclBroken {
			remedy := "close it"
			if p.token.text == tooManyStrings {
				remedy = "flatten it"
			}
			p.fail(p.token, "", p.token.text, remedy)
		}
	}
	return t
}

func (p *hclParser) is(symbol string) bool {
	return p.token.kind == hclSymbol && p.token.text == symbol
}

func (p *hclParser) newlines() {
	for p.token.kind == hclNewline {
		p.advance()
	}
}

// body reads attributes and blocks up to the end of the file or a closing brace.
func (p *hclParser) body(b *hclBlock, end hclTokenKind) {
	if p.depth++; p.depth > hclDepth {
		p.fail(p.token, "", "is nested too deeply", "flatten it")
	}
	defer func() { p.depth-- }()
	for p.newlines(); ; p.newlines() {
		switch {
		case p.token.kind == hclEnd && end != hclEnd:
			p.fail(p.token, b.kind, fmt.Sprintf("block of line %d does not end", b.line), "close it with }")
			return
		case p.token.kind == hclEnd || end == hclSymbol && p.is("}"):
			return
		case p.token.kind == hclIdent || p.token.kind == hclQuoted:
			p.statement(b)
		default:
			p.unexpected("write name = value, or name { … }")
			return
		}
	}
}

func (p *hclParser) unexpected(remedy string) {
	text := p.token.text
	if p.token.kind == hclNewline {
		text = "the end of the line"
	}
	p.fail(p.token, "", fmt.Sprintf("is not HCL: %q stands where it cannot", text), remedy)
}

// statement reads one attribute or block.
func (p *hclParser) statement(b *hclBlock) {
	name := p.advance()
	if p.is("=") {
		p.advance()
		if first, twice := field(b.attrs, name.text); twice {
			p.fail(name, name.text, fmt.Sprintf("is written twice, first on line %d", first.line), "keep one of them")
			return
		}
		v := p.value(false)
		b.attrs = append(b.attrs, hclAttr{name.text, v, name.line, name.column})
		if p.token.kind != hclNewline && p.token.kind != hclEnd && !p.is("}") {
			p.unexpected("end the value with its line")
		}
		return
	}
	inner := &hclBlock{kind: name.text, line: name.line, column: name.column}
	for p.token.kind == hclQuoted || p.token.kind == hclTemplate || p.token.kind == hclIdent {
		inner.labels = append(inner.labels, p.advance().text)
	}
	if !p.is("{") {
		p.unexpected("write " + name.text + " = value, or " + name.text + " { … }")
		return
	}
	p.advance()
	p.body(inner, hclSymbol)
	p.advance() // the closing brace
	b.blocks = append(b.blocks, inner)
}

// value reads an expression. Inside of brackets a line may end anywhere; a comma or a closing
// bracket ends the value there, and in an object the end of a line does too.
func (p *hclParser) value(inList bool) hclValue {
	if p.depth++; p.depth > hclDepth {
		p.fail(p.token, "", "is nested too deeply", "flatten it")
	}
	defer func() { p.depth-- }()
	first := p.token
	v := p.primary()
	v.line, v.column = first.line, first.column
	if inList {
		p.newlines()
	}
	if p.ended() {
		return v
	}
	if next := p.token.kind; v.kind != hclDynamic && v.kind != hclCall && (next == hclIdent || next == hclDigits || next == hclQuoted) {
		p.unexpected("end each value with its line, or with a comma in a list")
	}
	end := p.skip(inList)
	return hclValue{kind: hclDynamic, text: strings.TrimSpace(string(p.src.data[first.start:max(end, first.start)])), line: first.line, column: first.column}
}

func (p *hclParser) ended() bool {
	return p.token.kind == hclNewline || p.token.kind == hclEnd || p.is(",") || p.is("]") || p.is("}") || p.is(")")
}

// skip passes over the rest of an expression and returns the byte it ends at.
func (p *hclParser) skip(inList bool) int {
	depth, end := 0, p.token.start
	for p.token.kind != hclEnd {
		if depth == 0 && p.ended() && !(inList && p.token.kind == hclNewline) {
			break
		}
		switch {
		case p.is("(") || p.is("[") || p.is("{"):
			depth++
		case p.is(")") || p.is("]") || p.is("}"):
			depth--
		}
		end = p.token.end
		p.advance()
	}
	return end
}

// primary reads the part of an expression that may be all of it.
func (p *hclParser) primary() hclValue {
	switch t := p.token; {
	case t.kind == hclQuoted:
		p.advance()
		return hclValue{kind: hclText, text: t.text}
	case t.kind == hclTemplate:
		p.advance()
		return hclValue{kind: hclDynamic, text: t.text, quoted: true}
	case t.kind == hclDigits:
		p.advance()
		return hclValue{kind: hclNumber, text: t.text}
	case p.is("-"):
		p.advance()
		if p.token.kind == hclDigits {
			return hclValue{kind: hclNumber, text: "-" + p.advance().text}
		}
		return hclValue{kind: hclDynamic, text: "-"}
	case p.is("["):
		return p.list("]")
	case p.is("{"):
		return p.object()
	case t.kind == hclIdent:
		return p.word()
	case p.ended():
		p.unexpected("write a value")
	}
	// An operator or a parenthesis: an expression, which value skips. An empty one cannot be.
	return hclValue{kind: hclDynamic, text: p.token.text}
}

// word reads true, false, null, a call, or the begin of a reference.
func (p *hclParser) word() hclValue {
	t := p.advance()
	switch {
	case t.text == "true" || t.text == "false":
		return hclValue{kind: hclBool, text: t.text}
	case t.text == "null":
		return hclValue{kind: hclNull}
	case p.is("("):
		args := p.list(")")
		if args.kind == hclDynamic {
			return args
		}
		return hclValue{kind: hclCall, text: t.text, items: args.items}
	}
	return hclValue{kind: hclDynamic, text: t.text}
}

// list reads values up to a closing bracket; one that is made by a for is dynamic.
func (p *hclParser) list(closing string) hclValue {
	p.advance()
	v := hclValue{kind: hclList}
	for p.newlines(); p.token.kind != hclEnd && !p.is(closing); p.newlines() {
		if len(v.items) == 0 && p.token.kind == hclIdent && p.token.text == "for" {
			p.comprehension()
			v.kind, v.text = hclDynamic, "for"
			break
		}
		v.items = append(v.items, p.value(true))
		if p.newlines(); p.is(",") {
			p.advance()
		} else if !p.is(closing) {
			p.unexpected("separate the values by commas, and end them with " + closing)
		}
	}
	p.close(closing)
	return v
}

// object reads key = value or key: value, separated by commas or ends of lines.
func (p *hclParser) object() hclValue {
	p.advance()
	v := hclValue{kind: hclObject}
	for p.newlines(); p.token.kind != hclEnd && !p.is("}"); p.newlines() {
		if len(v.fields) == 0 && p.token.kind == hclIdent && p.token.text == "for" {
			p.comprehension()
			v.kind, v.text = hclDynamic, "for"
			break
		}
		name := p.token
		if p.is("(") || p.token.kind == hclTemplate { // A key that is worked out is nobody's we look for.
			p.skipKey()
		} else if name.kind == hclIdent || name.kind == hclQuoted || name.kind == hclDigits {
			p.advance()
		} else {
			p.unexpected("write name = value")
		}
		if !p.is("=") && !p.is(":") {
			p.unexpected("write name = value")
			break
		}
		p.advance()
		v.fields = append(v.fields, hclAttr{name.text, p.value(false), name.line, name.column})
		if p.is(",") {
			p.advance()
		} else if p.token.kind != hclNewline && !p.is("}") {
			p.unexpected("separate the fields by commas or lines, and end them with }")
		}
	}
	p.close("}")
	return v
}

// comprehension passes over a for up to the bracket that closes it: for k, v in map : {…}. Its
// commas, colons and lines end nothing.
func (p *hclParser) comprehension() {
	for depth := 0; p.token.kind != hclEnd; p.advance() {
		switch {
		case p.is("(") || p.is("[") || p.is("{"):
			depth++
		case depth == 0 && (p.is(")") || p.is("]") || p.is("}")):
			return
		case p.is(")") || p.is("]") || p.is("}"):
			depth--
		}
	}
}

func (p *hclParser) skipKey() {
	depth := 0
	for p.token.kind != hclEnd && (depth > 0 || !p.is("=") && !p.is(":")) {
		switch {
		case p.is("("):
			depth++
		case p.is(")"):
			depth--
		}
		p.advance()
	}
}

func (p *hclParser) close(closing string) {
	if !p.is(closing) {
		p.fail(p.token, "", "the file ends before "+closing, "close what was opened")
		return
	}
	p.advance()
}
