package conversation

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The types of an HTTP archive (HAR) 1.2.
type (
	harPair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	harRequest struct {
		Method      string    `json:"method"`
		URL         string    `json:"url"`
		HTTPVersion string    `json:"httpVersion"`
		Cookies     []harPair `json:"cookies"`
		Headers     []harPair `json:"headers"`
		QueryString []harPair `json:"queryString"`
		PostData    *harBody  `json:"postData,omitempty"`
		HeadersSize int       `json:"headersSize"`
		BodySize    int       `json:"bodySize"`
	}
	harBody struct {
		MimeType string `json:"mimeType"`
		Text     string `json:"text"`
		Encoding string `json:"encoding,omitempty"`
	}
	harContent struct {
		Size int `json:"size"`
		harBody
	}
	harResponse struct {
		Status      int        `json:"status"`
		StatusText  string     `json:"statusText"`
		HTTPVersion string     `json:"httpVersion"`
		Cookies     []harPair  `json:"cookies"`
		Headers     []harPair  `json:"headers"`
		Content     harContent `json:"content"`
		RedirectURL string     `json:"redirectURL"`
		HeadersSize int        `json:"headersSize"`
		BodySize    int        `json:"bodySize"`
	}
	harTimings struct {
		Send    float64 `json:"send"`
		Wait    float64 `json:"wait"`
		Receive float64 `json:"receive"`
	}
	harEntry struct {
		StartedDateTime string      `json:"startedDateTime"`
		Time            float64     `json:"time"`
		Request         harRequest  `json:"request"`
		Response        harResponse `json:"response"`
		Cache           struct{}    `json:"cache"`
		Timings         harTimings  `json:"timings"`
		Connection      string      `json:"connection,omitempty"`
		Comment         string      `json:"comment,omitempty"`
		// EventTimes are the times of the events of a watch, in milliseconds since the start of the entry.
		EventTimes []float64 `json:"_eventTimes,omitempty"`
	}
)

// harHost stands for the server in the URLs of an archive of a recording that does not know it.
const harHost = "https://kubernetes.default.svc"

// WriteHAR writes a recording as an HTTP archive, which the tools of browsers read.
func WriteHAR(w io.Writer, head Head, steps []*Step) error {
	comment := "recording " + head.Name
	if head.Hidden > 0 {
		comment += fmt.Sprintf("; %d requests are not shown, because you may not get their objects", head.Hidden)
	}
	about, err := json.Marshal(comment)
	if err != nil {
		return err
	}
	const begin = `{"log":{"version":"1.2","creator":{"name":"miniapiserver","version":"lab/v1alpha1"},"pages":[],"comment":%s,"entries":[`
	if _, err = fmt.Fprintf(w, begin, about); err != nil {
		return err
	}
	for i, s := range steps {
		entry, err := json.Marshal(newHAREntry(head, s))
		if err != nil {
			return err
		}
		separator := "\n"
		if i > 0 {
			separator = ",\n"
		}
		if _, err := io.WriteString(w, separator+string(entry)); err != nil {
			return err
		}
	}
	_, err = io.WriteString(w, "\n]}}\n")
	return err
}

// newHAREntry returns a step as an entry of an archive.
func newHAREntry(head Head, s *Step) *harEntry {
	t := s.Timing
	milliseconds := func(seconds float64) float64 { return max(seconds, 0) * 1000 }
	end := max(t.End, t.Answer)
	for _, at := range t.Events {
		end = max(end, at)
	}
	e := &harEntry{StartedDateTime: head.Begin.Add(time.Duration(t.Start * float64(time.Second))).UTC().Format(time.RFC3339Nano),
		Time: milliseconds(end - t.Start), Timings: harTimings{Wait: milliseconds(t.Answer - t.Start), Receive: milliseconds(end - t.Answer)},
		Connection: strconv.Itoa(t.Connection), Comment: cmp.Or(t.Skip, t.Unanswered)}
	for _, at := range t.Events {
		e.EventTimes = append(e.EventTimes, milliseconds(at-t.Start))
	}
	e.Request = harRequest{Method: s.Method, URL: cmp.Or(head.Server, harHost) + s.Path, HTTPVersion: "HTTP/1.1", Cookies: []harPair{},
		Headers: pairsOf(s.Headers), QueryString: queryOf(s.Path), HeadersSize: -1}
	if len(s.Body) > 0 {
		text := bodyText(s.Body)
		e.Request.PostData = &harBody{MimeType: s.Headers["Content-Type"], Text: text}
		e.Request.BodySize = len(text)
	}
	e.Response = newHARResponse(s.Expect)
	return e
}

// newHARResponse returns the response of a step.
func newHARResponse(expect map[string]any) harResponse {
	code, _ := strconv.Atoi(fmt.Sprint(expect["status"])) // 0 for none
	r := harResponse{Status: code, StatusText: http.StatusText(code), HTTPVersion: "HTTP/1.1", Cookies: []harPair{}, Headers: []harPair{},
		HeadersSize: -1}
	headers, _ := expect["headers"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		for value := range strings.SplitSeq(fmt.Sprint(headers[name]), "\n") {
			r.Headers = append(r.Headers, harPair{name, value})
		}
	}
	r.RedirectURL, _ = headers["location"].(string)
	r.Content.MimeType, _ = headers["content-type"].(string)
	r.Content.Text = responseText(expect)
	r.Content.Size = len(r.Content.Text)
	r.BodySize = r.Content.Size
	return r
}

// responseText returns the body of a response, or the events of a stream as lines.
func responseText(expect map[string]any) string {
	if body, ok := expect["body"]; ok {
		return bodyText(jsonOf(body))
	}
	var events []json.RawMessage
	if json.Unmarshal(jsonOf(expect["events"]), &events) != nil {
		return ""
	}
	var out strings.Builder
	for _, event := range events {
		out.Write(event)
		out.WriteByte('\n')
	}
	return out.String()
}

// jsonOf returns a value of a step as JSON.
func jsonOf(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null") // what was decoded, or is JSON already, can be encoded
	}
	return data
}

// bodyText returns a body as it was sent: a string of JSON stands for a body that is no JSON.
func bodyText(body json.RawMessage) string {
	var text string
	if json.Unmarshal(body, &text) == nil {
		return text
	}
	var binary struct{ Base64 string }
	if json.Unmarshal(body, &binary) == nil && binary.Base64 != "" {
		if data, err := base64.StdEncoding.DecodeString(binary.Base64); err == nil {
			return string(data)
		}
	}
	return string(body)
}

func pairsOf(headers map[string]string) []harPair {
	out := []harPair{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		for value := range strings.SplitSeq(headers[name], "\n") {
			out = append(out, harPair{name, value})
		}
	}
	return out
}

func queryOf(path string) []harPair {
	out := []harPair{}
	_, query, _ := strings.Cut(path, "?")
	values, _ := url.ParseQuery(query) // without malformed parameters
	for _, name := range slices.Sorted(maps.Keys(values)) {
		for _, value := range values[name] {
			out = append(out, harPair{name, value})
		}
	}
	return out
}
