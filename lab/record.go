package lab

import (
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/miniapiserver/miniapiserver/request"
)

// record is a request while it is served, and until its object is made. What it has of the HTTP request is copied, because
// that ends with the response.
type record struct {
	lab   *Lab
	scope *request.Scope
	name  string
	bytes int64 // that it holds while it is queued

	received, ended                               time.Time
	method, uri, userAgent, sourceIP, contentType string
	bodyBytes                                     int64
	code, written                                 int
	lightened                                     bool   // the states were dropped
	digest                                        string // of the body of a lightened record
}

// recordBytes is the memory of a record without the states of an object.
const recordBytes = 2048

// Lengths up to which the lab keeps what a client chooses, in bytes.
const (
	maxAgent = 256
	maxURI   = 2048
	maxText  = 4096 // a message
	maxName  = 128  // of an audit ID that becomes the name of a Request
)

// Begin implements request.Recorder.
func (l *Lab) Begin(r *http.Request, scope *request.Scope, received time.Time) request.Recording {
	rec := &record{
		lab: l, scope: scope, received: received, method: r.Method, uri: cut(safeURI(r), maxURI),
		userAgent: cut(r.UserAgent(), maxAgent), contentType: cut(r.Header.Get("Content-Type"), maxName),
		bodyBytes: max(r.ContentLength, 0),
	}
	rec.sourceIP, _, _ = net.SplitHostPort(r.RemoteAddr)
	return rec
}

// Started implements request.Recording.
func (r *record) Started(code int) {
	started := *r // the goroutine of the lab reads it while the request goes on
	started.code = code
	started.bytes = recordBytes
	started.name = r.pickName()
	r.name = started.name
	r.lab.add(&started)
}

// Ended implements request.Recording.
func (r *record) Ended(code, written int) {
	r.code, r.written, r.ended = code, written, time.Now()
	if r.name == "" {
		r.name = r.pickName()
	}
	r.bytes = recordBytes
	found := r.found()
	for i := range found.States {
		r.bytes += int64(len(found.States[i].Data))
	}
	r.bytes += int64(len(found.Patch.Data))
	r.lab.add(r)
}

// lighten drops the states of the object of a queued record, except the digest of the body. It returns the number of bytes that it
// freed.
func (r *record) lighten() int64 {
	freed := r.bytes - recordBytes
	if found := r.found(); len(found.Patch.Data) > 0 {
		r.digest = digestOf(found.Patch.Data)
	} else if len(found.States) > 0 {
		r.digest = digestOf(found.States[0].Data)
	}
	r.scope.Account.DropStates()
	r.bytes, r.lightened = recordBytes, true
	return freed
}

func (r *record) found() request.Found { return r.scope.Account.Found() }

// pickName returns the audit ID, or another random ID if that cannot be a name.
func (r *record) pickName() string {
	if isName(r.scope.ID) {
		return r.scope.ID
	}
	return request.NewOrderedUUID(time.Now())
}

// nameOf returns the name of a record, or a random one if another request has it. The lock is held.
func (l *Lab) nameOf(r *record) string {
	if l.kept[r.name] != nil {
		return request.NewOrderedUUID(time.Now())
	}
	return r.name
}

// isName reports whether an audit ID can be the name of an object.
func isName(id string) bool {
	if id == "" || len(id) > maxName || id[0] == '.' || id[0] == '-' {
		return false
	}
	for i := range len(id) {
		if c := id[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' {
			return false
		}
	}
	return true
}

// safeURI returns the path and the query of a request. Of the query it has the parameters of the API whose values are no
// contents: others may be credentials, the query of a proxied request, or the command of an exec.
func safeURI(r *http.Request) string {
	if r.URL.RawQuery == "" {
		return r.URL.RequestURI()
	}
	var out strings.Builder
	out.WriteString(r.URL.EscapedPath())
	separator := "?"
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		if !isShownParameter(pair) {
			pair = "(left out)"
		}
		out.WriteString(separator + pair)
		if separator = "&"; out.Len() > maxURI {
			break
		}
	}
	return out.String()
}

// isShownParameter reports whether the lab keeps a parameter of a query, which is NAME=VALUE.
func isShownParameter(pair string) bool {
	name, _, _ := strings.Cut(pair, "=")
	return shownParameters[name]
}

// shownParameters are the parameters of a query that the lab keeps.
var shownParameters = map[string]bool{
	"allowWatchBookmarks": true, "continue": true, "fieldSelector": true, "labelSelector": true, "limit": true, "resourceVersion": true,
	"resourceVersionMatch": true, "sendInitialEvents": true, "shardSelector": true, "timeoutSeconds": true, "timeout": true, "watch": true,
	"dryRun": true, "fieldManager": true, "fieldValidation": true, "force": true, "pretty": true, "includeObject": true, "export": true,
	"exact": true, "gracePeriodSeconds": true, "orphanDependents": true, "propagationPolicy": true,
	"ignoreStoreReadErrorWithClusterBreakingPotential": true, "container": true, "follow": true, "insecureSkipTLSVerifyBackend": true,
	"limitBytes": true, "ports": true, "previous": true, "sinceSeconds": true, "sinceTime": true, "stderr": true, "stdin": true,
	"stdout": true, "stream": true, "tailLines": true, "timestamps": true, "tty": true, "verbose": true, "exclude": true,
}

// cut returns the beginning of a text of more than n bytes.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "..."
}
