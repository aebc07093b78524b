package manifest

import (
	"fmt"
	"strings"
)

// choose picks the one document that a selector names.
func choose(src *source, docs []document, selector string) (document, error) {
	var matches []document
	for _, doc := range docs {
		if selector == "" || doc.matches(selector) {
			matches = append(matches, doc)
		}
	}
	switch len(matches) {
	case 1:
		return matches[0], nil
	case 0:
		return document{}, src.notFound(docs, selector)
	}
	return document{}, src.ambiguous(matches, selector)
}

// matches compares as much of the identity as the selector gives. Names are compared as they
// are, kinds in any case.
func (d document) matches(selector string) bool {
	parts := strings.Split(selector, "/")
	switch len(parts) {
	case 1:
		return d.name == parts[0]
	case 2:
		return strings.EqualFold(d.kind, parts[0]) && d.name == parts[1]
	case 3:
		return d.namespace == parts[0] && strings.EqualFold(d.kind, parts[1]) && d.name == parts[2]
	}
	return false
}

func (s *source) ambiguous(docs []document, selector string) error {
	ids := identities(docs)
	problem := fmt.Sprintf("holds %d workloads: ", len(docs))
	if selector != "" {
		problem = fmt.Sprintf("holds %d workloads that match %q: ", len(docs), selector)
	}
	remedy := "choose one: --select " + ids[0]
	if ids[0] == ids[1] {
		remedy = "give them different names, or cut one out into a file of its own"
	}
	return s.refuse(problem+listing(docs, ids), remedy)
}

func (s *source) notFound(docs []document, selector string) error {
	ids := identities(docs)
	remedy := "choose one of these"
	if best := nearest(selector, docs, ids); best != "" {
		remedy = "did you mean --select " + best + "?"
	}
	return s.refuse(fmt.Sprintf("holds no workload %q, only %s", selector, listing(docs, ids)), remedy)
}

// identities are the shortest selectors that tell the documents apart, as far as they can be:
// kind and name, and the namespace where several share those.
func identities(docs []document) []string {
	seen := make(map[string]int)
	for _, doc := range docs {
		seen[doc.String()]++
	}
	ids := make([]string, len(docs))
	for i, doc := range docs {
		ids[i] = doc.String()
		if seen[ids[i]] > 1 {
			ids[i] = doc.namespace + "/" + ids[i]
		}
	}
	return ids
}

func listing(docs []document, ids []string) string {
	parts := make([]string, len(docs))
	for i, doc := range docs {
		parts[i] = fmt.Sprintf("%s (line %d)", ids[i], doc.line)
	}
	return strings.Join(parts, ", ")
}

// nearest is the workload most likely meant: one of that name and another kind, else the one
// with the fewest letters changed, if they are few.
func nearest(selector string, docs []document, ids []string) string {
	name := selector[strings.LastIndex(selector, "/")+1:]
	best, fewest := "", max(2, len(selector)/4)+1
	for i, doc := range docs {
		if doc.name == name {
			return ids[i]
		}
		for _, candidate := range []string{ids[i], doc.name} {
			if d := editDistance(strings.ToLower(selector), strings.ToLower(candidate)); d < fewest {
				best, fewest = ids[i], d
			}
		}
	}
	return best
}

// editDistance is the number of letters to insert, delete or replace (Levenshtein).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
