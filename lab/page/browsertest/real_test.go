package browsertest

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

var binary = flag.String("binary", "", "a built miniapiserver; one is built without it")

// realServer is miniapiserver --ephemeral --lab as a process of its own.
type realServer struct {
	t          *testing.T
	url, token string
	page       string
	client     *http.Client
}

func startReal(t *testing.T) *realServer {
	t.Helper()
	program := *binary
	if program == "" {
		program = filepath.Join(t.TempDir(), "miniapiserver")
		build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/miniapiserver")
		build.Dir = filepath.Join("..", "..", "..")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	var logs bytes.Buffer
	c := exec.CommandContext(t.Context(), program, "--ephemeral", "--lab", "--lab-page", "-1", "--secure-port", "0", "--output", "json")
	c.Stderr = &logs
	c.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		if err := c.Wait(); err != nil && t.Context().Err() == nil {
			t.Errorf("%v\n%s", err, logs.String())
		}
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("%v\n%s", err, logs.String())
	}
	var ready struct{ URL, CA, Token, LabPage string }
	if err := json.Unmarshal(line, &ready); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(ready.CA))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	t.Cleanup(client.CloseIdleConnections)
	return &realServer{t: t, url: ready.URL, token: ready.Token, page: ready.LabPage, client: client}
}

// send sends a request of a user that is no page.
func (s *realServer) send(method, path, contentType, body string, headers ...string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("User-Agent", "test-client/1")
	r.Header.Set("Authorization", "Bearer "+s.token)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		s.t.Fatal(err)
	}
}

// TestReal checks each view against the real program.
func TestReal(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the server")
	}
	s := startReal(t)
	tb := openAt(t, s.page, wide, high)
	tb.visit("")
	tb.shows(".status", "live")
	const apply, configMaps = "application/apply-patch+yaml", "/api/v1/namespaces/default/configmaps"
	s.send("PATCH", configMaps+"/settings?fieldManager=teacher", apply, `{"apiVersion":"v1","kind":"ConfigMap",
		"metadata":{"name":"settings","labels":{"app.kubernetes.io/name":"shop"}},"data":{"colour":"green","size":"3"}}`)
	s.send("GET", "/api/v1/namespaces/default/pods/none", "", "", "Impersonate-User", "alice")
	s.send("GET", configMaps+"/absent", "", "")

	tb.shows(".canvas", "test-client/1")
	tb.fill("input[type=search]", "test-client settings")
	tb.until(`document.querySelectorAll(".canvas .line").length === 1`)
	tb.click(".canvas .line")
	tb.shows(".detail h2", "default/settings")
	tb.shows(".waterfall", "authorization")
	tb.picture("real-request")

	tb.press("\x1b")
	tb.fill("input[type=search]", "alice 403")
	tb.until(`document.querySelectorAll(".canvas .line").length === 1`)
	tb.click(".canvas .line")
	tb.shows(".cause", "alice lacks get pods none")

	s.send("PATCH", configMaps+"/settings?fieldManager=student&force=true", apply, `{"apiVersion":"v1","kind":"ConfigMap",
		"metadata":{"name":"settings"},"data":{"colour":"blue"}}`)
	tb.goTo("objects/configmaps/default/settings")
	tb.shows("h1", "ConfigMap default/settings")
	for line, want := range map[string]string{"colour: blue": "student", `size: "3"`: "teacher", "app.kubernetes.io/name: shop": "teacher"} {
		tb.until(fmt.Sprintf("%s.includes(%q)", author(line), want))
	}
	tb.until(`document.querySelectorAll(".history > li").length === 2`)
	tb.shows(".history", "data.colour")
	tb.shows(".history", "kubernetes-admin")
	tb.picture("real-object")
	tb.click(".history > li:last-child button.link")
	tb.shows(".blame", "colour: green")
	tb.click(".title button.link")
	tb.shows(".blame", "colour: blue")
	s.send("DELETE", configMaps+"/settings", "", "")
	tb.shows(".title", "deleted")
	tb.shows(".history .deleted", "delete")

	tb.goTo("watches")
	tb.shows(".title", "of this page")
	tb.goTo("levels")
	tb.shows("[data-level=workload-low] h2", "seats")
	tb.until(`document.querySelector("[data-level=exempt]")`)
	tb.shows("[data-level=workload-low] .lanes", "queues, empty")
	tb.picture("real-levels")
	tb.goTo("webhooks")
	tb.shows(".empty", "There are no webhooks")
	tb.goTo("controllers")
	tb.until(`document.querySelectorAll("tbody tr").length > 3`)
	tb.picture("real-controllers")
	tb.goTo("access")
	tb.until(`document.querySelectorAll(".access .bar input").length > 4`)
	tb.fill(".access .bar input", "system:kube-scheduler")
	tb.shows(".decision.allowed", "system:kube-scheduler")
	tb.shows(".matrix", "pods")
	tb.picture("real-access")
	tb.clean("404")
}

// TestRealRefusals checks what the page shows of requests that the real program refuses, and of a watch.
func TestRealRefusals(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the server")
	}
	s := startReal(t)
	tb := openAt(t, s.page, wide, high)
	tb.visit("")
	tb.shows(".status", "live")
	const policies, configMaps = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic", "/api/v1/namespaces/default/configmaps"
	s.send("POST", policies+"ies", "application/json", `{"metadata":{"name":"short-names"},"spec":{
		"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]},
		"validations":[{"expression":"size(object.metadata.name) < 10","message":"the name is too long"}]}}`)
	s.send("POST", policies+"ybindings", "application/json", `{"metadata":{"name":"everywhere"},
		"spec":{"policyName":"short-names","validationActions":["Deny"]}}`)
	open := func(search, shows string) {
		t.Helper()
		tb.press("\x1b")
		tb.fill("input[type=search]", search)
		tb.until(`document.querySelectorAll(".canvas .line").length === 1`)
		tb.click(".canvas .line")
		tb.shows(".cause", shows)
	}
	// The policy is in force some time after it was written.
	for i := range 200 {
		s.send("POST", configMaps, "application/json", fmt.Sprintf(`{"metadata":{"name":"much-too-long-%d"}}`, i))
		tb.until(fmt.Sprintf(`document.querySelector(".canvas").innerText.includes("much-too-long-%d")`, i))
		if value[bool](tb, `[...document.querySelectorAll(".canvas .line")].some(e => e.innerText.includes("422"))`) {
			open(fmt.Sprintf("much-too-long-%d", i), "size(object.metadata.name) < 10")
			break
		}
	}
	tb.shows(".cause", "size(object.metadata.name)")
	tb.picture("real-policy")

	s.send("POST", configMaps, "application/json", `{"metadata":{"name":"a"},"data":{"x":"1"}}`)
	s.send("PUT", configMaps+"/a?fieldManager=one", "application/json", `{"metadata":{"name":"a"},"data":{"x":"2"}}`)
	s.send("PUT", configMaps+"/a?fieldManager=two", "application/json", `{"metadata":{"name":"a","resourceVersion":"1"},"data":{"x":"3"}}`)
	open("409 update", "as one")
	tb.picture("real-conflict")
	s.send("PATCH", configMaps+"/a?fieldManager=three", "application/apply-patch+yaml",
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"x":"4"}}`)
	open("409 patch", "one")
	tb.picture("real-apply-conflict")

	r, err := http.NewRequestWithContext(t.Context(), "GET", s.url+configMaps+"?watch=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("User-Agent", "watcher/1")
	resp, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	tb.goTo("watches")
	tb.shows("tbody", "watcher/1")
	s.send("DELETE", configMaps+"/a", "", "")
	tb.until(`[...document.querySelectorAll("tbody tr")].some(e => e.innerText.includes("watcher/1") && Number(e.cells[4].innerText) > 0)`)
	tb.picture("real-watches")
	tb.goTo("webhooks")
	tb.shows("table", "short-names")
	tb.shows("table", "everywhere (Deny)")
	tb.picture("real-webhooks")
	tb.clean("404")
}
