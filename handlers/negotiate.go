package handlers

import (
	"net/http"
	"strings"

	"github.com/munnerz/goautoneg"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/request"
)

// format is a serialisation.
type format int

const (
	formatJSON format = iota
	formatYAML
	formatProtobuf
)

// Media types of the formats.
const (
	mediaJSON     = "application/json"
	mediaYAML     = "application/yaml"
	mediaProtobuf = "application/vnd.kubernetes.protobuf"
)

var formats = map[string]format{mediaJSON: formatJSON, mediaYAML: formatYAML, mediaProtobuf: formatProtobuf}

// media is what the client and the server agreed on for an answer.
type media struct {
	format format
	pretty bool
	// as is the kind that objects are to be shown as, in version asVersion of
	// meta.k8s.io; empty for their own.
	as, asVersion string
}

// Kinds that objects can be shown as.
const (
	asTable       = "Table"
	asPartial     = "PartialObjectMetadata"
	asPartialList = "PartialObjectMetadataList"
)

func (m media) contentType() string {
	switch m.format {
	case formatYAML:
		return mediaYAML
	case formatProtobuf:
		return mediaProtobuf
	}
	return mediaJSON
}

// streamContentType is contentType for a watch.
func (m media) streamContentType() string {
	if m.format == formatProtobuf {
		return mediaProtobuf + ";stream=watch"
	}
	return mediaJSON
}

// offer is what a path can answer with. On most paths kube-apiserver checks the
// Accept header twice, first by name alone and then with the parameters, and words
// the two refusals differently; an empty byName leaves out the first check.
type offer struct {
	byName, byParameters string
	// stream: the answer is a watch. documents: it is no object of the
	// catalogue, and shown as itself only.
	stream, documents bool
	// noProto: it has no protobuf form.
	noProto bool
	// noTable: it is an answer to a question, which has no columns.
	noTable bool
}

var (
	offerObject = offer{
		byName:       mediaJSON + ", " + mediaYAML + ", " + mediaProtobuf,
		byParameters: mediaJSON + ", " + mediaYAML + ", " + mediaProtobuf,
	}
	offerList = offer{
		byName:       offerObject.byName + ", " + mediaJSON + ";stream=watch, " + mediaProtobuf + ";stream=watch",
		byParameters: offerObject.byParameters,
	}
	offerWatch = offer{
		byName:       offerList.byName,
		byParameters: mediaJSON + ";stream=watch, " + mediaProtobuf + ";stream=watch",
		stream:       true,
	}
	offerAnswer   = offer{byName: offerObject.byName, byParameters: offerObject.byParameters, noTable: true}
	offerDocument = offer{byName: offerObject.byName, byParameters: offerObject.byParameters, documents: true}
	offerStatus   = offer{byParameters: offerObject.byParameters, documents: true}
	// Groups are served by the aggregation layer, and what custom groups have by
	// the extension server, which both do not check by name.
	offerGroup = offerStatus
)

// untyped is the same offer for objects without a protobuf form, as those of custom
// kinds are. Their paths do not check the Accept header by name alone.
func (o offer) untyped() offer {
	o.noProto, o.byName = true, ""
	if !o.stream {
		o.byParameters = offerObject.byParameters
	}
	return o
}

// negotiate picks the format of the answer from the Accept header.
func negotiate(r *http.Request, o offer) (media, error) {
	accept := strings.TrimSpace(r.Header.Get("Accept"))
	if accept == "" || accept == mediaJSON || accept == "*/*" {
		return media{pretty: prettyWanted(r)}, nil
	}
	if o.byName != "" && !offeredByName(accept) {
		return media{}, statusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
			"406: Not Acceptable\n\nAvailable representations: "+o.byName, &metav1.StatusDetails{})
	}
	for _, c := range parseAccept(accept) {
		m, ok := c.match(o)
		if !ok {
			continue
		}
		if o.stream && m.format == formatYAML {
			break // what else the client accepts does not count any more
		}
		m.pretty = m.pretty || prettyWanted(r)
		return m, nil
	}
	return media{}, statusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"only the following media types are accepted: "+o.byParameters, nil)
}

// errorMedia is the format of an error: JSON where the Accept header asks for
// something that a Status is not served as.
func errorMedia(r *http.Request) media {
	if m, err := negotiate(r, offerStatus); err == nil {
		return m
	}
	return media{}
}

// offeredByName reports whether any of the named types is served at all.
func offeredByName(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		name, _, _ := strings.Cut(part, ";")
		name = strings.TrimSpace(name)
		if _, ok := formats[name]; ok || name == "*/*" {
			return true
		}
	}
	return false
}

// clause is one alternative of an Accept header.
type clause struct {
	name   string
	params map[string]string
}

// parseAccept returns the alternatives of an Accept header, best first. It leaves
// out those that it cannot parse.
func parseAccept(accept string) []clause {
	parsed := goautoneg.ParseAccept(accept)
	out := make([]clause, len(parsed))
	for i, a := range parsed {
		out[i] = clause{name: a.Type + "/" + a.SubType, params: a.Params}
	}
	return out
}

// match reports whether the server can answer as the clause asks, and how.
func (c clause) match(o offer) (media, bool) {
	if f, ok := formats[c.name]; ok {
		return c.matchFormat(o, f)
	}
	if c.name != "*/*" && c.name != "application/*" {
		return media{}, false
	}
	for f := formatJSON; f <= formatProtobuf; f++ {
		if m, ok := c.matchFormat(o, f); ok {
			return m, true
		}
	}
	return media{}, false
}

// matchFormat is match for one format.
func (c clause) matchFormat(o offer, f format) (media, bool) {
	m := media{format: f, pretty: c.params["pretty"] == "1"}
	// A client may ask for a stream where there is none: it gets the object.
	if s := c.params["stream"]; s != "" && (s != "watch" || f == formatYAML) {
		return m, false
	}
	for _, p := range []string{"as", "g", "v"} {
		if _, ok := c.params[p]; ok {
			m.as, m.asVersion = c.params["as"], c.params["v"]
			return m, o.shows(m, c.params["g"])
		}
	}
	return m, !o.noProto || f != formatProtobuf
}

// shows reports whether objects can be shown as m asks.
func (o offer) shows(m media, group string) bool {
	switch m.as {
	case asTable:
		if m.format == formatProtobuf || o.noTable {
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
	if q := query(r); q.Has("pretty") {
		return request.BoolParameter(q, "pretty")
	}
	ua := r.UserAgent()
	return strings.HasPrefix(ua, "curl") || strings.HasPrefix(ua, "Wget") || strings.HasPrefix(ua, "Mozilla/5.0")
}
