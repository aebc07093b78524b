package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/quiesce/quiesce/model"
)

// Load reads the file at path and returns the workload that selector names; see [Parse].
func Load(path, selector string) (*Workload, error) {
	data, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	w, err := Parse(path, data, selector)
	if err == nil && w.Supervisor == model.Docker {
		if override := firstOverride(path); override != "" {
			w.note("%s beside it, which docker compose up merges into it, is not followed; %s", override, renderCompose)
		}
	}
	return w, err
}

// firstOverride is the file that Compose reads after its own without being told to, or empty.
func firstOverride(path string) string {
	base, _, _ := strings.Cut(filepath.Base(path), ".")
	if base != "compose" && base != "docker-compose" || strings.Count(filepath.Base(path), ".") != 1 {
		return ""
	}
	for _, name := range []string{"compose.override.yaml", "compose.override.yml", "docker-compose.override.yaml", "docker-compose.override.yml"} {
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), name)); err == nil {
			return name
		}
	}
	return ""
}

// Parse returns one workload out of data, the text of the manifest called name. The selector
// is "name", "kind/name" or "namespace/kind/name", with the kind in any case; it may be empty
// when there is only one workload. Workloads that are not selected are not read, so they may
// be wrong. Every error is an [*Error]; data is not kept.
func Parse(name string, data []byte, selector string) (*Workload, error) {
	src, docs, err := open(name, data)
	if err != nil {
		return nil, err
	}
	doc, err := choose(src, docs, selector)
	if err != nil {
		return nil, err
	}
	w, err := read(src, doc)
	if err == nil && w.Unfit != nil {
		return nil, w.Unfit
	}
	return w, err
}

// List reads every workload in data, in the order of the file. Those that are wrong are left
// out, and the error joins an [*Error] for each; a file without any workload is an error, as in
// [Parse].
func List(name string, data []byte) ([]Workload, error) {
	src, docs, err := open(name, data)
	if err != nil {
		return nil, err
	}
	var (
		all  []Workload
		errs []error
	)
	for _, doc := range docs {
		w, err := read(src, doc)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, *w)
	}
	return all, errors.Join(errs...)
}

// Looks reports whether a file has the name or the look of one that is read here. One that has
// not may be read all the same, when it is named.
func Looks(name string, data []byte) bool {
	s := &source{file: name, data: data}
	switch filepath.Ext(name) {
	case ".tf":
		return bytes.Contains(data, []byte("aws_ecs_"))
	case ".yaml", ".yml", ".json":
		return looksYAML(bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff"))))
	}
	return s.textFormat() != nil
}

// looksYAML looks for a key of the formats in YAML and JSON where their top-level keys stand: at the
// margin, or in what braces hold, however it is laid out.
func looksYAML(data []byte) bool {
	var (
		object map[string]json.RawMessage
		list   []map[string]json.RawMessage
	)
	switch {
	case !bytes.HasPrefix(data, []byte("{")) && !bytes.HasPrefix(data, []byte("[")):
		return marginKey.Match(data)
	case json.Unmarshal(data, &object) == nil:
		list = append(list, object)
	case json.Unmarshal(data, &list) != nil:
		return anyKey.Match(data) // whoever wrote it hears what is wrong with it
	}
	return slices.ContainsFunc(list, func(object map[string]json.RawMessage) bool {
		for key := range object {
			if topKey.MatchString(key) {
				return true
			}
		}
		return false
	})
}

const topKeys = `(apiVersion|kind|services|family|containerDefinitions|taskDefinition|deploymentConfiguration|ContainerDefinitions|DeploymentConfiguration|TaskDefinition|AWSTemplateFormatVersion|Resources|Job|TaskGroups|containers)`

var (
	topKey    = regexp.MustCompile(`^` + topKeys + `$`)
	marginKey = regexp.MustCompile(`(?m)^(  )?(- )?"?` + topKeys + `"?\s*:`)
	anyKey    = regexp.MustCompile(`\b` + topKeys + `"?\s*:`)
)

// open returns the workloads of a file, unread, and at least one of them.
func open(name string, data []byte) (*source, []document, error) {
	src, err := newSource(name, data)
	if err != nil {
		return nil, nil, err
	}
	docs, err := src.documents()
	if err != nil {
		return nil, nil, err
	}
	return src, docs, nil
}

// ReadFile reads a manifest of any size that one can have. It takes pipes as well as files, so that rendered templates can be handed over without
// a temporary file; hence the limit on the reading, not on the size.
func ReadFile(path string) ([]byte, error) {
	refuse := (&source{file: path}).refuse
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, refuse("is a directory", "name one file; render a chart with `helm template "+path+
			" > rendered.yaml`, a kustomization with `kubectl kustomize "+path+" > rendered.yaml`")
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refuse("does not exist", "check the path")
	}
	if err != nil {
		return nil, refuse("cannot be opened: "+reason(err), "")
	}
	defer f.Close()
	if dropIn := firstDropIn(path); dropIn != "" {
		return nil, refuse("is changed by "+dropIn+", and drop-ins are not followed",
			fmt.Sprintf("put them into one file: cat %s %s/*.conf > whole.service", path, filepath.Dir(dropIn)))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, refuse("cannot be read: "+reason(err), "")
	}
	return data, nil
}

// firstDropIn is the first file that systemd would read after the unit at path, or empty.
func firstDropIn(path string) string {
	if filepath.Ext(path) != ".service" {
		return ""
	}
	folders := []string{path + ".d"}
	if template, _, instance := strings.Cut(filepath.Base(path), "@"); instance {
		folders = append(folders, filepath.Join(filepath.Dir(path), template+"@.service.d")) // Those of all instances.
	}
	for _, folder := range folders {
		entries, _ := os.ReadDir(folder) // There rarely is such a folder.
		for _, entry := range entries {
			if filepath.Ext(entry.Name()) == ".conf" {
				return filepath.Join(folder, entry.Name())
			}
		}
	}
	return ""
}

// reason leaves the path out of a file error; the caller has named it already.
func reason(err error) string {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err.Error()
	}
	return err.Error()
}
