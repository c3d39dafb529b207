package try

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

var requests = client.Target{Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Resource: "requests"}

// requestsVersion returns the resourceVersion of the list of Requests; "" if the server has no lab, or the user may not list them.
func requestsVersion(ctx context.Context, c *client.Client) (string, error) {
	version, err := c.List(ctx, requests, client.ListOptions{MetadataOnly: true}, func(json.RawMessage) error { return nil })
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return "", nil
	}
	return version, err
}

// addRequests adds what the server answered after a version, and returns the objects that only its controllers created.
func (d *Diff) addRequests(ctx context.Context, c *client.Client, version string) (map[string]bool, error) {
	if version == "" {
		return nil, nil
	}
	var sent []v1alpha1.Request
	made := map[string]bool{}
	_, err := c.List(ctx, requests, client.ListOptions{}, func(item json.RawMessage) error {
		var r v1alpha1.Request
		if err := json.Unmarshal(item, &r); err != nil {
			return err
		}
		if !isLater(r.ResourceVersion, version) || strings.HasPrefix(r.Spec.UserAgent, client.Agent+"/") {
			return nil
		}
		if r.Spec.SourceIP != "" {
			sent = append(sent, r)
		} else if r.Spec.Verb == "create" && r.Status.Code < 300 {
			made[objectOf(&r.Spec)] = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(sent, func(a, b v1alpha1.Request) int { return a.Spec.Time.Compare(b.Spec.Time.Time) })
	for i := range sent {
		r := &sent[i]
		if isRefusal(r) || len(r.Status.Warnings) > 0 { // a list leaves out what may quote the object
			t := requests
			t.Name = r.Name
			var full v1alpha1.Request
			switch err := c.Get(ctx, t, &full); {
			case err == nil:
				r = &full
			case !apierrors.IsNotFound(err): // it may have been dropped since
				return nil, err
			}
		}
		d.addRequest(r)
	}
	slices.SortFunc(d.Webhooks, func(a, b Webhook) int { return cmp.Compare(a.Name, b.Name) })
	return made, nil
}

// isLater reports whether a resourceVersion comes after another one.
func isLater(a, b string) bool { return len(a) > len(b) || len(a) == len(b) && a > b }

// objectOf returns the object, collection or path of a request.
func objectOf(s *v1alpha1.RequestSpec) string {
	if s.Resource == "" {
		path, _, _ := strings.Cut(s.URI, "?")
		return path
	}
	resource, sub, isSub := strings.Cut(s.Resource, "/")
	text := schema.GroupResource{Group: s.Group, Resource: resource}.String()
	if isSub {
		text += "/" + sub
	}
	if s.Namespace != "" && s.Resource != "namespaces" {
		text += "/" + s.Namespace
	}
	return strings.TrimSuffix(text+"/"+s.ObjectName, "/")
}

// isRefusal reports whether a request was refused. Programs read objects to find out whether they exist, and that they do not is an
// answer.
func isRefusal(r *v1alpha1.Request) bool {
	return r.Status.Code >= 400 && (r.Status.Code != 404 || r.Spec.Method != "GET")
}

// addRequest adds what the server answered to a request of the program.
func (d *Diff) addRequest(r *v1alpha1.Request) {
	refusedBy := ""
	if isRefusal(r) {
		d.Refusals = append(d.Refusals, Refusal{Request: r.Name, User: r.Spec.User, Verb: r.Spec.Verb, Object: objectOf(&r.Spec),
			Code: r.Status.Code, Why: cmp.Or(r.Status.Why, r.Status.Message), Cause: r.Status.Cause})
		if c := r.Status.Cause; c != nil && c.By == v1alpha1.CauseAdmissionWebhook {
			refusedBy = c.Name
		}
	}
	for _, step := range r.Status.Steps {
		configuration, webhook := step.Facts["configuration"], step.Facts["webhook"]
		if configuration == "" || webhook == "" {
			continue
		}
		name := configuration + "/" + webhook
		i := slices.IndexFunc(d.Webhooks, func(w Webhook) bool { return w.Name == name })
		if i < 0 {
			i = len(d.Webhooks)
			d.Webhooks = append(d.Webhooks, Webhook{Name: name})
		}
		d.Webhooks[i].Calls++
		if name == refusedBy {
			d.Webhooks[i].Refused++
		}
	}
	for _, warning := range r.Status.Warnings {
		if !slices.Contains(d.Warnings, warning) {
			d.Warnings = append(d.Warnings, warning)
		}
	}
}
