package scenarios

import (
	"reflect"
	"strconv"
	"strings"
)

// key is one row of the table of keys: the struct tags in grammar.go. The decoder and the
// schema both read nothing else, so they cannot disagree.
type key struct {
	name     string
	about    string
	def      string // what is decoded when the key is not written; empty for none
	derived  string // the default in words, where it depends on other keys
	required bool   // within its mapping, once that is written
	positive bool   // zero makes no sense
	shortest string // the least that can be simulated in reasonable time; empty for no limit
	least    int    // of counts
	most     int    // of counts; 0 is no limit
	choices  []string
	field    []int // of the struct
}

// value is a Go type that one YAML value is decoded into.
type value interface {
	read(r *reader, k key, p place)
	schema(k key) object
}

// keysOf lists the keys of a mapping, in the order they are documented.
func keysOf(mapping reflect.Type) []key {
	var keys []key
	for i := range mapping.NumField() {
		f := mapping.Field(i)
		if f.Anonymous && f.Type != reflect.TypeFor[place]() {
			for _, k := range keysOf(f.Type) {
				k.field = append([]int{i}, k.field...)
				keys = append(keys, k)
			}
			continue
		}
		name, ok := f.Tag.Lookup("key")
		if !ok {
			continue
		}
		keys = append(keys, key{
			name: name, about: f.Tag.Get("about"), def: f.Tag.Get("default"), derived: f.Tag.Get("derived"),
			required: has(f, "required"), positive: has(f, "positive"), shortest: f.Tag.Get("shortest"), least: number(f, "least"), most: number(f, "most"),
			choices: strings.FieldsFunc(f.Tag.Get("choices"), func(r rune) bool { return r == '|' }), field: []int{i},
		})
	}
	return keys
}

func names(keys []key) []string {
	list := make([]string, len(keys))
	for i, k := range keys {
		list[i] = k.name
	}
	return list
}

func has(f reflect.StructField, tag string) bool {
	_, ok := f.Tag.Lookup(tag)
	return ok
}

func number(f reflect.StructField, tag string) int {
	n, _ := strconv.Atoi(f.Tag.Get(tag)) // A missing tag is zero.
	return n
}
