//go:build javascript

// Package js has the JavaScript client of Kubernetes list, watch and patch, and read what the lab has of it.
package js

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestJavaScriptClient runs client.js. It needs Node.js, npm and a package registry,
// so it is run by make test-javascript alone.
func TestJavaScriptClient(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{".npmrc", "package.json", "package-lock.json", "client.js"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if out, err := command(ctx, dir, nil, "npm", "ci", "--ignore-scripts"); err != nil {
		t.Fatalf("npm ci: %v: %s", err, out)
	}
	s, err := server.Start(ctx, server.Options{Lab: server.Lab{Enabled: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	}()
	if out, err := command(ctx, dir, []string{"KUBECONFIG=" + s.KubeconfigFile}, "node", "client.js"); err != nil {
		t.Fatalf("node client.js: %v\n%s", err, out)
	}
}

func command(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(bytes.TrimSpace(out)), err
}
