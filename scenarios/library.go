package scenarios

import (
	"embed"
	"strings"

	"github.com/quiesce/quiesce/model"
)

// DefaultName is the scenario that runs when none is named.
const DefaultName = "five-minute-lease"

//go:embed library/*.yaml
var library embed.FS

// Names returns the names of the embedded scenarios, the default one first, the others sorted.
func Names() []string {
	entries, err := library.ReadDir("library")
	if err != nil {
		panic("scenarios: the embedded library is missing: " + err.Error())
	}
	list := []string{DefaultName}
	for _, e := range entries { // Sorted by name.
		if name := strings.TrimSuffix(e.Name(), ".yaml"); name != DefaultName {
			list = append(list, name)
		}
	}
	return list
}

// Source returns the text of an embedded scenario. The caller owns it.
func Source(name string) ([]byte, error) {
	data, err := library.ReadFile("library/" + name + ".yaml")
	if err != nil {
		return nil, &Error{File: name, Problem: "is not an embedded scenario", Remedy: unknown(name, Names())}
	}
	return data, nil
}

// About returns the sentence that says what an embedded scenario shows.
func About(name string) (string, error) {
	data, err := Source(name)
	if err != nil {
		return "", err
	}
	s, err := Parse(name+".yaml", data)
	if err != nil {
		return "", err
	}
	return s.About, nil
}

// Load returns an embedded scenario, or the one in a file. A file that is called like an
// embedded scenario is reached as ./NAME. Every error is an [*Error].
func Load(nameOrPath string) (*model.Scenario, error) { return LoadWith(nameOrPath) }

// find returns the text of a scenario and the file it is in.
func find(nameOrPath string) (file string, data []byte, err error) {
	if data, err := Source(nameOrPath); err == nil {
		return nameOrPath + ".yaml", data, nil
	}
	data, err = readFile(nameOrPath)
	return nameOrPath, data, err
}
