package manifest

import "slices"

// Handover is what becomes of the shell that a process is started by. Signals are sent to the
// first process alone, and a shell that waits for its child passes none on.
type Handover uint8

const (
	NoShell   Handover = iota // there is none, or it becomes its last command, or it traps signals
	UpToShell                 // the last command is a plain one: some shells become it, some wait for it
	Stays                     // every shell waits
)

// Handover judges the process by its command. A shell that runs a file is not judged.
//
// Measured with `sh -c` and a look at what the process is then: bash 5.2 becomes the last plain
// command of a list, before 5.1 only a command that stands alone; dash 0.5.12, which is sh on
// Debian and Ubuntu, waits for any. All wait for a pipeline, a loop, a condition.
func (p *Process) Handover() Handover {
	shell, text, ok := shellScript(p.Command)
	if !ok {
		return NoShell
	}
	s := commandsOf(tokenize(text))
	switch {
	case len(s.commands) == 0, s.begins("trap"):
		return NoShell
	case s.piped:
		return Stays // An exec replaces the shell of its part of the pipeline alone.
	case s.begins("exec"):
		return NoShell
	case s.background, s.begins("while", "until", "for"), len(s.commands) > 1 && s.endsWith("wait", "exit", "echo", "printf", "true", ":"):
		return Stays
	case shell == "dash":
		return Stays
	case s.begins("if", "case", "select", "{", "function"), s.grouped:
		return UpToShell
	case shell == "bash" && len(s.commands) == 1:
		return NoShell
	}
	return UpToShell
}

// course is a script as a list of commands, with what joins them as far as it matters.
type course struct {
	commands   [][]string
	piped      bool // the last of them
	background bool // any of them
	grouped    bool
}

func commandsOf(tokens []token) course {
	var (
		c    course
		open bool
	)
	for _, t := range tokens {
		switch {
		case !t.operator && open:
			last := len(c.commands) - 1
			c.commands[last] = append(c.commands[last], t.text)
		case !t.operator:
			c.commands = append(c.commands, []string{t.text})
			open = true
		default:
			open = false
			c.background = c.background || t.text == "&"
			c.grouped = c.grouped || t.text == "("
			c.piped = t.text == "|" || c.piped && t.text == ")"
		}
	}
	return c
}

// begins reports whether a command begins with one of the words, also after the word that opens
// a part of a condition or a loop.
func (c *course) begins(words ...string) bool {
	return slices.ContainsFunc(c.commands, func(command []string) bool {
		for len(command) > 1 && slices.Contains([]string{"then", "do", "else", "{", "!"}, command[0]) {
			command = command[1:]
		}
		return slices.Contains(words, command[0])
	})
}

func (c *course) endsWith(words ...string) bool {
	return slices.Contains(words, c.commands[len(c.commands)-1][0])
}
