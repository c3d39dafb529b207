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
func (c conflicts) Error() string { return c.status(nil).Error() }

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

// status returns the error response. As in kube-apiserver, shuffle changes the order of the causes by owner, but not that in the message.
func (c conflicts) status(shuffle func(n int, swap func(i, j int))) *apierrors.StatusError {
	coldsort.Func(c, func(a, b conflict) int { return strings.Compare(a.owner.id(), b.owner.id()) })
	var causes []metav1.StatusCause
	var lines []string
	for i := range c {
		lines = append(lines, "conflicts with "+c[i].owner.String()+":")
		c[i].fields.each(nil, func(path []element) { lines = append(lines, "- "+pathString(path)) })
	}
	if shuffle != nil {
		shuffle(len(c), func(i, j int) { c[i], c[j] = c[j], c[i] })
	}
	for i := range c {
		message := "conflict with " + c[i].owner.String()
		c[i].fields.each(nil, func(path []element) {
			causes = append(causes, metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Message: message, Field: pathString(path)})
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
