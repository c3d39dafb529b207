package kubectl

import (
	"encoding/xml"
	"fmt"
	"strconv"
)

// The elements of JUnit's format, as the readers of build servers have it in common.
type (
	junitSuites struct {
		XMLName  xml.Name `xml:"testsuites"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Errors   int      `xml:"errors,attr"`
		Seconds  string   `xml:"time,attr"`
		Suite    junitSuite
	}
	junitSuite struct {
		XMLName    xml.Name        `xml:"testsuite"`
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Seconds    string          `xml:"time,attr"`
		Timestamp  string          `xml:"timestamp,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Name      string        `xml:"name,attr"`
		Class     string        `xml:"classname,attr"`
		Seconds   string        `xml:"time,attr"`
		Skipped   *junitMessage `xml:"skipped"`
		Failure   *junitMessage `xml:"failure"`
		SystemOut string        `xml:"system-out,omitempty"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// junit returns the report in JUnit's format. A fault that hit nothing is a skipped test case, because nothing was tested.
func (r *drillReport) junit() ([]byte, error) {
	const name = "kubectl lab drill"
	s := junitSuite{Name: name, Tests: len(r.Runs), Failures: r.count(resultFailed, resultTimedOut), Skipped: r.count(resultMissed),
		Timestamp: r.Started.UTC().Format("2006-01-02T15:04:05"), Properties: []junitProperty{{"command", r.Command}}}
	total := 0.0
	for i := range r.Runs {
		run := &r.Runs[i]
		total += run.Seconds
		c := junitCase{Name: run.Fault, Class: "drill", Seconds: seconds(run.Seconds)}
		if c.Name == "" {
			c.Name = "without a fault"
		}
		switch {
		case run.hasFailed():
			c.Failure = &junitMessage{Message: run.Why, Type: run.Result, Text: string(run.output.text)}
		case run.Result == resultMissed:
			c.Skipped = &junitMessage{Message: run.Why}
		}
		if run.Fault != "" {
			c.SystemOut = fmt.Sprintf("%s matched, %d hit", plural(int(run.Matched), "request"), run.Injected)
		}
		s.Cases = append(s.Cases, c)
	}
	s.Seconds = seconds(total)
	out, err := xml.MarshalIndent(junitSuites{Name: name, Tests: s.Tests, Failures: s.Failures, Seconds: s.Seconds, Suite: s}, "", "  ")
	return append([]byte(xml.Header), append(out, '\n')...), err
}

func seconds(s float64) string { return strconv.FormatFloat(s, 'f', 3, 64) }
