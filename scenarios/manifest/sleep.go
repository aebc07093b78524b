package manifest

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// commandSleep tells for how long a preStop command sleeps, if its words show it: `sleep 60`
// itself, or a shell that is handed a script with a sleep in it. AtLeast means that the
// command does something else too. Commands joined by && are taken to succeed.
func commandSleep(words []string) (d time.Duration, known, atLeast bool) {
	if len(words) == 0 {
		return 0, false, false
	}
	if path.Base(words[0]) == "sleep" {
		d, known = sleepArguments(words[1:])
		return d, known, false
	}
	_, text, ok := shellScript(words)
	if !ok {
		return 0, false, false
	}
	s := &script{tokens: tokenize(text)}
	d = s.list(0)
	return d, d > 0, d > 0 && s.other
}

// shellScript finds the script that a shell is handed.
func shellScript(words []string) (shell, text string, ok bool) {
	shells := []string{"sh", "bash", "dash", "ash", "zsh", "ksh"}
	if len(words) < 3 || !slices.Contains(shells, path.Base(words[0])) {
		return "", "", false
	}
	// The script follows the last group of flags, which ends in c: -c, -ec, -lc.
	flag := slices.IndexFunc(words, func(word string) bool {
		return strings.HasPrefix(word, "-") && strings.HasSuffix(word, "c")
	})
	if flag < 0 || flag+1 >= len(words) {
		return "", "", false
	}
	return path.Base(words[0]), words[flag+1], true
}

// sleepArguments adds up the operands, as sleep does: 60, 1.5, 1m 30s.
func sleepArguments(words []string) (time.Duration, bool) {
	var total time.Duration
	for _, word := range words {
		unit := time.Second
		switch {
		case strings.HasSuffix(word, "s"):
		case strings.HasSuffix(word, "m"):
			unit = time.Minute
		case strings.HasSuffix(word, "h"):
			unit = time.Hour
		case strings.HasSuffix(word, "d"):
			unit = 24 * time.Hour
		}
		n, err := strconv.ParseFloat(strings.TrimRight(word, "smhd"), 64)
		// Ten years bound the sum well inside a Duration, and keep out NaN and infinity.
		if err != nil || !(n >= 0 && n*unit.Hours() <= 10*365*24) || total > 10*365*24*time.Hour {
			return 0, false
		}
		total += time.Duration(n * float64(unit))
	}
	return total, len(words) > 0
}

// script is a parser for the part of the shell whose course can be foretold: commands one after
// another, and groups of them. It adds up the sleeps that are certain to run, and stops counting
// at the first loop, condition or exit.
type script struct {
	tokens  []token
	stopped bool
	other   bool // something besides sleeps was seen
}

// maxNesting is far above what people write; it keeps hostile input off the stack.
const maxNesting = 20

// list is commands up to a closing bracket or the end.
func (s *script) list(depth int) time.Duration {
	var total time.Duration
	for {
		d := s.andOr(depth)
		if s.stopped || s.at(")") || len(s.tokens) == 0 {
			return total + d
		}
		if s.at("&") {
			s.other = true // it runs in the background: the script does not wait for it
			d = 0
		}
		total += d
		s.tokens = s.tokens[1:]
	}
}

// andOr is pipelines joined by && and ||. What follows a || is not certain to run.
func (s *script) andOr(depth int) time.Duration {
	total := s.pipeline(depth)
	certain := true
	for !s.stopped && (s.at("&&") || s.at("||")) {
		certain = certain && s.at("&&")
		s.tokens = s.tokens[1:]
		if d := s.pipeline(depth); certain {
			total += d
		} else {
			s.other = true
		}
	}
	return total
}

// pipeline is one command, or several joined by |, whose sleeps are not counted.
func (s *script) pipeline(depth int) time.Duration {
	d := s.command(depth)
	for !s.stopped && s.at("|") {
		s.tokens = s.tokens[1:]
		s.command(depth)
		s.other = true
		d = 0
	}
	return d
}

func (s *script) command(depth int) time.Duration {
	if s.at("(") {
		return s.group(depth)
	}
	words := s.words()
	if len(words) > 1 && words[0] == "exec" {
		words = words[1:]
		s.stopped = true // the shell becomes that command; nothing follows
	}
	switch {
	case len(words) == 0:
		return 0
	case slices.Contains(unforeseeable, words[0]):
		s.stopped, s.other = true, true
		return 0
	case path.Base(words[0]) == "sleep":
		if d, ok := sleepArguments(words[1:]); ok {
			return d
		}
	}
	s.other = true
	return 0
}

// unforeseeable are the words after which a script may go anywhere, or nowhere.
var unforeseeable = []string{"while", "until", "for", "if", "case", "select", "function", "{", "exit", "return"}

// group is a list in brackets. One that is left early counts nothing: whether it runs in the
// background shows only at its end.
func (s *script) group(depth int) time.Duration {
	s.tokens = s.tokens[1:]
	if depth == maxNesting {
		s.stopped = true
		return 0
	}
	d := s.list(depth + 1)
	if s.stopped || !s.at(")") {
		s.stopped, s.other = true, true
		return 0
	}
	s.tokens = s.tokens[1:]
	s.words() // redirections
	return d
}

// words takes the words of one command, redirections left out.
func (s *script) words() []string {
	var words []string
	for len(s.tokens) > 0 && !s.tokens[0].operator {
		word := s.tokens[0].text
		s.tokens = s.tokens[1:]
		if i := strings.IndexAny(word, "<>"); i >= 0 && strings.Trim(word[:i], "0123456789&") == "" {
			if strings.Trim(word[i:], "<>&") == "" && len(s.tokens) > 0 && !s.tokens[0].operator {
				s.tokens = s.tokens[1:] // the file, in a word of its own
			}
			continue
		}
		words = append(words, word)
	}
	return words
}

func (s *script) at(operator string) bool {
	return len(s.tokens) > 0 && s.tokens[0] == token{operator, true}
}
