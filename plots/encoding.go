package plots

import "strings"

// beyondLatin are the letters of Windows-1252 that are not those of Latin-1 and that people
// write.
var beyondLatin = map[rune]byte{
	'€': 0x80, '…': 0x85, '‘': 0x91, '’': 0x92, '“': 0x93, '”': 0x94, '•': 0x95, '–': 0x96, '—': 0x97, '™': 0x99,
	'−': '-', 'μ': 0xb5,
}

// windows1252 encodes text as fonts in a PDF want it. What that has no letter for becomes a
// question mark.
func windows1252(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch c, ok := beyondLatin[r]; {
		case ok:
			b.WriteByte(c)
		case r < 0x80 || r >= 0xa0 && r <= 0xff:
			b.WriteByte(byte(r))
		default:
			b.WriteByte('?')
		}
	}
	return b.String()
}
