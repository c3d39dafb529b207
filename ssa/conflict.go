package ssa

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/internal/coldsort"
)

// conflict is the set of fields that one owner would lose.
type conflict struct {
	owner  owner
	fields Set
}

// conflicts is the error of an apply that is not forced.
type conflicts []conflict

// Error implements error.
func (c conflicts) Error() string { return c.status().Error() }

// without returns the conflicts except for the allowed fields.
func (c conflicts) without(allowed Set) conflicts {
	var out conflicts
	for _, x := range c {
		if rest, _ := minus(x.fields, allowed); len(rest) > 0 {
			out = append(out, conflict{x.owner, rest})
		}
	}
	return out
}

// status returns the error response.
func (c conflicts) status() *apierrors.StatusError {
	coldsort.Func(c, func(a, b conflict) int { return strings.Compare(a.owner.id(), b.owner.id()) })
	var causes []metav1.StatusCause
	var lines []string
	for i := range c {
		owner := c[i].owner.String()
		lines = append(lines, "conflicts with "+owner+":")
		c[i].fields.each(nil, func(path []element) {
			at := pathString(path)
			causes = append(causes, metav1.StatusCause{
				Type:    metav1.CauseTypeFieldManagerConflict,
				Message: "conflict with " + owner,
				Field:   at,
			})
			lines = append(lines, "- "+at)
		})
	}
	message := fmt.Sprintf("Apply failed with %d conflicts: %s", len(causes), strings.Join(lines, "\n"))
	if len(causes) == 1 {
		message = fmt.Sprintf("Apply failed with 1 conflict: %s: %s", causes[0].Message, causes[0].Field)
	}
	return apierrors.NewApplyConflict(causes, message)
}

// String formats o for messages.
func (o *owner) String() string {
	s := fmt.Sprintf("%q", o.manager)
	if o.subresource != "" {
		s += fmt.Sprintf(" with subresource %q", o.subresource)
	}
	if o.operation != metav1.ManagedFieldsOperationApply {
		s += " using " + o.apiVersion
	}
	return s
}
