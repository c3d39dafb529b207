// Command pack updates the conversations of the tests: it compresses each *.json file of a
// directory into testdata/conversations of package conformance, and copies the tokens.csv in or
// beside that directory. The output is reproducible.
//
//	go run ./conformance/internal/pack DIR [DESTINATION]
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) < 2 || len(os.Args) > 3 {
		fmt.Fprintln(os.Stderr, "usage: pack DIR [DESTINATION]")
		os.Exit(2)
	}
	to := filepath.Join("conformance", "testdata")
	if len(os.Args) == 3 {
		to = os.Args[2]
	}
	if err := pack(os.Args[1], to); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

// pack writes the conversations and tokens of from to the directory to.
func pack(from, to string) error {
	files, err := filepath.Glob(filepath.Join(from, "*.json"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("%s: no conversations", from)
	}
	conversations := filepath.Join(to, "conversations")
	if err := os.MkdirAll(conversations, 0o755); err != nil {
		return err
	}
	for _, file := range files {
		if err := compress(file, filepath.Join(conversations, filepath.Base(file)+".gz")); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	for _, dir := range []string{from, filepath.Dir(filepath.Clean(from))} {
		tokens, err := os.ReadFile(filepath.Join(dir, "tokens.csv"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, "tokens.csv"), tokens, 0o644)
	}
	return fmt.Errorf("no tokens.csv in or beside %s", from)
}

// compress removes white space from a JSON file, preserving the order of keys and the notation of
// values, and compresses it without name and time.
func compress(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var compact, out bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		return err
	}
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(compact.Bytes()); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(to, out.Bytes(), 0o644)
}
