package kubectl

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// explain returns an error with what the user can do about it.
func (o *options) explain(err error) error {
	var failed *client.Error
	if !errors.As(err, &failed) {
		return err
	}
	switch {
	case failed.Group == v1alpha1.GroupVersion.Group && apierrors.IsNotFound(failed.Err) && !isObjectMissing(failed.Err):
		return errors.New("this server has no lab; start it with --lab")
	case apierrors.IsForbidden(failed.Err):
		return fmt.Errorf("%w\nA role of yours needs the rule: %s", err, neededRule(failed))
	case apierrors.IsUnauthorized(failed.Err):
		return fmt.Errorf("the server does not accept the credentials in the kubeconfig: %w", err)
	}
	return err
}

// isObjectMissing reports whether a not-found error is about an object, and not about a path that the server does not have.
func isObjectMissing(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	if details == nil || details.Name == "" {
		return false
	}
	for _, cause := range details.Causes {
		if cause.Type == "UnexpectedServerResponse" {
			return false // the client made the Status itself, for a path without a handler
		}
	}
	return true
}

// neededRule returns the rule of RBAC that allows a request.
func neededRule(e *client.Error) string {
	if e.Resource == "" {
		path, _, _ := strings.Cut(e.Path, "?")
		return fmt.Sprintf(`{nonResourceURLs: [%q], verbs: [%s]}`, path, e.Verb)
	}
	verbs := e.Verb
	if verbs == "list" || verbs == "watch" || verbs == "get" {
		verbs = "get, list, watch"
	}
	return fmt.Sprintf(`{apiGroups: [%q], resources: [%s], verbs: [%s]}`, e.Group, e.Resource, verbs)
}
