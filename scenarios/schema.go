package scenarios

import (
	"encoding/json"
	"fmt"
	"reflect"

	"go.yaml.in/yaml/v3"
)

// object is a JSON object; encoding/json sorts its keys, so that the schema is always the same
// text.
type object = map[string]any

// Schema returns the JSON Schema (2020-12) of a scenario, made from the table that also drives
// the decoder. It describes form, not which values go together: [Parse] refuses more.
func Schema() []byte {
	s := mappingSchema(reflect.TypeFor[document]())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "quiesce scenario"
	s["$defs"] = object{
		"duration": object{
			"description": "a length of time as Go writes it, with d for days",
			"anyOf":       []any{object{"type": "string", "pattern": "^(0|(" + schemaDuration + ")+)$"}, object{"const": 0}},
		},
		"chance": object{
			"description": "a probability: 5%, 0.01% or 0.05",
			"anyOf":       []any{object{"type": "string", "pattern": `^[0-9]*\.?[0-9]*%?$`}, object{"type": "number", "minimum": 0, "maximum": 1}},
		},
		"distribution": object{
			"description": "a duration, always the same or after a law",
			"anyOf":       []any{object{"$ref": "#/$defs/duration"}, mappingSchema(reflect.TypeFor[lognormalKeys]()), oneKey(reflect.TypeFor[laws]())},
		},
		"arrivals": object{
			"description": "when jobs come: a rate, an interval, or the law of the gaps",
			"anyOf":       []any{mappingSchema(reflect.TypeFor[lognormalKeys]()), oneKey(reflect.TypeFor[arrivalLaws]())},
		},
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic("scenarios: the schema is no JSON: " + err.Error())
	}
	return append(text, '\n')
}

// mappingSchema describes a mapping by its table of keys.
func mappingSchema(mapping reflect.Type) object {
	properties, required := object{}, []string{}
	for _, k := range keysOf(mapping) {
		properties[k.name] = keySchema(mapping.FieldByIndex(k.field).Type, k)
		if k.required {
			required = append(required, k.name)
		}
	}
	s := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func keySchema(t reflect.Type, k key) object {
	var s object
	if leaf, ok := reflect.New(t).Interface().(value); ok {
		s = leaf.schema(k)
	} else {
		s = mappingSchema(t)
	}
	s["description"] = k.about
	if k.derived != "" {
		s["description"] = fmt.Sprintf("%s (default: %s)", k.about, k.derived)
	}
	if k.def != "" {
		var v any
		if err := yaml.Unmarshal([]byte(k.def), &v); err != nil {
			panic(fmt.Sprintf("scenarios: the table has the default %q, which is not YAML: %v", k.def, err))
		}
		s["default"] = v
	}
	return s
}

// oneKey describes a mapping of alternatives.
func oneKey(mapping reflect.Type) object {
	s := mappingSchema(mapping)
	s["minProperties"], s["maxProperties"] = 1, 1
	return s
}

func (*jobsKeys) schema(key) object {
	return object{"anyOf": []any{
		mappingSchema(reflect.TypeFor[traceKeys]()),
		object{
			"type": "object", "minProperties": 1, "maxProperties": maxKinds,
			"propertyNames":        object{"not": object{"const": "trace"}},
			"additionalProperties": mappingSchema(reflect.TypeFor[kindKeys]()),
		},
	}}
}
