package conversation

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

// File is a file of recorded conversations.
type File struct {
	// Group is the name of the file without its extension.
	Group     string     `json:"-"`
	Scenarios []Scenario `json:"scenarios"`
}

// Scenario is a conversation that is independent of others.
type Scenario struct {
	Name string `json:"name"`
	// Namespace is false for a scenario without a namespace of its own.
	Namespace *bool `json:"namespace,omitempty"`
	// Serial scenarios affect others and run alone.
	Serial bool `json:"serial,omitempty"`
	// Cleanup lists paths to be deleted at the end.
	Cleanup []string `json:"cleanup,omitempty"`
	// ServiceAccountSeconds limits the wait for the namespace's default service account; nil means
	// 5.
	ServiceAccountSeconds *float64 `json:"serviceAccountSeconds,omitempty"`
	Steps                 []Step   `json:"steps"`
}

// Step is one request and its recorded response.
type Step struct {
	ID     string `json:"id"`
	Method string `json:"method"`
	Path   string `json:"path"`
	// Headers are the request's; lines of a value are several headers of the name.
	Headers map[string]string `json:"headers,omitempty"`
	// Body is a JSON value, a string that is sent verbatim, or {"base64": ...}.
	Body json.RawMessage `json:"body,omitempty"`
	// Token is the bearer token; nil means the replayer's token, "" none.
	Token *string `json:"token,omitempty"`
	// Save maps variables to paths in the response body.
	Save   map[string]string `json:"save,omitempty"`
	Stream *Stream           `json:"stream,omitempty"`
	Retry  *Retry            `json:"retry,omitempty"`
	// Ignore lists response paths that are not compared.
	Ignore []string `json:"ignore,omitempty"`
	// Only lists the paths of the body that are compared; nil means all.
	Only []string `json:"only,omitzero"`
	// Sleep is the delay before the request in seconds.
	Sleep float64 `json:"sleep,omitempty"`
	// Timing is set in a recording of the lab.
	Timing *Timing `json:"timing,omitempty"`
	// Expect is the recorded response: status, headers, and body, events or only.
	Expect map[string]any `json:"expect,omitempty"`
}

// Stream limits a watch: it ends after Events events (nil: no limit) or after Seconds (nil: 5).
type Stream struct {
	Events  *int     `json:"events,omitempty"`
	Seconds *float64 `json:"seconds,omitempty"`
}

// Retry repeats a request until its response has a status, or values at some paths, for at most
// Seconds (nil: 10).
type Retry struct {
	Until   any      `json:"until"`
	Seconds *float64 `json:"seconds,omitempty"`
}

// hasNamespace reports whether the scenario has a namespace of its own.
func (s Scenario) hasNamespace() bool { return s.Namespace == nil || *s.Namespace }

// runsAlone reports whether no other scenario may run at the same time: it is marked as serial, or
// it grants cluster-wide permissions to users for which other scenarios expect rejections.
func (s Scenario) runsAlone() bool {
	return s.Serial || s.isRecorded() || slices.ContainsFunc(s.Steps, Step.affectsOtherUsers)
}

// affectsOtherUsers reports whether a step changes the permissions of users in other scenarios: it
// binds a role cluster-wide to users whose names are not specific to this run, or it extends
// default roles.
func (s Step) affectsOtherUsers() bool {
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

// seconds converts v, or def if v is nil, to a duration.
func seconds(v *float64, def float64) time.Duration {
	if v == nil {
		v = &def
	}
	return time.Duration(*v * float64(time.Second))
}

// Load reads files of conversations, and recordings of the lab; each may be compressed (*.gz).
func Load(paths ...string) ([]File, error) {
	files := make([]File, 0, len(paths))
	for _, path := range paths {
		f, err := loadFile(path)
		if err != nil {
			return nil, fmt.Errorf("conversations %s: %w", path, err)
		}
		files = append(files, f)
	}
	return files, nil
}

func loadFile(path string) (File, error) {
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
	f := File{Group: strings.TrimSuffix(strings.TrimSuffix(name, ".json"), ".jsonl")}
	return f, f.read(data)
}

func gunzip(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
