package scenarios

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// validator checks the part of JSON Schema that the schema uses, and remembers which
// properties it has come across.
type validator struct {
	schema object
	all    map[string]bool // by place in the schema; true once seen
}

func newValidator(t *testing.T) *validator {
	v := &validator{all: map[string]bool{}}
	require.NoError(t, json.Unmarshal(Schema(), &v.schema))
	v.list(v.schema, "#")
	return v
}

// list gives every property an entry, and every schema its own place.
func (v *validator) list(schema any, at string) {
	switch s := schema.(type) {
	case object:
		isProperties := strings.HasSuffix(at, "/properties")
		for name, inner := range s {
			if isProperties {
				v.all[at+"/"+name] = false
			}
			if name != "default" {
				v.list(inner, at+"/"+name)
			}
		}
		if !isProperties {
			s["$place"] = at
		}
	case []any:
		for i, inner := range s {
			v.list(inner, fmt.Sprintf("%s/%d", at, i))
		}
	}
}

func (v *validator) unseen() []string {
	var list []string
	for at, seen := range v.all {
		if !seen {
			list = append(list, at)
		}
	}
	slices.Sort(list)
	return list
}

// check returns what is wrong with a value, or nothing.
func (v *validator) check(s object, value any, at string) []string {
	var wrong []string
	refuse := func(bad bool, keyword string) {
		if bad {
			wrong = append(wrong, fmt.Sprintf("%s: %v breaks %s %v", at, value, keyword, s[keyword]))
		}
	}
	for keyword, want := range s {
		switch keyword {
		case "$ref":
			name := strings.TrimPrefix(want.(string), "#/$defs/")
			wrong = append(wrong, v.check(v.schema["$defs"].(object)[name].(object), value, at)...)
		case "anyOf":
			refuse(!slices.ContainsFunc(want.([]any), func(o any) bool { return len(v.check(o.(object), value, at)) == 0 }), keyword)
		case "not":
			refuse(len(v.check(want.(object), value, at)) == 0, keyword)
		case "type":
			refuse(!isType(value, want.(string)), keyword)
		case "const":
			refuse(fmt.Sprint(value) != fmt.Sprint(want), keyword)
		case "enum":
			refuse(!slices.Contains(want.([]any), value), keyword)
		case "pattern":
			text, ok := value.(string)
			refuse(ok && !regexp.MustCompile(want.(string)).MatchString(text), keyword)
		case "minLength":
			text, ok := value.(string)
			refuse(ok && len(text) < int(want.(float64)), keyword)
		case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
			n, ok := asNumber(value)
			limit := want.(float64)
			refuse(ok && (keyword == "minimum" && n < limit || keyword == "maximum" && n > limit ||
				keyword == "exclusiveMinimum" && n <= limit || keyword == "exclusiveMaximum" && n >= limit), keyword)
		case "minItems", "uniqueItems":
			list, ok := value.([]any)
			refuse(ok && keyword == "minItems" && len(list) < int(want.(float64)), keyword)
		case "items":
			list, _ := value.([]any)
			for i, item := range list {
				wrong = append(wrong, v.check(want.(object), item, fmt.Sprintf("%s[%d]", at, i))...)
			}
		case "properties", "additionalProperties", "required", "minProperties", "maxProperties", "propertyNames":
			if m, ok := value.(map[string]any); ok {
				wrong = append(wrong, v.checkMapping(s, keyword, m, at)...)
			}
		case "$schema", "$defs", "$place", "title", "description", "default":
		default:
			wrong = append(wrong, "the schema uses "+keyword+", which this test does not know")
		}
	}
	return wrong
}

func (v *validator) checkMapping(s object, keyword string, m map[string]any, at string) []string {
	var wrong []string
	properties, _ := s["properties"].(object)
	switch keyword {
	case "properties":
		for name, value := range m {
			if p, ok := properties[name].(object); ok {
				bad := v.check(p, value, at+"."+name)
				if len(bad) == 0 {
					v.all[p["$place"].(string)] = true
				}
				wrong = append(wrong, bad...)
			}
		}
	case "additionalProperties":
		for name, value := range m {
			if _, ok := properties[name]; ok {
				continue
			}
			switch inner := s[keyword].(type) {
			case object:
				wrong = append(wrong, v.check(inner, value, at+"."+name)...)
			case bool:
				if !inner {
					wrong = append(wrong, at+": "+name+" is not a property")
				}
			}
		}
	case "required":
		for _, name := range s[keyword].([]any) {
			if _, ok := m[name.(string)]; !ok {
				wrong = append(wrong, fmt.Sprintf("%s: %v is missing", at, name))
			}
		}
	case "propertyNames":
		for name := range m {
			wrong = append(wrong, v.check(s[keyword].(object), name, at)...)
		}
	case "minProperties", "maxProperties":
		if n, limit := len(m), int(s[keyword].(float64)); keyword == "minProperties" && n < limit || keyword == "maxProperties" && n > limit {
			wrong = append(wrong, fmt.Sprintf("%s: %d properties break %s %d", at, n, keyword, limit))
		}
	}
	return wrong
}

func isType(value any, want string) bool {
	switch value := value.(type) {
	case string:
		return want == "string"
	case bool:
		return want == "boolean"
	case int:
		return want == "integer" || want == "number"
	case float64:
		return want == "number" || want == "integer" && value == float64(int(value))
	case []any:
		return want == "array"
	case map[string]any:
		return want == "object"
	}
	return false
}

func asNumber(value any) (float64, bool) {
	switch value := value.(type) {
	case int:
		return float64(value), true
	case float64:
		return value, true
	}
	return 0, false
}
