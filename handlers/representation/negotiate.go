package representation

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/munnerz/goautoneg"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/request"
)

// Format is a serialisation.
type Format int

// The formats of objects.
const (
	FormatJSON Format = iota
	FormatYAML
	FormatProtobuf
	FormatCBOR
)

// Media types of the formats.
const (
	MediaJSON     = "application/json"
	MediaYAML     = "application/yaml"
	MediaProtobuf = "application/vnd.kubernetes.protobuf"
	MediaCBOR     = "application/cbor"
	mediaCBORSeq  = "application/cbor-seq"
)

// FormatOf returns the format of a media type.
func FormatOf(mediaType string) (f Format, ok bool) {
	switch mediaType {
	case MediaJSON:
		return FormatJSON, true
	case MediaYAML:
		return FormatYAML, true
	case MediaProtobuf:
		return FormatProtobuf, true
	case MediaCBOR:
		return FormatCBOR, true
	}
	return FormatJSON, false
}

// Media is the negotiated representation of a response.
type Media struct {
	Format Format
	Pretty bool
	// as and asVersion are the kind and the version of meta.k8s.io that objects are shown as, such
	// as a Table; empty if they are shown as their own kind.
	as, asVersion string
}

// Kinds as which objects can be shown.
const (
	asTable       = "Table"
	asPartial     = "PartialObjectMetadata"
	asPartialList = "PartialObjectMetadataList"
)

// streamContentType is the content type of a watch.
func (m Media) streamContentType() string {
	switch m.Format {
	case FormatProtobuf:
		return MediaProtobuf + ";stream=watch"
	case FormatCBOR:
		return mediaCBORSeq
	}
	return MediaJSON
}

// Offer lists the representations of a path. On most paths kube-apiserver checks the Accept
// header twice, first only the names of media types and then their parameters, with different
// error messages. If byName is empty, there is no first check.
type Offer struct {
	byName, byParameters string
	// stream is set for watches, and documents for responses that are not objects of the
	// catalogue, which have no other form.
	stream, documents bool
	// noProto is set for objects without a protobuf form.
	noProto bool
	// noTable is set for reviews and some subresources, which have no columns.
	noTable bool
	// kind is the kind as which a document can be shown, if it is not one of meta.k8s.io.
	kind schema.GroupVersionKind
	// cbor is set if the server serves CBOR, and noCBOR for documents that have no such form.
	cbor, noCBOR bool
}

// The offers of objects, lists, watches, responses of POST that are not the created object
// (reviews), documents, and groups.
var (
	OfferObject = Offer{
		byName:       MediaJSON + ", " + MediaYAML + ", " + MediaProtobuf,
		byParameters: MediaJSON + ", " + MediaYAML + ", " + MediaProtobuf,
	}
	OfferList = Offer{
		byName:       OfferObject.byName + ", " + MediaJSON + ";stream=watch, " + MediaProtobuf + ";stream=watch",
		byParameters: OfferObject.byParameters,
	}
	OfferWatch = Offer{
		byName:       OfferList.byName,
		byParameters: MediaJSON + ";stream=watch, " + MediaProtobuf + ";stream=watch",
		stream:       true,
	}
	OfferReview   = Offer{byName: OfferObject.byName, byParameters: OfferObject.byParameters, noTable: true}
	OfferDocument = Offer{byName: OfferObject.byName, byParameters: OfferObject.byParameters, documents: true}
	offerStatus   = Offer{byParameters: OfferObject.byParameters, documents: true}
	// In kube-apiserver, the aggregation layer serves the groups and the extension server
	// serves custom groups. Both have no check by name.
	OfferGroup = offerStatus
	// OfferCustomResources is the offer of the list of the custom resources of a group version.
	OfferCustomResources = Offer{byParameters: OfferObject.byParameters, documents: true, noCBOR: true}
)

// serves reports whether objects have a format.
func (o Offer) serves(f Format) bool { return f != FormatCBOR || o.cbor && !o.noCBOR }

// available returns a list of media types, in which those of CBOR follow the others of their kind.
func (o Offer) available(list string) string {
	if !o.serves(FormatCBOR) {
		return list
	}
	objects := OfferObject.byParameters
	list = strings.Replace(list, objects, objects+", "+MediaCBOR, 1)
	if strings.HasSuffix(list, ";stream=watch") {
		list += ", " + mediaCBORSeq
	}
	return list
}

// untyped returns the offer for objects of custom kinds: they have no protobuf form, and their
// paths have no check by name.
func (o Offer) untyped() Offer {
	o.noProto, o.byName = true, ""
	if !o.stream {
		o.byParameters = OfferObject.byParameters
	}
	return o
}

// Negotiate chooses the representation of a document by the Accept header.
func (p *Responder) Negotiate(r *http.Request, o Offer) (Media, error) {
	o.cbor = p.CBOR
	return negotiate(r, o)
}

// negotiate chooses the representation of the response by the Accept header.
func negotiate(r *http.Request, o Offer) (Media, error) {
	accept := strings.TrimSpace(r.Header.Get("Accept"))
	if accept == "" || accept == MediaJSON || accept == "*/*" {
		return Media{Pretty: prettyWanted(r)}, nil
	}
	if o.byName != "" && !o.hasName(accept) {
		return Media{}, NewStatusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
			"406: Not Acceptable\n\nAvailable representations: "+o.available(o.byName), &metav1.StatusDetails{})
	}
	for _, c := range ParseAccept(accept) {
		m, ok := c.match(o)
		if !ok {
			continue
		}
		m.Pretty = m.Pretty || prettyWanted(r)
		return m, nil
	}
	if o.stream {
		// kube-apiserver finds a representation of an object first, and then one of a stream.
		return Media{}, o.notAcceptable(OfferObject.byParameters)
	}
	return Media{}, o.notAcceptable(o.byParameters)
}

// NegotiateAs chooses the representation of a document that clients ask for as another kind than that of the
// path. It reports false if the Accept header does not name this kind: other alternatives do not matter then,
// nor do they if it does.
func (p *Responder) NegotiateAs(r *http.Request, kind schema.GroupVersionKind) (Media, bool) {
	o := Offer{cbor: p.CBOR, kind: kind}
	for _, c := range ParseAccept(r.Header.Get("Accept")) {
		if m, ok := c.match(o); ok && m.as == kind.Kind {
			m.Pretty = m.Pretty || prettyWanted(r)
			return m, true
		}
	}
	return Media{}, false
}

// notAcceptable returns the error of an Accept header without an offered media type.
func (o Offer) notAcceptable(offered string) error {
	return NewStatusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"only the following media types are accepted: "+o.available(offered), nil)
}

// errorMedia returns the representation of an error. If the Accept header names none of those that are
// offered, it is JSON and accepted is false.
func (p *Responder) errorMedia(r *http.Request, o Offer) (m Media, accepted bool) {
	m, err := p.Negotiate(r, o)
	return m, err == nil
}

// AcceptsName reports whether the Accept header of a request passes the first check of an offer, by
// the names of media types.
func (p *Responder) AcceptsName(r *http.Request, o Offer) bool {
	o.cbor = p.CBOR
	accept := strings.TrimSpace(r.Header.Get("Accept"))
	return accept == "" || o.byName == "" || o.hasName(accept)
}

// hasName reports whether the server has any of the named media types.
func (o Offer) hasName(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		name, _, _ := strings.Cut(part, ";")
		name = strings.TrimSpace(name)
		if f, ok := FormatOf(name); ok && o.serves(f) || name == "*/*" ||
			name == mediaCBORSeq && strings.HasSuffix(o.available(o.byName), mediaCBORSeq) {
			return true
		}
	}
	return false
}

// Clause is one alternative of an Accept header.
type Clause struct {
	Name   string
	Params map[string]string
}

// ParseAccept returns the valid alternatives of an Accept header, the preferred one first.
func ParseAccept(accept string) []Clause {
	parsed := goautoneg.ParseAccept(accept)
	out := make([]Clause, len(parsed))
	for i, a := range parsed {
		out[i] = Clause{Name: a.Type + "/" + a.SubType, Params: a.Params}
	}
	return out
}

// match returns the representation for a clause, and reports whether there is one.
func (c Clause) match(o Offer) (Media, bool) {
	if f, ok := FormatOf(c.Name); ok {
		return c.matchFormat(o, f)
	}
	if c.Name != "*/*" && c.Name != "application/*" {
		return Media{}, false
	}
	for f := FormatJSON; f <= FormatProtobuf; f++ {
		if m, ok := c.matchFormat(o, f); ok {
			return m, true
		}
	}
	return Media{}, false
}

// matchFormat is match for one format.
func (c Clause) matchFormat(o Offer, f Format) (Media, bool) {
	m := Media{Format: f, Pretty: c.Params["pretty"] == "1"}
	if !o.serves(f) {
		return m, false
	}
	// A client that asks for a stream where there is none gets the object.
	if s := c.Params["stream"]; s != "" && (s != "watch" || f == FormatYAML) {
		return m, false
	}
	for _, p := range []string{"as", "g", "v"} {
		if _, ok := c.Params[p]; ok {
			m.as, m.asVersion = c.Params["as"], c.Params["v"]
			return m, o.shows(m, c.Params["g"])
		}
	}
	return m, !o.noProto || f != FormatProtobuf
}

// shows reports whether objects can be shown as m asks.
func (o Offer) shows(m Media, group string) bool {
	if o.kind.Kind != "" {
		return o.kind == schema.GroupVersionKind{Group: group, Version: m.asVersion, Kind: m.as}
	}
	switch m.as {
	case asTable:
		if m.Format == FormatProtobuf || m.Format == FormatCBOR || o.noTable {
			return false
		}
	case asPartial, asPartialList:
	default:
		return false
	}
	return !o.documents && group == metav1.GroupName && (m.asVersion == "v1" || m.asVersion == "v1beta1")
}

// prettyWanted reports whether a response should be indented for a person.
func prettyWanted(r *http.Request) bool {
	if pretty := request.From(r.Context()).Info.Query.Get("pretty"); pretty != "" {
		wanted, err := strconv.ParseBool(pretty)
		return err == nil && wanted
	}
	ua := r.UserAgent()
	return strings.HasPrefix(ua, "curl") || strings.HasPrefix(ua, "Wget") || strings.HasPrefix(ua, "Mozilla/5.0")
}
