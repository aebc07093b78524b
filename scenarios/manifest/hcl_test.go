package manifest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What stands between ${ and } is an expression, with strings that have their own escapes and
// interpolations (HCL Native Syntax Specification, "Template Expressions", "Numeric Literals").
func TestStringsAndNumbersOfHCLThatNobodyNeedsDoNoHarm(t *testing.T) {
	for name, value := range map[string]string{
		"a quote":                    `"${replace(var.x, "\"", "")}"`,
		"a quote and a brace":        `"a ${replace(var.x, "\"}", "{")} b"`,
		"a backslash at the end":     `"${replace(var.x, "\\", "/")}"`,
		"a string within a string":   `"${"${"${"\"}"}"}"}"`,
		"an object":                  `"${jsonencode({ a = "}" , b = { c = "\"" } })}"`,
		"several lines":              "\"${\n  var.x\n  }:${\n\n  var.tag # }\n  }\"",
		"comments":                   "\"${ /* \" } */ var.x }\"",
		"a directive":                `"%{ if var.x == "\"" }a%{ else }b %{ endif }"`,
		"blanks that are cut":        `"${~ var.x ~}"`,
		"an escape":                  `"$${ %%{ $$${ %%%{ $ % { } "`,
		"an escape that is opened":   `"$${${var.x}}"`,
		"a dollar before an opening": `"$$ ${"a"}"`,
		"letters by number":          `"\u00e9 \U0001f600"`,
		"a heredoc":                  "\"${\n<<E\n}\nE\n}\"",
		"an exponent":                `1e3`,
		"a fraction":                 `1.5E-3`,
		"an exponent with a sign":    `[1E+3, -2e2]`,
		"a list, and what comes":     `"${[for s in ["a", "\""] : "${s}"][0]}"`,
	} {
		t.Run(name, func(t *testing.T) {
			w, err := Parse("w.tf", []byte("locals {\n  a = "+value+"\n}\nresource \"aws_ecs_task_definition\" \"t\" {\n  family = "+value+"\n  container_definitions = jsonencode([{ name = \"w\", image = "+value+", command = ["+value+", \"x\"], stopTimeout = 50 }])\n}\n"), "")
			require.NoError(t, err)
			assert.Equal(t, 50*time.Second, w.Grace)
			assert.Equal(t, 6+4*strings.Count(value, "\n"), w.GraceLine)
		})
	}
}

func TestStringsOfHCLMeanWhatTheySay(t *testing.T) {
	for written, want := range map[string]string{
		`"a\"b"`: `a"b`, `"$${a}"`: "${a}", `"%%{a}"`: "%{a}", `"$$${a}"`: "$${a}", `"$a %b"`: "$a %b", `"\u00e9"`: "é", `"\U0001f600\\"`: "😀\\",
	} {
		root, err := (&source{data: []byte("a = " + written + "\n")}).hcl()
		require.NoError(t, err, written)
		v, _ := root.attr("a")
		assert.Equal(t, hclText, v.kind, written)
		assert.Equal(t, want, v.text, written)
	}
}

func TestANumberMayHaveAnExponent(t *testing.T) {
	const text = "resource \"aws_ecs_task_definition\" \"t\" {\n  container_definitions = jsonencode([{ name = \"w\", stopTimeout = 9e1 }])\n}\nresource \"aws_ecs_service\" \"w\" {\n  task_definition = aws_ecs_task_definition.t.arn\n  desired_count = 40e-1\n}\n"
	w, err := Parse("w.tf", []byte(text), "")
	require.NoError(t, err)
	assert.Equal(t, 90*time.Second, w.Grace)
	assert.Equal(t, 4, w.Replicas)
	assertRefused(t, "w.tf", strings.Replace(text, "40e-1", "45e-1", 1), 6, 19, "desired_count is not a whole number; write a number such as 1")
	assertRefused(t, "w.tf", strings.Replace(text, "9e1", "9e99", 1), 2, 67, "stopTimeout 9e99 is not a whole number of seconds; write a number such as 30")
}

// An interpolation that is escaped is text, and beside one that is not the two cannot be told
// apart any more.
func TestAnEscapedInterpolationIsNotFilledIn(t *testing.T) {
	assertRefused(t, "w.nomad", "variable \"n\" { default = 3 }\njob \"j\" {\n  group \"g\" {\n    task \"w\" {\n      kill_timeout = \"$${var.n}${var.n}s\"\n    }\n  }\n}\n", 5, 22,
		"kill_timeout is an expression, $${var.n}${var.n}s; let Nomad work it out and name the result: nomad job run -output job.nomad > job.json")
}

func TestStringsOfHCLThatDoNotEnd(t *testing.T) {
	for written, says := range map[string]string{
		`"${a`:                         "is a string whose ${ does not end; close it",
		`"${a("b}"` + "\n" + `)`:       "is a string whose ${ does not end; close it",
		`"${"a`:                        "is a string that does not end; close it",
		"\"a\nb\"":                     "is a string that does not end on its line; close it",
		strings.Repeat(`"${`, 100_000): "is a string with too many others in it; flatten it",
	} {
		_, err := (&source{data: []byte("a = " + written)}).hcl()
		var e *Error
		require.ErrorAs(t, err, &e, written)
		assert.Equal(t, says, e.Problem+"; "+e.Remedy)
		assert.Equal(t, [2]int{1, 5}, [2]int{e.Line, e.Column})
	}
}

// The interpolations of a heredoc of JSON stand between its quotes or in place of a number.
func TestContainersInJSONMayHoldInterpolationsWithQuotes(t *testing.T) {
	for _, image := range []string{`"${replace(var.x, "\"", "")}"`, `${jsonencode(replace(var.x, "}", "\""))}`, `"a ${"${"b"}"}"`, "\"${\nvar.x\n}\"", `"$${A}"`, `"\\"`} {
		w, err := Parse("w.tf", []byte("resource \"aws_ecs_task_definition\" \"w\" {\n  container_definitions = <<JSON\n[{\"name\": \"w\", \"image\": "+image+",\n   \"stopTimeout\": 50}]\nJSON\n}\n"), "")
		require.NoError(t, err, image)
		assert.Equal(t, 50*time.Second, w.Grace, image)
		assert.Equal(t, 4+strings.Count(image, "\n"), w.GraceLine, image)
	}
}
