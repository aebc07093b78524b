package lint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/quiesce/quiesce/scenarios/manifest"
)

// Read reads all workloads of files and folders, and how many files they are in. Of a folder, and
// the folders in it, those files are read that look like a manifest; what of them holds no workload
// is passed over. A file that is named must hold one. The error joins a [*manifest.Error] for each
// file and workload that cannot be read.
func Read(paths []string) (workloads []manifest.Workload, files int, err error) {
	var errs []error
	take := func(path string, named bool) {
		all, err := readOne(path, named)
		if err != nil {
			errs = append(errs, err)
		}
		if len(all) > 0 {
			files++
		}
		workloads = append(workloads, all...)
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			take(path, true)
			continue
		}
		before := files
		err := filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case at != path && d.IsDir() && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
				return filepath.SkipDir
			case d.Type().IsRegular() && mayBeOne(d.Name()):
				take(at, false)
			}
			return nil
		})
		switch {
		case err != nil:
			errs = append(errs, &manifest.Error{File: path, Problem: "cannot be walked: " + err.Error()})
		case files == before && len(errs) == 0:
			errs = append(errs, &manifest.Error{File: path, Problem: "holds no manifest that is read here", Remedy: "name a folder with Kubernetes, Compose, systemd, Nomad, ECS, Fly, Cloud Run, Procfile, supervisord or Render files, or the file itself"})
		}
	}
	return workloads, files, errors.Join(errs...)
}

// mayBeOne goes by the name alone, so that a folder of other things is not read from end to end.
func mayBeOne(name string) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json", ".service", ".toml", ".nomad", ".hcl", ".job", ".tf", ".conf":
		return true
	}
	return strings.HasPrefix(name, "Procfile")
}

func readOne(path string, named bool) ([]manifest.Workload, error) {
	data, err := manifest.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if !named && !manifest.Looks(path, data) {
		return nil, nil
	}
	all, err := manifest.List(path, data)
	var bad *manifest.Error
	if errors.As(err, &bad) && bad.NoWorkload && !named {
		return nil, nil
	}
	return all, err
}
