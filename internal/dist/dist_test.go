package main

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/dist/archive"
)

// TestPatches checks that the patches fit the versions of the modules that the server uses.
func TestPatches(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	dir := t.TempDir()
	goMod, err := patchModules(dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(goMod)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range patches {
		if !strings.Contains(string(text), "\nreplace "+p.module+" => ") {
			t.Errorf("%s is not replaced", p.module)
		}
		file, err := os.ReadFile(filepath.Join(dir, p.module, p.file))
		if err != nil || !strings.Contains(string(file), p.new) {
			t.Errorf("%s in %s is not changed: %v", p.file, p.module, err)
		}
	}
	if err := patches[0].apply(filepath.Join(dir, patches[0].module)); err == nil {
		t.Error("a patch without its text is applied")
	}
}

// TestBOM checks the bill of materials of this test, which has the modules that it is built of.
func TestBOM(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bom.json")
	if err := writeBOM(file, os.Args[0]); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got bom
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(os.Args[0])
	if err != nil || len(got.Components) != len(info.Deps)+1 || got.Components[0].Version != info.GoVersion {
		t.Fatalf("%d components for %d modules and the standard library, %v", len(got.Components), len(info.Deps), err)
	}
	for i, m := range info.Deps {
		c := got.Components[i+1]
		if c.Name != m.Path || c.Version != m.Version || len(c.Hashes) != 1 || len(c.Hashes[0].Content) != 64 {
			t.Errorf("%+v for %+v", c, m)
		}
	}
}

// TestFormula checks that the formula has the archives of macOS and Linux with their checksums.
func TestFormula(t *testing.T) {
	r := &release{dir: t.TempDir(), version: "0.1.0", programs: platforms}
	for _, p := range platforms {
		entries := []archive.Entry{{Name: "miniapiserver", Text: p.name(), Mode: 0o755}}
		if err := archive.WriteTarGz(filepath.Join(r.dir, p.archive()), entries); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(r.dir, "formula.rb")
	if err := writeFormula(file, "https://example.com/v0.1.0", r); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range platforms {
		sum, err := p.archiveSum(r.dir)
		if err != nil {
			t.Fatal(err)
		}
		want := "url \"https://example.com/v0.1.0/" + p.archive() + "\"\n      sha256 \"" + sum + "\"\n"
		if has := strings.Contains(string(text), want); has != (p.goos != "windows") {
			t.Errorf("%s: in the formula: %t\n%s", p.archive(), has, text)
		}
	}
}
