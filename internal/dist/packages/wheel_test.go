package packages

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWheel checks that a wheel has the program, executable, and that its RECORD has the checksums of all files: pip does
// not compare them, other installers do.
func TestWheel(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := readProgram(own)
	if err != nil {
		t.Skip(err) // the platform has no packages
	}
	dir := t.TempDir()
	b := &builder{source: "../../../packaging", version: p.version, programs: []program{p}}
	if err := b.wheels(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	made, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(made) != 1 {
		t.Fatalf("%v, %v", made, err)
	}
	wheel, err := zip.OpenReader(made[0])
	if err != nil {
		t.Fatal(err)
	}
	defer wheel.Close()
	var want strings.Builder
	record := ""
	for _, f := range wheel.File {
		content := readEntry(t, f)
		switch {
		case strings.HasSuffix(f.Name, "/RECORD"):
			record = content
			want.WriteString(f.Name + ",,\n")
			continue
		case f.Name == "miniapiserver/bin/"+p.name() && f.Mode().Perm() != 0o755:
			t.Errorf("%s has the mode %v", f.Name, f.Mode())
		}
		sum := sha256.Sum256([]byte(content))
		fmt.Fprintf(&want, "%s,sha256=%s,%d\n", f.Name, base64.RawURLEncoding.EncodeToString(sum[:]), len(content))
	}
	if record != want.String() || !strings.Contains(record, "miniapiserver/bin/"+p.name()+",") ||
		!strings.Contains(record, "miniapiserver/pytest_plugin.py,") || strings.Contains(record, "__pycache__") {
		t.Errorf("RECORD is\n%s\nwant\n%s", record, &want)
	}
}

func readEntry(t *testing.T, f *zip.File) string {
	t.Helper()
	r, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
