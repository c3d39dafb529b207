package kubectl

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	authentication "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// last is the word for the newest request of the user.
const last = "last"

// find returns the Request with a name, with a name that begins or ends so, or the newest of the user.
func find(ctx context.Context, c *client.Client, name string, failed bool) (*v1alpha1.Request, error) {
	if name == last {
		return findLast(ctx, c, failed)
	}
	r, err := getRequest(ctx, c, name)
	if err == nil || !apierrors.IsNotFound(err) || !isObjectMissing(err) {
		return r, err
	}
	full, err := complement(ctx, c, name)
	if err != nil {
		return nil, err
	}
	return getRequest(ctx, c, full)
}

func getRequest(ctx context.Context, c *client.Client, name string) (*v1alpha1.Request, error) {
	t := requestsTarget
	t.Name = name
	var r v1alpha1.Request
	if err := c.Get(ctx, t, &r); err != nil {
		return nil, err
	}
	return &r, nil
}

// complement returns the only name that begins or ends with some letters.
func complement(ctx context.Context, c *client.Client, part string) (string, error) {
	const most = 5
	var found []string
	_, err := c.List(ctx, requestsTarget, client.ListOptions{MetadataOnly: true}, func(item json.RawMessage) error {
		var object metav1.PartialObjectMetadata
		if err := json.Unmarshal(item, &object); err != nil {
			return err
		}
		if len(found) < most && (strings.HasPrefix(object.Name, part) || strings.HasSuffix(object.Name, part)) {
			found = append(found, object.Name)
		}
		return nil
	})
	switch {
	case err != nil:
		return "", err
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", fmt.Errorf("the names of several requests begin or end with %q: %s", part, strings.Join(found, ", "))
	}
	return "", fmt.Errorf("the server has no request %q; it keeps the requests of the last minutes (see kubectl lab requests)", part)
}

// findLast returns the newest request of the user, or the newest that failed. Those that the user sent as another one count too.
func findLast(ctx context.Context, c *client.Client, failed bool) (*v1alpha1.Request, error) {
	user, err := whoAmI(ctx, c)
	if err != nil {
		return nil, err
	}
	var newest *v1alpha1.Request // without its details
	// A request of kubectl is preferred: in a sandbox, the kubelets have the same user and send requests all the time.
	byKubectl := func(r *v1alpha1.Request) bool { return strings.HasPrefix(r.Spec.UserAgent, "kubectl/") }
	consider := func(item json.RawMessage) error {
		var r v1alpha1.Request
		if err := json.Unmarshal(item, &r); err != nil {
			return err
		}
		if isOwn(&r) || failed && r.Status.Code < 400 || !failed && isPreparation(&r) || r.Spec.Group == v1alpha1.GroupVersion.Group {
			return nil
		}
		if newest == nil || byKubectl(&r) && !byKubectl(newest) || byKubectl(&r) == byKubectl(newest) && newest.Spec.Time.Before(&r.Spec.Time) {
			newest = &r
		}
		return nil
	}
	for _, field := range []string{"user", "impersonator"} {
		o := client.ListOptions{FieldSelector: fields.OneTermEqualSelector(field, user).String()}
		if _, err := c.List(ctx, requestsTarget, o, consider); err != nil {
			return nil, err
		}
	}
	switch {
	case newest == nil && failed:
		return nil, fmt.Errorf("no request of %s failed, as far as the server remembers", user)
	case newest == nil:
		return nil, fmt.Errorf("the server remembers no request of %s besides those of kubectl lab", user)
	}
	return getRequest(ctx, c, newest.Name) // a list does not have all
}

// isPreparation reports whether a request is one for discovery, with which clients prepare the one that the user means.
func isPreparation(r *v1alpha1.Request) bool {
	if r.Spec.Resource != "" || r.Spec.Method != "GET" || r.Status.Code >= 400 {
		return false
	}
	path, _, _ := strings.Cut(r.Spec.URI, "?")
	for _, prefix := range []string{"/api", "/apis", "/openapi", "/version"} {
		if path == prefix || strings.HasPrefix(path, prefix+"/") {
			return true
		}
	}
	return false
}

// whoAmI returns the name of the user as the server sees it.
func whoAmI(ctx context.Context, c *client.Client) (string, error) {
	name, _, err := identity(ctx, c)
	return name, err
}

// identity returns the name and the groups of the user as the server sees it.
func identity(ctx context.Context, c *client.Client) (string, []string, error) {
	review := authentication.SelfSubjectReview{TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "SelfSubjectReview"}}
	err := c.Create(ctx, client.Target{Group: "authentication.k8s.io", Version: "v1", Resource: "selfsubjectreviews"}, &review)
	return review.Status.UserInfo.Username, review.Status.UserInfo.Groups, err
}
