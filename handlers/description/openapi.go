package description

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/mux"

	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/request"
)

// Media types of documents in protobuf. Clients before 1.27 send an @, which is not allowed in
// media types, in place of the second dot.
const (
	openAPIv2Protobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
	openAPIv3Protobuf = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
)

// openAPIRoutes adds the OpenAPI documents: one of version 2, and one of version 3 for each
// group version, with an index of them.
func (h *Handler) openAPIRoutes(m *mux.Router) {
	m.HandleFunc("/openapi/v2", h.serveOpenAPIv2)
	m.HandleFunc("/openapi/v3", h.serveOpenAPIIndex)
	m.PathPrefix("/openapi/v3/").HandlerFunc(h.serveOpenAPIv3)
	h.addToIndex("/openapi/v2", "/openapi/v3", "/openapi/v3/")
}

func (h *Handler) serveOpenAPIv2(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Accept-Encoding")
	w.Header().Add("Vary", "Accept")
	contentType, ok := openAPIContentType(r, openAPIv2Protobuf)
	if !ok {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	doc, err := h.schemas.v2(h.Catalogue, h.Aggregation.OpenAPIV2())
	if err != nil {
		h.failOpenAPI(w, r, err)
		return
	}
	h.serveOpenAPIDocument(w, r, doc, contentType, representation.AcceptsGzip(r))
}

// serveOpenAPIIndex lists the documents of version 3, each with the hash of its content, under
// which clients may cache it forever.
func (h *Handler) serveOpenAPIIndex(w http.ResponseWriter, r *http.Request) {
	docs, err := h.schemas.v3(h.Catalogue)
	if err != nil {
		h.failOpenAPI(w, r, err)
		return
	}
	type entry struct {
		ServerRelativeURL string `json:"serverRelativeURL"`
	}
	index := struct {
		Paths map[string]entry `json:"paths"`
	}{map[string]entry{}}
	for name, doc := range docs {
		index.Paths[name] = entry{openAPIURL(name, doc.hash)}
	}
	for name, url := range h.Aggregation.OpenAPIV3URLs() {
		index.Paths[name] = entry{url}
	}
	body, err := json.Marshal(index)
	if err != nil {
		h.failOpenAPI(w, r, err)
		return
	}
	// Clients expect this type, which net/http detects in kube-apiserver.
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	http.ServeContent(w, r, "", h.openAPIIndex.modifiedAt(body, h.Now()), bytes.NewReader(body))
}

// indexVersion is the last version of the index of OpenAPI documents.
type indexVersion struct {
	mu       sync.Mutex
	hash     string
	modified time.Time
}

// modifiedAt returns the time at which the index got its content. The header Last-Modified has seconds, so
// a version is at least one later than the previous one: else clients would keep that until the next change.
func (v *indexVersion) modifiedAt(body []byte, now time.Time) time.Time {
	hash := hashOf(body)
	v.mu.Lock()
	defer v.mu.Unlock()
	if hash != v.hash {
		earliest := v.modified.Add(time.Second)
		if v.hash, v.modified = hash, now.Truncate(time.Second); v.modified.Before(earliest) {
			v.modified = earliest
		}
	}
	return v.modified
}

func openAPIURL(name, hash string) string {
	return (&url.URL{Path: "/openapi/v3/" + name, RawQuery: "hash=" + url.QueryEscape(hash)}).String()
}

func (h *Handler) serveOpenAPIv3(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/openapi/v3/")
	if remote := h.Aggregation.RemoteWithOpenAPIV3(name); remote != nil {
		h.ForwardToRemote(w, r, remote)
		return
	}
	doc, err := h.schemas.v3Named(h.Catalogue, name)
	switch {
	case err != nil:
		h.failOpenAPI(w, r, err)
		return
	case doc == nil:
		w.WriteHeader(http.StatusNotFound)
		return
	}
	contentType, ok := openAPIContentType(r, openAPIv3Protobuf)
	if !ok && len(representation.ParseAccept(r.Header.Get("Accept"))) == 0 {
		return // as kube-apiserver, which finds nothing to refuse
	}
	w.Header().Add("Vary", "Accept")
	if !ok {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	if hash := request.From(r.Context()).Info.Query.Get("hash"); hash != "" {
		if hash != doc.hash {
			w.Header().Set("Content-Type", contentType) // prevents the HTML body of http.Redirect
			w.Header().Set("Etag", strconv.Quote(doc.hash))
			http.Redirect(w, r, openAPIURL(name, doc.hash), http.StatusMovedPermanently)
			return
		}
		w.Header().Set("Cache-Control", "public, immutable")
		w.Header().Set("Expires", h.Now().AddDate(1, 0, 0).UTC().Format(http.TimeFormat))
	}
	h.serveOpenAPIDocument(w, r, doc, contentType, false)
}

// failOpenAPI responds to a request whose document cannot be made.
func (h *Handler) failOpenAPI(w http.ResponseWriter, r *http.Request, err error) {
	h.Logger.ErrorContext(r.Context(), "cannot make an OpenAPI document", "path", r.URL.Path, "error", err)
	w.WriteHeader(http.StatusServiceUnavailable)
}

// openAPIContentType negotiates between JSON and protobuf. It reports false if the client accepts neither.
func openAPIContentType(r *http.Request, protobuf string) (string, bool) {
	accept := strings.ReplaceAll(r.Header.Get("Accept"), "@v1.0+protobuf", ".v1.0+protobuf")
	if accept == "" {
		accept = "*/*"
	}
	for _, c := range representation.ParseAccept(accept) {
		switch c.Name {
		case "*/*", "application/*", "application/json":
			return "application/json", true
		case protobuf:
			return protobuf, true
		}
	}
	return "", false
}

// serveOpenAPIDocument sends a document. It is cached compressed, and is decompressed unless
// the response is to be compressed. As in kube-apiserver, only the document of version 2 ever is.
func (h *Handler) serveOpenAPIDocument(w http.ResponseWriter, r *http.Request, doc *openAPIDocument, contentType string, compress bool) {
	content, err := h.schemas.content(doc, contentType)
	if err != nil {
		h.failOpenAPI(w, r, err)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Etag", strconv.Quote(doc.hash))
	if !compress {
		http.ServeContent(w, r, "", doc.modified, content.Plain())
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	http.ServeContent(w, r, "", doc.modified, content.Gzip())
}
