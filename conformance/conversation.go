package conformance

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// File is one file of recorded conversations.
type File struct {
	// Group is the name of the file without its extension.
	Group     string     `json:"-"`
	Scenarios []Scenario `json:"scenarios"`
}

// Scenario is a conversation that depends on no other.
type Scenario struct {
	Name string `json:"name"`
	// Namespace is false for a scenario that needs no namespace of its own.
	Namespace *bool `json:"namespace"`
	// Serial scenarios change what others could see, and run alone.
	Serial bool `json:"serial"`
	// Cleanup lists the paths to delete in the end.
	Cleanup []string `json:"cleanup"`
	// ServiceAccountSeconds bounds the wait for the namespace's default service
	// account; nil means 5.
	ServiceAccountSeconds *float64 `json:"serviceAccountSeconds"`
	Steps                 []Step   `json:"steps"`
}

// Step is one request, and the response that was recorded for it.
type Step struct {
	ID      string            `json:"id"`
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers"`
	// Body is a JSON value, a string sent as it is, or {"base64": ...}.
	Body json.RawMessage `json:"body"`
	// Token is the bearer token; nil means the replayer's and "" none.
	Token *string `json:"token"`
	// Save maps variables to paths in the response body.
	Save   map[string]string `json:"save"`
	Stream *Stream           `json:"stream"`
	Retry  *Retry            `json:"retry"`
	// Ignore lists response paths that are not compared.
	Ignore []string `json:"ignore"`
	// Only, when it is not nil, lists the paths of the body that are compared.
	Only []string `json:"only"`
	// Sleep is how many seconds to wait before the request.
	Sleep float64 `json:"sleep"`
	// Expect is the recorded response: status, headers, and body, events or
	// only.
	Expect map[string]any `json:"expect"`
}

// Stream says how much of a watch to read: Events of them (nil: no bound), for
// Seconds at most (nil: 5).
type Stream struct {
	Events  *int     `json:"events"`
	Seconds *float64 `json:"seconds"`
}

// Retry says to repeat a request until its response has a status, or values at
// some paths, for Seconds at most (nil: 10).
type Retry struct {
	Until   any      `json:"until"`
	Seconds *float64 `json:"seconds"`
}

// inNamespace tells whether the scenario wants a namespace of its own.
func (s Scenario) inNamespace() bool { return s.Namespace == nil || *s.Namespace }

// alone reports whether no other scenario may run at the same time: the recording
// says so, or the scenario gives permissions in the whole cluster to users that
// other scenarios are refused as.
func (s Scenario) alone() bool {
	return s.Serial || slices.ContainsFunc(s.Steps, Step.grantsOthers)
}

// grantsOthers reports whether a step changes what users of other scenarios may do:
// it binds a role in the whole cluster to users whose names are not this run's, or
// it adds to the default roles.
func (s Step) grantsOthers() bool {
	if s.Method == http.MethodGet || s.Method == http.MethodDelete || strings.Contains(s.Path, "dryRun=") {
		return false
	}
	switch {
	case strings.Contains(s.Path, "/clusterroles"):
		return bytes.Contains(s.Body, []byte(`"rbac.authorization.k8s.io/aggregate-to-`))
	case !strings.Contains(s.Path, "/clusterrolebindings"):
		return false
	}
	var binding struct{ Subjects []struct{ Kind, Name string } }
	if json.Unmarshal(s.Body, &binding) != nil {
		return false
	}
	for _, subject := range binding.Subjects {
		if subject.Kind != "ServiceAccount" && !strings.Contains(subject.Name, "${") {
			return true
		}
	}
	return false
}

// seconds is v as a duration, or that of def seconds when v is nil.
func seconds(v *float64, def float64) time.Duration {
	if v == nil {
		v = &def
	}
	return time.Duration(*v * float64(time.Second))
}

// Load reads conversation files: *.json or *.json.gz.
func Load(paths ...string) ([]File, error) {
	files := make([]File, 0, len(paths))
	for _, path := range paths {
		f, err := load(path)
		if err != nil {
			return nil, fmt.Errorf("conversations %s: %w", path, err)
		}
		files = append(files, f)
	}
	return files, nil
}

func load(path string) (File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return File{}, err
	}
	name := filepath.Base(path)
	if strings.HasSuffix(name, ".gz") {
		if data, err = gunzip(data); err != nil {
			return File{}, err
		}
		name = strings.TrimSuffix(name, ".gz")
	}
	f := File{Group: strings.TrimSuffix(name, ".json")}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&f); err != nil {
		return File{}, err
	}
	return f, nil
}

func gunzip(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
