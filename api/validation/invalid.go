package validation

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Bounds of the faults of one object. A body of 3 MiB can contain a million faults, whose
// messages together would be many times as long as the body.
const (
	// maxFaults is the maximum number of errors that the rules of a kind record.
	maxFaults = 20_000
	// maxInvalid is the length of messages, in bytes, from which on errors are left out.
	maxInvalid = 1 << 20
)

// errTruncated stands for errors that were left out.
const errTruncated = "too many errors, the list is truncated"

// NewInvalid is apierrors.NewInvalid at a cost that is linear in the number of errors. It leaves
// out errors beyond a length that no client reads.
func NewInvalid(kind schema.GroupKind, name string, errs field.ErrorList) *apierrors.StatusError {
	shown, length := 0, 0
	for ; shown < len(errs) && length < maxInvalid; shown++ {
		length += len(errs[shown].Error())
	}
	isTruncated := shown < len(errs)
	errs = errs[:shown]
	causes := make([]metav1.StatusCause, 0, len(errs)+1)
	for _, err := range errs {
		causes = append(causes, metav1.StatusCause{Type: metav1.CauseType(err.Type), Message: err.ErrorBody(), Field: err.Field})
	}
	out := apierrors.NewInvalid(kind, name, nil)
	if joined := JoinFields(errs); joined != nil {
		out.ErrStatus.Message += ": " + joined.Error()
	}
	if isTruncated {
		causes = append(causes, metav1.StatusCause{Type: metav1.CauseTypeTooMany, Message: errTruncated})
		out.ErrStatus.Message += ", " + errTruncated
	}
	out.ErrStatus.Details.Causes = causes
	return out
}

// JoinFields is errs.ToAggregate at linear cost.
func JoinFields(errs field.ErrorList) error {
	all := make([]error, len(errs))
	for i, err := range errs {
		all[i] = err
	}
	return Join(all)
}

// Join returns an error with the message of an aggregate of errs: all different messages in
// brackets. The cost of an aggregate's message is quadratic. Join returns nil for no errors.
func Join(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	var out strings.Builder
	seen := make(map[string]struct{}, len(errs))
	for _, err := range errs {
		message := err.Error()
		if _, ok := seen[message]; ok {
			continue
		}
		if len(seen) > 0 {
			out.WriteString(", ")
		}
		seen[message] = struct{}{}
		out.WriteString(message)
	}
	if len(seen) == 1 {
		return errors.New(out.String())
	}
	return fmt.Errorf("[%s]", out.String())
}

// SetFields formats the names of set fields as messages of unions show them.
func SetFields(names []string) string { return fmt.Sprintf("{%s}", strings.Join(names, ", ")) }
