package packages

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/miniapiserver/miniapiserver/internal/dist/archive"
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
		entries := append([]archive.Entry{}, modules...)
		entries = append(entries,
			archive.Entry{Name: "miniapiserver/bin/" + p.name(), File: p.file, Mode: 0o755},
			archive.Entry{Name: info + "METADATA", Text: strings.Replace(string(metadata), "@VERSION@", version, 1) + string(readme), Mode: 0o644},
			archive.Entry{Name: info + "WHEEL", Text: wheelInfo(tag), Mode: 0o644},
			archive.Entry{Name: info + "entry_points.txt", Text: entryPoints, Mode: 0o644},
			archive.Entry{Name: info + "LICENSE", File: b.license(), Mode: 0o644})
		record, err := recordOf(entries, info+"RECORD")
		if err != nil {
			return err
		}
		name := "miniapiserver-" + version + "-py3-none-" + tag + ".whl"
		if err := archive.WriteZip(filepath.Join(to, name), append(entries, record)); err != nil {
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
func recordOf(entries []archive.Entry, name string) (archive.Entry, error) {
	var b strings.Builder
	for _, e := range entries {
		content, err := e.Read()
		if err != nil {
			return archive.Entry{}, err
		}
		sum := sha256.Sum256(content)
		fmt.Fprintf(&b, "%s,sha256=%s,%d\n", e.Name, base64.RawURLEncoding.EncodeToString(sum[:]), len(content))
	}
	b.WriteString(name + ",,\n")
	return archive.Entry{Name: name, Text: b.String(), Mode: 0o644}, nil
}
