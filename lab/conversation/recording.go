package conversation

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Head is the first line of a recording. The other lines are its Steps, each with its Timing, in the order of their start.
type Head struct {
	// Name is that of the recording.
	Name string `json:"name"`
	// Begin is the time from which the times of the steps are counted.
	Begin time.Time `json:"begin"`
	// Server is the address to which the requests were sent.
	Server string `json:"server,omitempty"`
	// Hidden is the number of requests that the reader of the recording may not see.
	Hidden int `json:"hidden,omitempty"`
	// Reason says why the recording ended, if that was a limit.
	Reason string `json:"reason,omitempty"`
}

// Timing is when a step was recorded, and by whom it was sent. Times are in seconds since the beginning of the recording.
type Timing struct {
	Start float64 `json:"start"`
	// Answer is when the response began.
	Answer float64 `json:"answer"`
	// End is when the last byte was sent; 0 if the response had not ended yet.
	End float64 `json:"end,omitempty"`
	// Events are the times of the events of a stream.
	Events []float64 `json:"events,omitempty"`
	// ETag and LastModified are those of a document, by which later requests are conditional.
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"lastModified,omitempty"`
	// Connection numbers the connections of the recording.
	Connection int `json:"connection,omitempty"`
	// User and Groups are those who sent the request, before impersonation.
	User   string   `json:"user,omitempty"`
	Groups []string `json:"groups,omitempty"`
	// Skip says why the request cannot be sent again; empty if it can.
	Skip string `json:"skip,omitempty"`
	// Unanswered says why there is no response to compare with; empty if there is one.
	Unanswered string `json:"unanswered,omitempty"`
}

// headLine is the first line of a recording.
type headLine struct {
	Recording *Head `json:"recording"`
}

// Writer writes a recording.
type Writer struct{ encoder *json.Encoder }

// NewWriter writes the head of a recording.
func NewWriter(w io.Writer, head Head) (*Writer, error) {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return &Writer{e}, e.Encode(headLine{&head})
}

// Write writes a step.
func (w *Writer) Write(s *Step) error { return w.encoder.Encode(s) }

// ReadRecording reads a recording.
func ReadRecording(r io.Reader) (Head, []Step, error) {
	d := json.NewDecoder(bufio.NewReader(r))
	d.UseNumber()
	var first headLine
	if err := d.Decode(&first); err != nil {
		return Head{}, nil, err
	}
	if first.Recording == nil {
		return Head{}, nil, errors.New("the first line is not the head of a recording")
	}
	var steps []Step
	for {
		var s Step
		err := d.Decode(&s)
		if errors.Is(err, io.EOF) {
			return *first.Recording, steps, nil
		}
		if err != nil {
			return Head{}, nil, fmt.Errorf("step %d: %w", len(steps)+1, err)
		}
		if s.Timing == nil {
			return Head{}, nil, fmt.Errorf("step %d has no timing", len(steps)+1)
		}
		steps = append(steps, s)
	}
}

// read reads a file of conversations, or a recording, which becomes a file with one scenario.
func (f *File) read(data []byte) error {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	var first headLine
	if json.Unmarshal(line, &first) == nil && first.Recording != nil {
		head, steps, err := ReadRecording(bytes.NewReader(data))
		ownNamespace := false
		f.Scenarios = []Scenario{{Name: head.Name, Namespace: &ownNamespace, Steps: steps}}
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(f); err != nil {
		return err
	}
	if f.Scenarios == nil {
		return errors.New("it has neither the scenarios of a conversation nor the head of a recording")
	}
	return nil
}

// isRecorded reports whether the steps of a scenario have their times.
func (s Scenario) isRecorded() bool {
	return len(s.Steps) > 0 && !slices.ContainsFunc(s.Steps, func(step Step) bool { return step.Timing == nil })
}

// Placeholder returns the text that stands for the nth secret of a recording. That of a JSON object is one, since the API checks some
// secrets.
func Placeholder(n int, isObject bool) string {
	if isObject {
		return fmt.Sprintf(`{"lab-redacted-%d":""}`, n)
	}
	return fmt.Sprintf("lab-redacted-%d", n)
}

var placeholder = regexp.MustCompile(`^(lab-redacted-\d+|\{"lab-redacted-\d+":""\})$`)

// isPlaceholder reports whether a text is a Placeholder, or base64 of one.
func isPlaceholder(s string) bool {
	const begin, objectBegin = "bGFiLXJlZGFjdGVk", "eyJsYWItcmVkYWN0" // what the encoded forms begin with
	if strings.HasPrefix(s, begin) || strings.HasPrefix(s, objectBegin) {
		decoded, err := base64.StdEncoding.DecodeString(s)
		return err == nil && placeholder.Match(decoded)
	}
	return placeholder.MatchString(s)
}
