package packages

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// wheels makes a wheel for each program. A wheel is an archive with three files about itself, so it needs no tool.
func (b *builder) wheels(_ context.Context, to string) error {
	version, err := b.version.python()
	if err != nil {
		return err
	}
	source := filepath.Join(b.source, "python")
	modules, err := filesBelow(filepath.Join(source, "miniapiserver"), "miniapiserver/", ".py", ".typed")
	if err != nil {
		return err
	}
	metadata, err := os.ReadFile(filepath.Join(source, "METADATA"))
	if err != nil {
		return err
	}
	readme, err := os.ReadFile(filepath.Join(source, "README.md"))
	if err != nil {
		return err
	}
	info := "miniapiserver-" + version + ".dist-info/"
	for _, p := range b.programs {
		tag := platforms[p.platform()].wheel
		entries := append([]entry{}, modules...)
		entries = append(entries,
			entry{name: "miniapiserver/bin/" + p.name(), file: p.file, mode: 0o755},
			entry{name: info + "METADATA", text: strings.Replace(string(metadata), "@VERSION@", version, 1) + string(readme), mode: 0o644},
			entry{name: info + "WHEEL", text: wheelInfo(tag), mode: 0o644},
			entry{name: info + "entry_points.txt", text: entryPoints, mode: 0o644},
			entry{name: info + "LICENSE", file: b.license(), mode: 0o644})
		record, err := recordOf(entries, info+"RECORD")
		if err != nil {
			return err
		}
		name := "miniapiserver-" + version + "-py3-none-" + tag + ".whl"
		if err := writeZip(filepath.Join(to, name), append(entries, record)); err != nil {
			return err
		}
	}
	return nil
}

// entryPoints are the command and the plugin of pytest.
const entryPoints = `[console_scripts]
miniapiserver = miniapiserver.__main__:main

[pytest11]
miniapiserver = miniapiserver.pytest_plugin
`

// wheelInfo returns the file WHEEL. tag has all platforms, separated by dots, and the file a line for each.
func wheelInfo(tag string) string {
	var b strings.Builder
	b.WriteString("Wheel-Version: 1.0\nGenerator: miniapiserver\nRoot-Is-Purelib: false\n")
	for platform := range strings.SplitSeq(tag, ".") {
		b.WriteString("Tag: py3-none-" + platform + "\n")
	}
	return b.String()
}

// recordOf returns the list of the files of a wheel with their checksums.
func recordOf(entries []entry, name string) (entry, error) {
	var b strings.Builder
	for _, e := range entries {
		content, err := e.read()
		if err != nil {
			return entry{}, err
		}
		sum := sha256.Sum256(content)
		fmt.Fprintf(&b, "%s,sha256=%s,%d\n", e.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(content))
	}
	b.WriteString(name + ",,\n")
	return entry{name: name, text: b.String(), mode: 0o644}, nil
}
