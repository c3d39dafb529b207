package kubectl

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// filter selects Requests. Values without a pattern become a field selector, so that the server sends only what is wanted;
// the rest is compared here.
type filter struct {
	user, agent, verb, resource, name, code string
	allNamespaces, errors, running          bool
	slow                                    time.Duration

	exact    fields.Set
	group    *string
	patterns []pattern
	class    string // the first digit of the code
}

// pattern is a pattern with *, or several with commas between, for a part of a Request.
type pattern struct {
	texts []string
	value func(*v1alpha1.RequestSpec) string
}

// addTo adds the flags to a command.
func (f *filter) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.user, "user", "", "Only requests of these users: names or patterns with *, separated by commas.")
	flags.StringVar(&f.agent, "agent", "", "Only requests of clients whose User-Agent matches a pattern, such as 'kubectl*'.")
	flags.StringVar(&f.verb, "verb", "", "Only requests with these verbs, separated by commas.")
	flags.StringVar(&f.resource, "resource", "", "Only requests for a resource, such as deploy, pods/status or 'pods*'.")
	flags.StringVar(&f.name, "name", "", "Only requests for objects with these names or patterns.")
	flags.StringVar(&f.code, "code", "", "Only requests with an HTTP status: 409, or 4xx for all from 400 to 499.")
	flags.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false,
		"Requests for all namespaces and for objects without one, which is the default without -n.")
	flags.BoolVar(&f.errors, "errors", false, "Only requests that failed (400 and above).")
	flags.DurationVar(&f.slow, "slow", 0, "Only requests that took at least so long, such as 100ms.")
}

// userNames returns the users that a list means.
func userNames(list string) string {
	names := strings.Split(list, ",")
	for i := range names {
		names[i] = userName(names[i])
	}
	return strings.Join(names, ",")
}

// isPattern reports whether a value is more than one name.
func isPattern(value string) bool { return strings.ContainsAny(value, "*?[,") }

// selector returns what the server compares, in the order of the fields.
func (f *filter) selector() string {
	var terms []fields.Selector
	for _, field := range slices.Sorted(maps.Keys(f.exact)) {
		terms = append(terms, fields.OneTermEqualSelector(field, f.exact[field]))
	}
	return fields.AndSelectors(terms...).String()
}

// prepare checks the flags, and splits them in what the server compares and what is compared here.
func (f *filter) prepare(cmd *cobra.Command, c *client.Client) error {
	f.exact = fields.Set{}
	for _, part := range []struct {
		flag, value, field string
		get                func(*v1alpha1.RequestSpec) string
	}{
		{"user", userNames(f.user), "user", func(r *v1alpha1.RequestSpec) string { return r.User }},
		{"agent", f.agent, "userAgent", func(r *v1alpha1.RequestSpec) string { return r.UserAgent }},
		{"verb", f.verb, "verb", func(r *v1alpha1.RequestSpec) string { return r.Verb }},
		{"name", f.name, "objectName", func(r *v1alpha1.RequestSpec) string { return r.ObjectName }},
	} {
		if err := f.add(part.flag, part.value, part.field, part.get); err != nil {
			return err
		}
	}
	if err := f.prepareResource(cmd, c); err != nil {
		return err
	}
	if c.NamespaceSet && !f.allNamespaces {
		f.exact["namespace"] = c.Namespace
	}
	if f.running {
		f.exact["phase"] = v1alpha1.PhaseRunning
	}
	return f.prepareCode()
}

// add adds a condition for a part of a Request.
func (f *filter) add(flag, value, field string, get func(*v1alpha1.RequestSpec) string) error {
	switch {
	case value == "":
	case !isPattern(value):
		f.exact[field] = value
	default:
		texts := strings.Split(value, ",")
		for _, text := range texts {
			if _, err := match(text, ""); err != nil {
				return fmt.Errorf("--%s: %q is not a pattern: %w", flag, text, err)
			}
		}
		f.patterns = append(f.patterns, pattern{texts, get})
	}
	return nil
}

// prepareResource finds the resource that a short name means, with its group.
func (f *filter) prepareResource(cmd *cobra.Command, c *client.Client) error {
	if f.resource == "" || isPattern(f.resource) {
		return f.add("resource", f.resource, "", func(r *v1alpha1.RequestSpec) string { return r.Resource })
	}
	word, sub, found := strings.Cut(f.resource, "/")
	r, _, err := c.Resolve(cmd.Context(), word)
	if err != nil {
		return fmt.Errorf("--resource: %w", err)
	}
	f.exact["resource"] = r.Name
	if found {
		f.exact["resource"] += "/" + sub
	}
	if strings.Contains(word, ".") || r.Group != "" {
		f.group = &r.Group
	}
	return nil
}

func (f *filter) prepareCode() error {
	digits, class := strings.CutSuffix(f.code, "xx")
	n, err := strconv.Atoi(digits)
	switch {
	case f.code == "":
	case class && err == nil && n >= 1 && n <= 5:
		f.class = digits
	case !class && err == nil && n >= 100 && n < 600:
		f.exact["code"] = digits
	default:
		return fmt.Errorf("--code: %q is neither a status such as 409 nor a class such as 4xx", f.code)
	}
	return nil
}

// options returns what the server compares.
func (f *filter) options() client.ListOptions {
	if len(f.exact) == 0 {
		return client.ListOptions{}
	}
	return client.ListOptions{FieldSelector: f.selector()}
}

// matches reports whether a Request that the server selected has what is compared here.
func (f *filter) matches(r *v1alpha1.Request) bool {
	switch {
	case f.errors && r.Status.Code < 400,
		f.slow > 0 && time.Duration(r.Status.Microseconds)*time.Microsecond < f.slow,
		f.group != nil && r.Spec.Group != *f.group,
		f.class != "" && !strings.HasPrefix(strconv.Itoa(int(r.Status.Code)), f.class):
		return false
	}
	for _, p := range f.patterns {
		if !p.matches(p.value(&r.Spec)) {
			return false
		}
	}
	return true
}

func (p pattern) matches(value string) bool {
	for _, text := range p.texts {
		if ok, err := match(text, value); ok && err == nil {
			return true
		}
	}
	return false
}

// match reports whether a value has a pattern, in which * stands for any text, also with slashes.
func match(text, value string) (bool, error) {
	const slash = "\x00"
	return path.Match(strings.ReplaceAll(text, "/", slash), strings.ReplaceAll(value, "/", slash))
}
