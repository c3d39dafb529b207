package description

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/mux"

	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/request"
)

// The protobuf form of documents. Clients before 1.27 write an @ where the
// second type has a dot, which no media type may have.
const (
	openAPIv2Protobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
	openAPIv3Protobuf = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
)

// openAPIRoutes adds the schemas of what is served: in one document of OpenAPI
// version 2, and in one of version 3 for each group version, which an index
// lists.
func (h *Handler) openAPIRoutes(m *mux.Router) {
	m.HandleFunc("/openapi/v2", h.serveOpenAPIv2)
	m.HandleFunc("/openapi/v3", h.serveOpenAPIIndex)
	m.PathPrefix("/openapi/v3/").HandlerFunc(h.serveOpenAPIv3)
	h.addToIndex("/openapi/v2", "/openapi/v3", "/openapi/v3/")
}

func (h *Handler) serveOpenAPIv2(w http.ResponseWriter, r *http.Request) {
	contentType, ok := openAPIContentType(w, r, openAPIv2Protobuf)
	if !ok {
		return
	}
	doc, err := h.schemas.v2(h.Catalogue, h.Aggregation.OpenAPIV2(), h.Version.GitVersion, h.Now)
	if err != nil {
		h.openAPIFailed(w, r, err)
		return
	}
	h.serveOpenAPIDocument(w, r, doc, contentType)
}

// serveOpenAPIIndex lists the documents of version 3, each with the hash of its
// content, under which it may be cached for good.
func (h *Handler) serveOpenAPIIndex(w http.ResponseWriter, r *http.Request) {
	docs, err := h.schemas.v3(h.Catalogue, h.Version.GitVersion, h.Now)
	if err != nil {
		h.openAPIFailed(w, r, err)
		return
	}
	type place struct {
		ServerRelativeURL string `json:"serverRelativeURL"`
	}
	var made time.Time
	index := struct {
		Paths map[string]place `json:"paths"`
	}{map[string]place{}}
	for name, doc := range docs {
		index.Paths[name] = place{openAPIURL(name, doc.hash)}
		if doc.made.After(made) {
			made = doc.made
		}
	}
	for name, url := range h.Aggregation.OpenAPIV3URLs() {
		index.Paths[name] = place{url}
	}
	body, err := json.Marshal(index)
	if err != nil {
		h.openAPIFailed(w, r, err)
		return
	}
	w.Header().Set("Etag", strconv.Quote(hashOf(body)))
	// kube-apiserver lets the type be guessed, and so clients expect this one.
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	http.ServeContent(w, r, "", made, bytes.NewReader(body))
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
	contentType, ok := openAPIContentType(w, r, openAPIv3Protobuf)
	if !ok {
		return
	}
	doc, err := h.schemas.v3One(h.Catalogue, name, h.Version.GitVersion, h.Now)
	switch {
	case err != nil:
		h.openAPIFailed(w, r, err)
		return
	case doc == nil:
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if hash := request.From(r.Context()).Info.Query.Get("hash"); hash != "" {
		if hash != doc.hash {
			w.Header().Set("Content-Type", contentType) // and so no page that says where to
			w.Header().Set("Etag", strconv.Quote(doc.hash))
			http.Redirect(w, r, openAPIURL(name, doc.hash), http.StatusMovedPermanently)
			return
		}
		w.Header().Set("Cache-Control", "public, immutable")
		w.Header().Set("Expires", h.Now().AddDate(1, 0, 0).UTC().Format(http.TimeFormat))
	}
	h.serveOpenAPIDocument(w, r, doc, contentType)
}

func (h *Handler) openAPIFailed(w http.ResponseWriter, r *http.Request, err error) {
	h.Logger.ErrorContext(r.Context(), "OpenAPI document cannot be made", "path", r.URL.Path, "error", err)
	w.WriteHeader(http.StatusServiceUnavailable)
}

// openAPIContentType chooses between JSON and protobuf; when the client wants
// neither it is told so.
func openAPIContentType(w http.ResponseWriter, r *http.Request, protobuf string) (string, bool) {
	w.Header().Set("Vary", "Accept")
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
	w.WriteHeader(http.StatusNotAcceptable)
	return "", false
}

// serveOpenAPIDocument sends a document, compressed if the client can take it so:
// that is how it is kept.
func (h *Handler) serveOpenAPIDocument(w http.ResponseWriter, r *http.Request, doc *openAPIDocument, contentType string) {
	content, err := h.schemas.content(doc, contentType)
	if err != nil {
		h.openAPIFailed(w, r, err)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Etag", strconv.Quote(doc.hash))
	w.Header().Add("Vary", "Accept-Encoding")
	if !representation.AcceptsGzip(r) {
		http.ServeContent(w, r, "", doc.made, content.Plain())
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	http.ServeContent(w, r, "", doc.made, content.Gzip())
}
