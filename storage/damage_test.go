package storage

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sums returns the checksums of the files in a directory, but for the lock.
func sums(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	all := map[string][32]byte{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || path == "lock" {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		all[path] = sha256.Sum256(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestDamagedData checks that a start on damaged files fails at once with the name of the file, and changes none of them.
func TestDamagedData(t *testing.T) {
	const database, log = "member/snap/db", "member/wal/0000000000000000-0000000000000000.wal"
	whole := t.TempDir()
	s, c := startStore(t, Options{Dir: whole})
	for _, name := range []string{"a", "b", "c", "d"} {
		mustCreate(t, c, "ns/"+name, strings.Repeat("x", 4000))
	}
	s.Close()
	if err := os.Truncate(filepath.Join(whole, log), 1<<20); err != nil { // the rest is preallocated
		t.Fatal(err)
	}
	write := func(file string, at int64, data []byte) func(dir string) error {
		return func(dir string) error {
			f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteAt(data, at)
			return errors.Join(err, f.Close())
		}
	}
	cut := func(file string, size int64) func(dir string) error {
		return func(dir string) error { return os.Truncate(filepath.Join(dir, file), size) }
	}
	remove := func(file string) func(dir string) error {
		return func(dir string) error { return os.RemoveAll(filepath.Join(dir, file)) }
	}
	both := func(steps ...func(dir string) error) func(dir string) error {
		return func(dir string) error {
			var errs []error
			for _, step := range steps {
				errs = append(errs, step(dir))
			}
			return errors.Join(errs...)
		}
	}
	rename := func(from, to string) func(dir string) error {
		return func(dir string) error { return os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)) }
	}
	makeDir := func(file string) func(dir string) error {
		return func(dir string) error { return os.Mkdir(filepath.Join(dir, file), 0o700) }
	}
	garbage := []byte(strings.Repeat("damage!", 1200))
	for name, test := range map[string]struct {
		damage     func(dir string) error
		file, want string // want is empty if the data is complete nevertheless
	}{
		"database cut":             {cut(database, 30000), database, "the database is cut: it has 30000 of "},
		"database cut in its head": {cut(database, 5000), database, "the database cannot be opened"},
		"database zeroed":          {both(cut(database, 0), cut(database, 1<<20)), database, "invalid database"},
		"pages of the database":    {write(database, 3*4096, bytes.Repeat(garbage, 20)), database, "the database is damaged"},
		"database is a directory":  {both(remove(database), makeDir(database)), database, "not a regular file"},
		"database removed":         {remove(database), "", ""},
		"database and log removed": {both(remove(database), rename(log, "member/wal/0000000000000001-0000000000000030.wal")), database, "the database is missing"},
		"log removed":              {remove(log), "member/wal", "the write-ahead log ends at entry 0, but the database has entry "},
		"directory of log removed": {remove("member/wal"), "member/wal", "a part of the log is lost"},
		"log cut":                  {cut(log, 9000), "member/wal", "a part of the log is lost"},
		"log emptied":              {cut(log, 0), log, "empty or damaged"},
		"log zeroed":               {both(cut(log, 0), cut(log, 1<<20)), log, "empty or damaged"},
		"a record of the log":      {write(log, 9000, garbage[:100]), log, "crc mismatch"},
		"head of the log":          {write(log, 0, garbage[:100]), log, "empty or damaged"},
		"log is a directory":       {both(remove(log), makeDir(log)), log, "not a regular file"},
		"log with another name":    {rename(log, "member/wal/x.wal"), "member/wal/x.wal", "not a name of a write-ahead log"},
		"files swapped":            {both(rename(log, "x"), rename(database, log), rename("x", database)), log, "empty or damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := errors.Join(os.CopyFS(dir, os.DirFS(whole)), os.Chmod(dir, 0o700)); err != nil {
				t.Fatal(err)
			}
			if err := test.damage(dir); err != nil {
				t.Fatal(err)
			}
			before := sums(t, dir)
			s, err := Open(t.Context(), Options{Dir: dir})
			if test.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				s.Close()
				return
			}
			var damage *DamageError
			if !errors.As(err, &damage) || damage.File != filepath.Join(dir, test.file) || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v\nwant %s: %s", err, test.file, test.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a line: %v", err)
			}
			if !maps.Equal(sums(t, dir), before) {
				t.Error("the start changed the files")
			}
		})
	}
}
