package scenarios

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// readFile reads a scenario. It takes pipes as well as files, hence the limit on the reading.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{File: path, Problem: "is neither a scenario nor a file", Remedy: unknown(path, Names())}
	}
	if err != nil {
		return nil, &Error{File: path, Problem: "cannot be opened: " + reason(err), Remedy: "check who may read it"}
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, &Error{File: path, Problem: "is a directory", Remedy: "name one scenario file in it"}
	}
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, &Error{File: path, Problem: "cannot be read: " + reason(err), Remedy: "copy it to a local disk"}
	}
	return data, nil
}

// path resolves a reference to another file against the folder of the scenario.
func (r *reader) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(r.src.file), name)
}

// regular refuses, at the value that names the file, what every run could not read again.
func (r *reader) regular(p place, path string) bool {
	problem, remedy := unreadable(path)
	if problem != "" {
		r.fail(p, "names "+path+", which "+problem, remedy)
	}
	return problem == ""
}

// unreadable says why a file is no regular file that is there, if it is not.
func unreadable(path string) (problem, remedy string) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "does not exist", "check the path"
	case err != nil:
		return "cannot be read: " + reason(err), "check who may read it"
	case info.IsDir():
		return "is a directory", "name a file in it"
	case !info.Mode().IsRegular():
		return "is not a regular file", "save it as one: every run reads it again"
	}
	return "", ""
}

// reason leaves the path out of a file error, since the message has it already.
func reason(err error) string {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err.Error()
	}
	return err.Error()
}
