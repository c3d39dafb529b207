//go:build install

package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
)

var oldRevision = flag.String("old", "", "revision of git whose server TestUpgrade compares with that of this checkout")

// TestUpgrade starts the server of an older revision and the one of this checkout in turns on the same data directory: an
// upgrade, a downgrade, and an upgrade again. Each must read what all others wrote, and write itself.
func TestUpgrade(t *testing.T) {
	if *oldRevision == "" {
		t.Skip("-old names no revision; make test-upgrade does")
	}
	older, own := buildRevision(t, *oldRevision), filepath.Join(t.TempDir(), "own")
	goBuild(t, filepath.Join("..", ".."), own)
	dir := t.TempDir()
	for turn, program := range []string{older, own, older, own} {
		s := startOn(t, program, dir)
		if turn == 0 {
			s.request(http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", thingDefinition)
			s.waitForKind()
		}
		for _, kind := range storedKinds {
			s.request(http.MethodPost, kind.path, fmt.Sprintf(kind.object, turn))
			var list struct{ Items []json.RawMessage }
			err := json.Unmarshal(s.request(http.MethodGet, kind.path+"?labelSelector=turn", ""), &list)
			if err != nil || len(list.Items) != turn+1 {
				t.Errorf("turn %d: %d objects in %s, %v", turn, len(list.Items), kind.path, err)
			}
		}
		s.stop()
	}
}

const thingDefinition = `{"metadata": {"name": "things.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced",
	"names": {"plural": "things", "kind": "Thing"}, "versions": [{"name": "v1", "served": true, "storage": true,
	"schema": {"openAPIV3Schema": {"type": "object"}}}]}}`

// storedKinds are stored as protobuf, with a status of its own, and as JSON.
var storedKinds = []struct{ path, object string }{
	{"/api/v1/namespaces/default/secrets", `{"metadata": {"name": "x%d", "labels": {"turn": ""}}, "stringData": {"a": "b"}}`},
	{"/apis/apps/v1/namespaces/default/deployments", `{"metadata": {"name": "x%d", "labels": {"turn": ""}}, "spec": {
		"selector": {"matchLabels": {"a": "b"}}, "template": {
			"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "b"}]}}}}`},
	{"/apis/example.com/v1/namespaces/default/things",
		`{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x%d", "labels": {"turn": ""}}}`},
}

// buildRevision builds the server of a revision of the repository.
func buildRevision(t *testing.T, revision string) string {
	t.Helper()
	dir := t.TempDir()
	archive := exec.CommandContext(t.Context(), "git", "archive", revision)
	archive.Dir = filepath.Join("..", "..")
	unpack := exec.CommandContext(t.Context(), "tar", "-x", "-C", dir)
	var err error
	if unpack.Stdin, err = archive.StdoutPipe(); err == nil {
		err = unpack.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(archive.Run(), unpack.Wait()); err != nil {
		t.Fatalf("the revision %s: %v", revision, err)
	}
	program := filepath.Join(dir, "older")
	goBuild(t, dir, program)
	return program
}

func goBuild(t *testing.T, dir, program string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-ldflags", "-s -w", "-o", program, "./cmd/miniapiserver")
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// running is a started server.
type running struct {
	t          *testing.T
	URL        string
	CA, Token  string
	client     *http.Client
	process    *exec.Cmd
	stdin      io.Closer
	diagnostic bytes.Buffer
}

// startOn starts a server on a data directory.
func startOn(t *testing.T, program, dir string) *running {
	t.Helper()
	s := &running{t: t, process: exec.CommandContext(t.Context(), program,
		"--data-dir", dir, "--secure-port=0", "--output=json", "--stdin-lifetime")}
	s.process.Stderr = &s.diagnostic
	var err error
	if s.stdin, err = s.process.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := s.process.StdoutPipe()
	if err == nil {
		err = s.process.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, s)
	}
	if err != nil {
		_ = s.process.Wait() // so that its output is complete
		t.Fatalf("%v: %s", err, s.diagnostic.String())
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(s.CA))
	s.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	return s
}

// stop ends the server as its parent does.
func (s *running) stop() {
	s.t.Helper()
	s.client.CloseIdleConnections()
	if err := errors.Join(s.stdin.Close(), s.process.Wait()); err != nil {
		s.t.Errorf("%v: %s", err, s.diagnostic.String())
	}
}

// request returns the body of a successful response.
func (s *running) request(method, path, body string) []byte {
	s.t.Helper()
	status, answer := s.do(method, path, body)
	if status/100 != 2 {
		s.t.Fatalf("%s %s: %d %s", method, path, status, answer)
	}
	return answer
}

func (s *running) do(method, path, body string) (int, []byte) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, bytes.NewReader([]byte(body)))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.Token)
	r.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, answer
}

// waitForKind waits until the definition is established.
func (s *running) waitForKind() {
	s.t.Helper()
	eventually.True(s.t, "the kind is served", func() bool {
		status, _ := s.do(http.MethodGet, storedKinds[2].path, "")
		return status == http.StatusOK
	})
}
