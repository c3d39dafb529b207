package representation

import (
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Page is a page about the server, which is text for people, and an object of a kind for programs that name the kind
// and one of its versions in the Accept header.
type Page struct {
	Group, Kind string
	Versions    []string
}

const mediaText = "text/plain"

// offerPageError is the offer of the errors of pages.
var offerPageError = Offer{byParameters: OfferObject.byParameters, documents: true, noProto: true}

// NegotiatePage chooses the representation of a page by the Accept header. The version is that of the object, or empty
// if the client gets the text.
func (p *Responder) NegotiatePage(r *http.Request, page Page) (m Media, version string, err error) {
	accept := r.Header.Get("Accept")
	if strings.TrimSpace(accept) == "" {
		return Media{}, "", nil
	}
	offered := []string{MediaJSON, MediaYAML, mediaText}
	if p.CBOR {
		offered = append(offered, MediaCBOR)
	}
	for _, c := range ParseAccept(accept) {
		for _, name := range offered {
			if !c.covers(name) || c.Params["stream"] != "" || c.Params["sv"] != "" {
				continue
			}
			version, ok := c.versionOf(page, name == mediaText)
			if !ok {
				continue
			}
			format, _ := FormatOf(name) // that of the text does not matter
			return Media{Format: format, Pretty: c.Params["pretty"] == "1" || prettyWanted(r)}, version, nil
		}
	}
	return Media{}, "", NewStatusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"only the following media types are accepted: "+strings.Join(offered, ", "), nil)
}

// covers reports whether a clause names a media type, or all of its kind.
func (c Clause) covers(name string) bool {
	kind, _, _ := strings.Cut(name, "/")
	return c.Name == name || c.Name == kind+"/*" || c.Name == "*/*"
}

// versionOf returns the version of a page that a clause requests, which the text does not have, and reports whether the
// page has that form.
func (c Clause) versionOf(page Page, text bool) (string, bool) {
	named := false
	for _, param := range []string{"as", "g", "v"} {
		_, ok := c.Params[param]
		named = named || ok
	}
	if text {
		return "", !named
	}
	version := c.Params["v"]
	return version, c.Params["as"] == page.Kind && c.Params["g"] == page.Group && slices.Contains(page.Versions, version)
}

// WritePageError responds with the Status of an error of NegotiatePage.
func (p *Responder) WritePageError(w http.ResponseWriter, r *http.Request, err error) {
	p.writeError(w, r, offerPageError, err)
}

// WritePageObject sends the object of a page, whose media type names the kind and the version.
func (p *Responder) WritePageObject(w http.ResponseWriter, m Media, page Page, version string, data []byte) error {
	mediaType, body, err := m.encode(data)
	if err == nil {
		WriteBody(w, http.StatusOK, mediaType+";g="+page.Group+";v="+version+";as="+page.Kind, body)
	}
	return err
}
