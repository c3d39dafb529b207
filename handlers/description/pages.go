package description

import (
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/mux"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/request"
)

// The pages /statusz and /flagz are objects of this group for programs, in these versions, the first of which is
// deprecated.
const (
	pageGroup      = "config.k8s.io"
	pageDeprecated = "v1alpha1"
	pageCurrent    = "v1beta1"
)

// component is the name of the server in its pages.
const component = "apiserver"

// page is one of the pages.
type page struct {
	path, resource, kind string
	// text returns the text, with a delimiter between names and values. object returns the object.
	text   func(delimiter string) string
	object func(header pageHeader) any
}

// pageHeader begins the object of a page.
type pageHeader struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}

// statusz is the object of /statusz.
type statusz struct {
	pageHeader       `json:",inline"`
	StartTime        metav1.Time `json:"startTime"`
	UptimeSeconds    int64       `json:"uptimeSeconds"`
	GoVersion        string      `json:"goVersion"`
	BinaryVersion    string      `json:"binaryVersion"`
	EmulationVersion string      `json:"emulationVersion,omitempty"`
	Paths            []string    `json:"paths"`
}

// flagz is the object of /flagz.
type flagz struct {
	pageHeader `json:",inline"`
	Flags      map[string]string `json:"flags,omitempty"`
}

// pageRoutes adds /flagz and /statusz. The latter is last, because it names the other paths.
func (h *Handler) pageRoutes(m *mux.Router) {
	if h.Flags != nil {
		h.addPage(m, &page{path: "/flagz", resource: "flagz", kind: "Flagz", text: h.flagzText, object: func(header pageHeader) any {
			return flagz{header, h.Flags}
		}})
	}
	if h.Gates.Enabled(features.ComponentStatusz) {
		start, paths := h.Now(), debugPaths(h.listed)
		status := func(header pageHeader) statusz {
			return statusz{header, metav1.NewTime(start), max(0, int64(h.Now().Sub(start)/time.Second)), h.Version.GoVersion,
				strings.TrimPrefix(h.Version.GitVersion, "v"), h.Version.EmulationMajor + "." + h.Version.EmulationMinor, paths}
		}
		h.addPage(m, &page{path: "/statusz", resource: "statusz", kind: "Statusz",
			text:   func(delimiter string) string { return status(pageHeader{}).text(delimiter) },
			object: func(header pageHeader) any { return status(header) },
		})
	}
}

// debugPaths returns the first segments of paths that lead to neither objects nor their descriptions.
func debugPaths(listed []string) []string {
	found := map[string]bool{}
	for _, path := range listed {
		name, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		switch name {
		case "", "apis", "api", "openid", "openapi", ".well-known":
		default:
			found["/"+name] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func (h *Handler) addPage(m *mux.Router, p *page) {
	m.HandleFunc(p.path, func(w http.ResponseWriter, r *http.Request) { h.servePage(w, r, p) })
	h.addToIndex(p.path)
}

// servePage serves a page in the form that the client accepts, for every method.
func (h *Handler) servePage(w http.ResponseWriter, r *http.Request, p *page) {
	scope := request.From(r.Context())
	scope.CountedAs = &request.Counted{Resource: p.resource}
	form := representation.Page{Group: pageGroup, Kind: p.kind, Versions: []string{pageDeprecated, pageCurrent}}
	media, version, err := h.responder.NegotiatePage(r, form)
	switch {
	case err != nil:
		h.responder.WritePageError(w, r, err)
		return
	case version == "":
		representation.WriteBody(w, http.StatusOK, "text/plain; charset=utf-8", []byte(p.header()+p.text(pageDelimiter())))
		return
	}
	scope.CountedAs.Group, scope.CountedAs.Version = pageGroup, version
	if version == pageDeprecated {
		h.ReportDeprecated(scope, "This version of the "+p.resource+" endpoint is deprecated. Please use a newer version.")
	}
	data, err := json.Marshal(p.object(pageHeader{
		metav1.TypeMeta{Kind: p.kind, APIVersion: pageGroup + "/" + version}, metav1.ObjectMeta{Name: component},
	}))
	if err == nil {
		err = h.responder.WritePageObject(w, media, form, version, data)
	}
	if err != nil {
		h.responder.WritePageError(w, r, err)
	}
}

// header returns the first lines of the text of a page.
func (p *page) header() string {
	return "\n" + component + " " + p.resource + "\nWarning: This endpoint is not meant to be machine parseable, " +
		"has no formatting compatibility guarantees and is for debugging purposes only.\n"
}

// pageDelimiter returns what stands between names and values in a text. It differs from response to response, so that
// no program relies on the layout.
func pageDelimiter() string {
	delimiters := []string{":", ": ", "=", " "}
	return delimiters[rand.IntN(len(delimiters))]
}

func (s statusz) text(delimiter string) string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			b.WriteString(name + delimiter + " " + html.EscapeString(value))
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	line("Started", s.StartTime.Format(time.UnixDate))
	line("Up", fmt.Sprintf("%d hr %02d min %02d sec", s.UptimeSeconds/3600, s.UptimeSeconds/60%60, s.UptimeSeconds%60))
	line("Go version", s.GoVersion)
	line("Binary version", s.BinaryVersion)
	line("Emulation version", s.EmulationVersion)
	line("Paths", strings.Join(s.Paths, " "))
	return b.String()
}

func (h *Handler) flagzText(delimiter string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(h.Flags)) {
		b.WriteString(name + delimiter + h.Flags[name] + "\n")
	}
	return b.String()
}
