package manifest

import (
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
	low.Content = make([]*yaml.Node, len(node.Content))
	for i, item := range node.Content {
		low.Content[i] = s.lowered(item)
		if node.Kind == yaml.MappingNode && i%2 == 0 && !isIntrinsic(node) {
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
	if strings.HasPrefix(node.Tag, "!") && !strings.HasPrefix(node.Tag, "!!") {
		return true
	}
	if node.Kind != yaml.MappingNode || len(node.Content) != 2 {
		return false
	}
	key := node.Content[0].Value
	return key == "Ref" || strings.HasPrefix(key, "Fn::")
}

// refersTo is the name behind !Ref NAME and {"Ref": "NAME"}, or empty.
func refersTo(node *yaml.Node) string {
	switch {
	case node.Tag == "!Ref":
		return node.Value
	case isIntrinsic(node) && node.Kind == yaml.MappingNode && node.Content[0].Value == "Ref":
		return node.Content[1].Value
	}
	return ""
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
