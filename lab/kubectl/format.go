package kubectl

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/terminal"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// clock returns the time of day, with the date if it is not today.
func (o *options) clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	t, now := t.In(o.location), o.now().In(o.location)
	if t.Year() == now.Year() && t.YearDay() == now.YearDay() {
		return t.Format("15:04:05.000")
	}
	return t.Format("2006-01-02 15:04:05")
}

// microseconds returns a duration with three digits.
func microseconds(n int64) string { return short(time.Duration(n) * time.Microsecond) }

func short(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + short(-d)
	case d >= time.Hour:
		return d.Round(time.Minute).String()[:len(d.Round(time.Minute).String())-2] // without the seconds
	case d >= time.Minute:
		return d.Round(time.Second).String()
	}
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}} {
		if d >= unit.size {
			return strconv.FormatFloat(float64(d)/float64(unit.size), 'g', 3, 64) + unit.name
		}
	}
	return "0s"
}

// size returns a number of bytes.
func size(n int64) string {
	const units = "kMGT"
	if n < 1000 {
		return strconv.FormatInt(n, 10) + " B"
	}
	value, unit := float64(n), -1
	for value >= 999.5 && unit < len(units)-1 {
		value /= 1000
		unit++
	}
	return fmt.Sprintf("%.3g %cB", value, units[unit])
}

// agent returns the part of a User-Agent that names the program.
func agent(userAgent string) string {
	name, _, _ := strings.Cut(userAgent, " ")
	return name
}

// serviceAccounts begins the names of the users that are service accounts.
const serviceAccounts = "system:serviceaccount:"

// userText returns a user for a table, in which a service account is sa/NAMESPACE:NAME.
func userText(user string) string {
	if rest, found := strings.CutPrefix(user, serviceAccounts); found {
		return "sa/" + rest
	}
	return orDash(user)
}

// userName returns the user that a text of the command line means.
func userName(text string) string {
	if rest, found := strings.CutPrefix(text, "sa/"); found {
		return serviceAccounts + rest
	}
	return text
}

// codeStyle is green for a success, yellow for an error of the client and red for one of the server.
func codeStyle(code int32) terminal.Style {
	switch {
	case code >= 500:
		return terminal.Red
	case code >= 400:
		return terminal.Yellow
	case code >= 200:
		return terminal.Green
	}
	return terminal.Plain
}

// resourceName returns the resource of a request with its group, such as deployments.apps or deployments.apps/status, or its path.
func resourceName(r *v1alpha1.RequestSpec) string {
	if r.Resource == "" {
		path, _, _ := strings.Cut(r.URI, "?")
		return path
	}
	return qualified(r.Group, r.Resource)
}

// qualified adds a group to a resource before its subresource.
func qualified(group, resource string) string {
	if group == "" {
		return resource
	}
	name, sub, found := strings.Cut(resource, "/")
	if found {
		sub = "/" + sub
	}
	return name + "." + group + sub
}

// objectName returns the namespace and name of the object of a request.
func objectName(r *v1alpha1.RequestSpec) string {
	if r.Namespace == "" || r.ObjectName == r.Namespace && r.Resource == "namespaces" {
		return r.ObjectName
	}
	return r.Namespace + "/" + r.ObjectName
}

// answer returns the code and its text.
func answer(code int32) string {
	if code == 0 {
		return "no answer yet"
	}
	return strings.TrimSpace(strconv.Itoa(int(code)) + " " + http.StatusText(int(code)))
}

// plural returns a number with a noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
