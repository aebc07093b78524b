package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// What a pure package must not do. Each has a fixture under testdata/purity.
const (
	ruleImport    = "import"    // brings in the world
	ruleCall      = "call"      // asks or tells the world something
	ruleGoroutine = "goroutine" // starts one
	ruleChannel   = "channel"   // makes, uses or mentions one
	ruleMapOrder  = "map order" // depends on it
	ruleFloat     = "float"     // computes with one, or keeps one
	ruleGlobal    = "global"    // keeps state outside values
)

var why = map[string]string{
	ruleGoroutine: "the order in which goroutines run is not in the seed",
	ruleChannel:   "whoever drives the package decides what happens next; nothing waits inside",
	ruleMapOrder:  "the order of a map is random; keep a sorted slice beside it",
	ruleFloat:     "floats round differently between processors; keep integers, in nanoseconds or millionths",
	ruleGlobal:    "two worlds of one process must not meet; put it into a value",
}

// forbiddenImports covers the packages below each one too.
var forbiddenImports = map[string]string{
	"C":            "another compiler, another result",
	"context":      "a cancel is an effect; contexts are the driver's",
	"crypto/rand":  "random numbers are addressed by a seed",
	"hash/maphash": "its seed is random",
	"log":          "what is worth saying is a record or an effect",
	"math/rand":    "random numbers are addressed by a seed, so that one more draw does not shift the others",
	"net":          "what goes over a wire is an effect",
	"os":           "there is no environment; what is needed comes in as configuration",
	"plugin":       "what runs is what was compiled",
	"reflect":      "it iterates over maps in random order, and events are plain values",
	"runtime":      "results must not depend on the machine",
	"sync":         "one driver steps at a time; there is nothing to lock",
	"syscall":      "there is no system; what is needed comes in as configuration",
	"time":         "instants come in as arguments and lengths are integers",
	"unsafe":       "memory layout differs between machines",
}

// forbiddenCalls holds even where an exemption lets the package in, and for packages that
// are harmless otherwise.
var forbiddenCalls = map[string]string{
	"time.Now":       "it reads the clock",
	"time.Since":     "it reads the clock",
	"time.Until":     "it reads the clock",
	"time.Sleep":     "it waits; a deadline is data",
	"time.After":     "it arms a timer; a deadline is data",
	"time.AfterFunc": "it arms a timer; a deadline is data",
	"time.NewTimer":  "it arms a timer; a deadline is data",
	"time.NewTicker": "it arms a timer; a deadline is data",
	"time.Tick":      "it arms a timer; a deadline is data",
	"fmt.Print":      "it writes to the terminal",
	"fmt.Printf":     "it writes to the terminal",
	"fmt.Println":    "it writes to the terminal",
	"fmt.Scan":       "it reads the terminal",
	"fmt.Scanf":      "it reads the terminal",
	"fmt.Scanln":     "it reads the terminal",
	"maps.All":       "the order of a map is random",
	"maps.Keys":      "the order of a map is random",
	"maps.Values":    "the order of a map is random",
	"print":          "it writes to the terminal",
	"println":        "it writes to the terminal",
}

// violation is one impurity: where, which rule, and inside which declaration (a function, a
// method as Type.Method, a type, a variable; an import path for an import).
type violation struct {
	at   token.Position
	rule string
	in   string
	what string
}

func (v violation) String() string {
	if v.rule == ruleImport {
		return fmt.Sprintf("%s: imports %s: %s", v.at, v.in, v.what)
	}
	return fmt.Sprintf("%s: %s in %s: %s", v.at, v.rule, v.in, v.what)
}

// checker looks at one type-checked package.
type checker struct {
	fset  *token.FileSet
	pkg   *types.Package
	info  *types.Info
	in    string // declaration at hand
	found []violation
}

// check returns the violations in the order of the files, one per rule and line.
func check(fset *token.FileSet, pkg *types.Package, info *types.Info, files []*ast.File) []violation {
	c := &checker{fset: fset, pkg: pkg, info: info}
	for _, f := range files {
		for _, decl := range f.Decls {
			c.decl(decl)
		}
	}
	return c.found
}

func (c *checker) report(at token.Pos, rule, what string) {
	v := violation{c.fset.Position(at), rule, c.in, what}
	same := func(o violation) bool {
		return o.rule == rule && o.in == v.in && o.at.Filename == v.at.Filename && o.at.Line == v.at.Line
	}
	if !slices.ContainsFunc(c.found, same) {
		c.found = append(c.found, v)
	}
}

func (c *checker) decl(decl ast.Decl) {
	if f, ok := decl.(*ast.FuncDecl); ok {
		c.in = funcName(f)
		ast.Inspect(f, c.node)
		return
	}
	for _, spec := range decl.(*ast.GenDecl).Specs {
		switch s := spec.(type) {
		case *ast.ImportSpec:
			c.imported(s)
		case *ast.TypeSpec:
			c.in = s.Name.Name
			ast.Inspect(s, c.node)
		case *ast.ValueSpec:
			c.in = s.Names[0].Name
			ast.Inspect(s, c.node)
		}
	}
}

func funcName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	recv := f.Recv.List[0].Type
	for {
		switch t := recv.(type) {
		case *ast.StarExpr:
			recv = t.X
		case *ast.IndexExpr:
			recv = t.X
		case *ast.IndexListExpr:
			recv = t.X
		case *ast.Ident:
			return t.Name + "." + f.Name.Name
		default:
			return f.Name.Name
		}
	}
}

func (c *checker) imported(s *ast.ImportSpec) {
	path := strings.Trim(s.Path.Value, `"`)
	c.in = path
	for p := path; ; p = p[:strings.LastIndex(p, "/")] {
		if reason, forbidden := forbiddenImports[p]; forbidden {
			c.report(s.Pos(), ruleImport, reason)
			return
		}
		if !strings.Contains(p, "/") {
			return
		}
	}
}

func (c *checker) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		c.report(n.Pos(), ruleGoroutine, why[ruleGoroutine])
	case *ast.ChanType, *ast.SendStmt, *ast.SelectStmt:
		c.report(n.Pos(), ruleChannel, why[ruleChannel])
	case *ast.RangeStmt:
		c.ranged(n)
	case *ast.Ident:
		c.ident(n)
	case *ast.AssignStmt:
		for _, left := range n.Lhs {
			c.assigned(left)
		}
	case *ast.IncDecStmt:
		c.assigned(n.X)
	}
	if e, ok := n.(ast.Expr); ok {
		c.typed(e)
	}
	return true
}

func (c *checker) ranged(n *ast.RangeStmt) {
	if _, ok := under(c.info.TypeOf(n.X)).(*types.Map); ok {
		c.report(n.Pos(), ruleMapOrder, why[ruleMapOrder])
	}
}

// under looks through names and, for a type parameter, at what its types have in common.
func under(t types.Type) types.Type {
	p, ok := types.Unalias(t).(*types.TypeParam)
	if !ok {
		return t.Underlying()
	}
	constraint := p.Underlying().(*types.Interface)
	for i := range constraint.NumEmbeddeds() {
		e := constraint.EmbeddedType(i)
		if u, ok := e.(*types.Union); ok {
			e = u.Term(0).Type()
		}
		if !types.IsInterface(e) {
			return e.Underlying()
		}
	}
	return t.Underlying()
}

func (c *checker) ident(n *ast.Ident) {
	switch o := c.info.Uses[n].(type) {
	case *types.Func:
		if o.Pkg() != nil && o.Signature().Recv() == nil {
			c.called(n, o.Pkg().Path()+"."+o.Name())
		}
	case *types.Builtin:
		c.called(n, o.Name())
	}
}

// called also catches a function that is only handed on.
func (c *checker) called(n *ast.Ident, name string) {
	if reason, forbidden := forbiddenCalls[name]; forbidden {
		c.report(n.Pos(), ruleCall, name+": "+reason)
	}
}

// typed catches floats and channels that come from elsewhere, too: a constant that the
// compiler turns into an integer is none.
func (c *checker) typed(e ast.Expr) {
	t := c.info.TypeOf(e)
	if t == nil {
		return
	}
	switch u := t.Underlying().(type) {
	case *types.Chan:
		c.report(e.Pos(), ruleChannel, why[ruleChannel])
	case *types.Basic:
		if u.Info()&(types.IsFloat|types.IsComplex) != 0 && u.Info()&types.IsUntyped == 0 {
			c.report(e.Pos(), ruleFloat, why[ruleFloat])
		}
	}
}

// assigned catches state in variables of the package. What init sets up is the same in
// every process.
func (c *checker) assigned(left ast.Expr) {
	if c.in == "init" {
		return
	}
	for {
		switch e := left.(type) {
		case *ast.ParenExpr:
			left = e.X
		case *ast.StarExpr:
			left = e.X
		case *ast.IndexExpr:
			left = e.X
		case *ast.SelectorExpr:
			if x, ok := e.X.(*ast.Ident); ok {
				if _, qualified := c.info.Uses[x].(*types.PkgName); qualified {
					left = e.Sel
					continue
				}
			}
			left = e.X
		case *ast.Ident:
			v, ok := c.info.Uses[e].(*types.Var)
			if ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
				c.report(e.Pos(), ruleGlobal, why[ruleGlobal])
			}
			return
		default:
			return
		}
	}
}
