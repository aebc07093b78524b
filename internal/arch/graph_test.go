package arch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// graph says what each package of ours imports: names of ours, of modules of others and of
// the standard library, as packages.short writes them. Tests do not count: they may join
// packages that must not know each other.
type graph map[string][]string

func newGraph(all packages) graph {
	g := graph{}
	for path, p := range all {
		if !ours(path) {
			continue
		}
		var to []string
		for _, i := range p.Imports {
			to = append(to, all.short(i))
		}
		slices.Sort(to)
		g[all.short(path)] = slices.Compact(to)
	}
	return g
}

// chain returns how from reaches a name that to accepts, through packages of ours, as short
// as possible; or nothing.
func (g graph) chain(from string, to func(string) bool) []string {
	before := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		for _, next := range g[queue[0]] {
			if _, seen := before[next]; seen {
				continue
			}
			before[next] = queue[0]
			if to(next) {
				var way []string
				for at := next; at != ""; at = before[at] {
					way = append(way, at)
				}
				slices.Reverse(way)
				return way
			}
			queue = append(queue, next)
		}
	}
	return nil
}

// row is what one package imports, exactly.
type row struct {
	pkg    string
	ours   []string // packages of ours
	others []string // modules of others
	why    string   // said to whoever wants more
	any    bool     // a command: imports what it likes
	future bool     // not written yet: the row is a plan, and may not be exact
}

// edges compares the table with the code.
func (g graph) edges(table []row) (complaints []string) {
	complain := func(format string, args ...any) {
		complaints = append(complaints, fmt.Sprintf(format, args...))
	}
	rows := map[string]row{}
	for _, r := range table {
		if _, twice := rows[r.pkg]; twice {
			complain("%s has two rows", r.pkg)
		}
		rows[r.pkg] = r
		_, exists := g[r.pkg]
		switch {
		case !exists && !r.future:
			complain("%s does not exist any more: remove its row, or mark it as future", r.pkg)
		case exists && r.future:
			complain("%s exists now: make its row exact and remove the mark", r.pkg)
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(g)) {
		r, known := rows[pkg]
		if !known {
			complain("%s has no row: say what it may import, and why no more", pkg)
		}
		if !known || r.any || r.future {
			continue
		}
		want := append(slices.Clone(r.ours), r.others...)
		var got []string
		for _, to := range g[pkg] {
			if _, own := g[to]; own || strings.Contains(to, ".") { // a module's path begins with a host
				got = append(got, to)
			}
		}
		for _, to := range got {
			if !slices.Contains(want, to) {
				complain("%s imports %s: %s", pkg, to, r.why)
			}
		}
		for _, to := range want {
			if !slices.Contains(got, to) {
				complain("%s does not import %s any more: remove it from its row", pkg, to)
			}
		}
	}
	return complaints
}

// rule is something that must never be reached, not even by way of others. Names end in /...
// for a package and all below it; "..." alone is everything of ours.
type rule struct {
	from   []string
	except []string
	to     []string
	direct bool // only its own imports; the standard library is reached by everybody through fmt
	why    string
}

// broken lists what breaks the rules, and rules that can no longer be broken because what
// they name is gone.
func (g graph) broken(rules []rule, known func(name string) bool) (complaints []string) {
	for _, r := range rules {
		for _, name := range slices.Concat(r.from, r.except, r.to) {
			if name != "..." && !known(name) {
				complaints = append(complaints, fmt.Sprintf("the rule %q names %s, which does not exist", r.why, name))
			}
		}
		for _, pkg := range slices.Sorted(maps.Keys(g)) {
			if !match(r.from, pkg) || match(r.except, pkg) {
				continue
			}
			reached := g
			if r.direct {
				reached = graph{pkg: g[pkg]}
			}
			way := reached.chain(pkg, func(to string) bool { return match(r.to, to) })
			if way != nil {
				complaints = append(complaints, strings.Join(way, " imports ")+": "+r.why)
			}
		}
	}
	return complaints
}

func match(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		root, below := strings.CutSuffix(p, "/...")
		return p == "..." || name == p || below && (name == root || strings.HasPrefix(name, root+"/"))
	})
}
