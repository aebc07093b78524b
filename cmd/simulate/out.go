package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// write is one way of writing a report.
type write func(io.Writer) error

func as(r printable, format string) write {
	switch format {
	case asJSON:
		return r.writeJSON
	case asCSV:
		return r.writeCSV
	default:
		return r.writeTable
	}
}

// print writes a report to stdout, and to files called base in dir when that is given. All
// of it is composed first and the files come before stdout, so that what fails leaves
// nothing that looks like a result.
func (a *app) print(r printable, format, dir, base string) error {
	var out bytes.Buffer
	if err := as(r, format)(&out); err != nil {
		return err
	}
	if dir != "" {
		if err := saveAll(dir, map[string]write{base + ".json": r.writeJSON, base + ".csv": r.writeCSV, base + ".txt": r.writeTable}); err != nil {
			return err
		}
	}
	return a.show(&out)
}

// show writes what was composed to stdout.
func (a *app) show(out *bytes.Buffer) error {
	if _, err := a.stdout.Write(out.Bytes()); err != nil {
		return fmt.Errorf("the result cannot be written to stdout: %w", err)
	}
	return nil
}

// checkOut refuses an --out that nothing can be written to. It is called before the run: to
// lose minutes of work to a misspelt folder is worse than an early no. It leaves no trace.
func checkOut(dir, base string) error {
	return checkFiles(dir, base+".json", base+".csv", base+".txt")
}

// checkFiles is checkOut for files of any name.
func checkFiles(dir string, names ...string) error { return checkFolder("--out", dir, names...) }

// checkFolder is checkFiles for the folder that another flag names.
func checkFolder(flag, dir string, names ...string) error {
	if dir == "" {
		return nil
	}
	for _, name := range names {
		if what := notAFile(filepath.Join(dir, name)); what != "" {
			return misuse("%s %s: %s in it is %s, where a file is to be written; move it or name another folder", flag, dir, name, what)
		}
	}
	// The folder may not exist yet; then its nearest ancestor that does must take it.
	at := filepath.Clean(dir)
	for {
		info, err := os.Stat(at)
		if errors.Is(err, fs.ErrNotExist) && filepath.Dir(at) != at {
			at = filepath.Dir(at)
			continue
		}
		if err != nil {
			return folderError(flag, dir, err)
		}
		if !info.IsDir() {
			return misuse("%s %s: %s is not a folder; name a folder to write into", flag, dir, at)
		}
		break
	}
	probe, err := os.MkdirTemp(at, ".simulate-*")
	if err != nil {
		return folderError(flag, dir, err)
	}
	return os.Remove(probe)
}

// notAFile says what stands at path, unless it is a file or nothing. A file that is written whole takes
// the place of whatever was there, and a device, or a link to one, is not to be lost by that.
func notAFile(path string) string {
	info, err := os.Lstat(path)
	switch {
	case err != nil || info.Mode().IsRegular():
		return ""
	case info.IsDir():
		return "a folder"
	case info.Mode()&fs.ModeSymlink != 0:
		return "a link"
	}
	return "a device, a pipe or a socket"
}

func outError(dir string, err error) error { return folderError("--out", dir, err) }

func folderError(flag, dir string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return misuse("%s %s cannot be written to: %v; name a folder you may write into", flag, dir, err)
}

// saveAll writes files into dir. Each appears whole under its name or not at all, and none
// appears before all could be written.
func saveAll(dir string, files map[string]write) error { return saveAllIn("--out", dir, files) }

// saveAllIn is saveAll for the folder that another flag names.
func saveAllIn(flag, dir string, files map[string]write) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return folderError(flag, dir, err)
	}
	ready := make(map[string]string) // final names by temporary ones
	defer func() {
		for temporary := range ready {
			_ = os.Remove(temporary) // renamed ones are not there any more
		}
	}()
	for name, w := range files {
		temporary, err := saveOne(dir, name, w)
		if err != nil {
			return folderError(flag, dir, err)
		}
		ready[temporary] = filepath.Join(dir, name)
	}
	for temporary, final := range ready {
		if err := os.Rename(temporary, final); err != nil {
			return folderError(flag, dir, err)
		}
	}
	return nil
}

func saveOne(dir, name string, w write) (temporary string, err error) {
	f, err := os.CreateTemp(dir, "."+name+"-*")
	if err != nil {
		return "", err
	}
	err = errors.Join(w(f), f.Chmod(0o644), f.Close())
	if err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}
