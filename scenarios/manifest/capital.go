package manifest

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// CloudFormation, the CDK, PowerShell and programs in Go write the keys of ECS with a capital:
// StopTimeout. Such a file is read with its keys as the API writes them, and shown as it is.

// capitalKeys are those that tell such a file.
var capitalKeys = []string{"ContainerDefinitions", "DeploymentConfiguration", "TaskDefinition"}

// uncapitalized is a file with the keys of ECS as the API writes them; one that has them so is
// left alone.
func (s *source) uncapitalized(root *yaml.Node) *yaml.Node {
	r := &reader{src: &source{file: s.file}}
	first := root
	if root.Kind == yaml.SequenceNode && len(root.Content) > 0 {
		first = resolve(root.Content[0])
		if r.child(first, "Image") == nil || r.child(first, "Name") == nil {
			return root
		}
		s.capital = true
	}
	for _, key := range capitalKeys {
		s.capital = s.capital || r.child(first, key) != nil
	}
	if !s.capital {
		return root
	}
	return s.lowered(root)
}

// lowered copies a node with the first letters of its keys small, but for what CloudFormation
// works out. Aliases stay: CloudFormation has none, and copies of copies could grow without end.
func (s *source) lowered(node *yaml.Node) *yaml.Node {
	if value, name := s.parameter(node); value != nil {
		known := *value
		known.Line, known.Column = node.Line, node.Column
		s.defaults[&known] = name
		return &known
	}
	low := *node
	if isIntrinsic(node) {
		return &low
	}
	low.Content = make([]*yaml.Node, len(node.Content))
	for i, item := range node.Content {
		low.Content[i] = s.lowered(item)
		if node.Kind == yaml.MappingNode && i%2 == 0 {
			low.Content[i].Value = withFirst(unicode.ToLower, item.Value)
		}
	}
	return &low
}

func withFirst(change func(rune) rune, text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return text
	}
	return string(change(first)) + text[size:]
}

// asWritten is a key of the API as this file writes it.
func (s *source) asWritten(key string) string {
	if !s.capital {
		return key
	}
	return withFirst(unicode.ToUpper, key)
}

// isIntrinsic recognises what CloudFormation works out: !Ref X, {"Ref": "X"}, {"Fn::Sub": "…"}.
func isIntrinsic(node *yaml.Node) bool {
	function, _ := intrinsic(node)
	return function != ""
}

// intrinsic takes such a value apart: the function, such as Ref or Sub, and what it is given. The
// function is empty for any other value.
func intrinsic(node *yaml.Node) (function string, given *yaml.Node) {
	if strings.HasPrefix(node.Tag, "!") && !strings.HasPrefix(node.Tag, "!!") {
		return node.Tag[1:], node
	}
	if node.Kind != yaml.MappingNode || len(node.Content) != 2 {
		return "", nil
	}
	key, given := node.Content[0].Value, node.Content[1]
	if short, ok := strings.CutPrefix(key, "Fn::"); ok {
		return short, given
	}
	if key == "Ref" {
		return key, given
	}
	return "", nil
}

// substituted is what Fn::Sub puts a value in place of: ${Name} or ${Name.Attribute}, not ${!Text}.
var substituted = regexp.MustCompile(`\$\{\s*([A-Za-z0-9:]+)(\.[^}]*)?\s*\}`)

// refersTo is the name behind !Ref NAME, {"Ref": "NAME"} and !Sub "${NAME}", or empty.
func refersTo(node *yaml.Node) string {
	function, given := intrinsic(node)
	switch {
	case function == "Ref":
		return given.Value
	case function == "Sub":
		if m := substituted.FindStringSubmatch(given.Value); m != nil && m[0] == given.Value && m[2] == "" {
			return m[1]
		}
	}
	return ""
}

// mentioned is the names that a value refers to, by whatever function: people have a task
// definition by its name, by its attribute, out of a text, or where a condition holds.
func mentioned(node *yaml.Node) []string {
	function, given := intrinsic(node)
	switch {
	case function == "Ref":
		return []string{given.Value}
	case function == "GetAtt" && given.Kind == yaml.SequenceNode && len(given.Content) > 0:
		return []string{given.Content[0].Value}
	case function == "GetAtt":
		name, _, _ := strings.Cut(given.Value, ".")
		return []string{name}
	}
	var names []string
	if function == "Sub" {
		text := given.Value
		if given.Kind == yaml.SequenceNode && len(given.Content) > 0 {
			text = given.Content[0].Value // What stands behind it gives values to names of its own.
		}
		for _, m := range substituted.FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
	}
	for _, item := range node.Content {
		names = append(names, mentioned(item)...)
	}
	return names
}

// parameter is the default of the parameter that a node refers to, with its name; nil for none.
func (s *source) parameter(node *yaml.Node) (value *yaml.Node, name string) {
	if name = refersTo(node); name == "" {
		return nil, ""
	}
	r := &reader{src: &source{file: s.file}}
	value = r.child(r.child(s.parameters, name), "Default")
	if value == nil || value.Kind != yaml.ScalarNode {
		return nil, ""
	}
	return value, name
}
