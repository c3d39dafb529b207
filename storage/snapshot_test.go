package storage

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// snapshotOf returns the file that "etcdctl snapshot save" would write.
func snapshotOf(t *testing.T, s *Store) []byte {
	t.Helper()
	r, err := s.Client().Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func gzipBytes(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(data)
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func writeFile(t *testing.T, data []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "snapshot")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestSnapshotRestored restores a snapshot into another directory. History and revisions
// must continue from it, and survive a restart.
func TestSnapshotRestored(t *testing.T) {
	s, c := startStore(t, Options{})
	x := mustUpdate(t, c, mustCreate(t, c, "a/x", "1"), "2")
	mustDelete(t, c, mustCreate(t, c, "a/y", ""))
	last := mustCreate(t, c, "a/z", "")
	data := snapshotOf(t, s)
	for name, data := range map[string][]byte{"plain": data, "gzip": gzipBytes(t, data)} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			r, c := startStore(t, Options{Dir: dir, SnapshotFile: writeFile(t, data)})
			l := mustList(t, c, ListOptions{})
			if l.Revision < last.Revision() || strings.Join(listedKeys(l), " ") != "a/x a/z" || l.Items[0].Revision() != x.Revision() {
				t.Errorf("at %d: %v", l.Revision, listedKeys(l))
			}
			if i, err := c.Get(t.Context(), "a/x", Read{Match: Exact, Revision: x.Revision() - 1}); err != nil || configMapValue(t, i) != "1" {
				t.Errorf("before: %v %v", i, err)
			}
			made := mustCreate(t, c, "a/new", "")
			if made.Revision() <= last.Revision() {
				t.Errorf("revision %d after %d", made.Revision(), last.Revision())
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(t.Context(), Options{Dir: dir, SnapshotFile: writeFile(t, data)}); err == nil || !strings.Contains(err.Error(), "is not empty") {
				t.Errorf("restored over data: %v", err)
			}
			_, c = startStore(t, Options{Dir: dir})
			if l := mustList(t, c, ListOptions{}); len(l.Items) != 3 {
				t.Errorf("after a restart: %v", listedKeys(l))
			}
		})
	}
}

// TestSnapshotRefused checks that the error for an unusable file gives the reason, and that
// the data directory stays usable.
func TestSnapshotRefused(t *testing.T) {
	s, c := startStore(t, Options{})
	mustCreate(t, c, "a/x", "")
	good := snapshotOf(t, s)
	damaged := bytes.Clone(good)
	damaged[len(damaged)/2] ^= 1
	zipped := gzipBytes(t, good)
	for want, file := range map[string]string{
		"no such file or directory":                  filepath.Join(t.TempDir(), "none"),
		"no checksum at its end":                     writeFile(t, good[:len(good)-100]),
		"an incomplete one: no":                      writeFile(t, nil),
		"wrong checksum":                             writeFile(t, damaged),
		"reading the snapshot: unexpected EOF":       writeFile(t, zipped[:len(zipped)/2]),
		"not an etcd snapshot, or an incomplete one": writeFile(t, []byte("text")),
	} {
		dir := t.TempDir()
		_, err := Open(t.Context(), Options{Dir: dir, SnapshotFile: file})
		var refused *SnapshotError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want %s", err, want)
		}
		if left, err := os.ReadDir(dir + "/member/snap"); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
	}
}
