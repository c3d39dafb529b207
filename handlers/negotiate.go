package handlers

import (
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// offer is what a path can answer with. kube-apiserver looks at it twice, first
// by name alone and then with the parameters, and words the two refusals
// differently.
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
)

// untyped is the same offer of what has no Go type, and so no protobuf form.
func (o offer) untyped() offer {
	o.noProto = true
	o.byName = mediaJSON + ", " + mediaYAML + ", " + mediaProtobuf
	o.byParameters = o.byName
	if o.stream {
		o.byParameters = mediaJSON + ";stream=watch, " + mediaProtobuf + ";stream=watch"
	}
	return o
}

// negotiate picks the format of the answer from the Accept header.
func negotiate(r *http.Request, o offer) (media, error) {
	accept := strings.TrimSpace(r.Header.Get("Accept"))
	if accept == "" || accept == mediaJSON || accept == "*/*" {
		return media{pretty: prettyWanted(r)}, nil
	}
	if !offeredByName(accept) {
		return media{}, statusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
			"406: Not Acceptable\n\nAvailable representations: "+o.byName, &metav1.StatusDetails{})
	}
	for _, c := range parseAccept(accept) {
		if m, ok := c.match(o); ok {
			m.pretty = m.pretty || prettyWanted(r)
			return m, nil
		}
	}
	return media{}, statusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"only the following media types are accepted: "+o.byParameters, nil)
}

// errorMedia is the format for an error, which must not fail itself.
func errorMedia(r *http.Request) media {
	if m, err := negotiate(r, offerDocument); err == nil {
		return m
	}
	// A format that is known, if not for what was asked; not where it was asked
	// for in another shape.
	for _, c := range parseAccept(r.Header.Get("Accept")) {
		if f, ok := formats[c.name]; ok && c.params["as"] == "" {
			return media{format: f, pretty: prettyWanted(r)}
		}
	}
	return media{}
}

// offeredByName tells whether any of the types named is served at all.
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
	name    string
	params  map[string]string
	quality float64
}

// parseAccept returns the alternatives, best first. What cannot be parsed is
// left out.
func parseAccept(accept string) []clause {
	var out []clause
	for part := range strings.SplitSeq(accept, ",") {
		name, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		c := clause{name: name, params: params, quality: 1}
		if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
			c.quality = q
		}
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b clause) int {
		switch {
		case a.quality > b.quality:
			return -1
		case a.quality < b.quality:
			return 1
		}
		return 0
	})
	return out
}

// match tells whether the server can answer as the clause asks.
func (c clause) match(o offer) (media, bool) {
	m := media{pretty: c.params["pretty"] == "1"}
	switch f, ok := formats[c.name]; {
	case ok:
		m.format = f
	case c.name != "*/*" && c.name != "application/*":
		return m, false
	}
	if o.stream && m.format == formatYAML {
		return m, false
	}
	if s := c.params["stream"]; s != "" && (s != "watch" || !o.stream) {
		return m, false
	}
	m.as, m.asVersion = c.params["as"], c.params["v"]
	if o.noProto && m.format == formatProtobuf && m.as == "" {
		return m, false
	}
	return m, o.shows(m, c.params["g"])
}

// shows tells whether objects can be shown as m asks.
func (o offer) shows(m media, group string) bool {
	switch m.as {
	case "":
		return true
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

// prettyWanted tells whether a person will read the answer.
func prettyWanted(r *http.Request) bool {
	if r.URL.RawQuery != "" {
		if v, ok := r.URL.Query()["pretty"]; ok && len(v) > 0 {
			return v[0] != "0" && !strings.EqualFold(v[0], "false")
		}
	}
	ua := r.UserAgent()
	return strings.HasPrefix(ua, "curl") || strings.HasPrefix(ua, "Wget") || strings.HasPrefix(ua, "Mozilla/5.0")
}
