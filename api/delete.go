package api

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// CheckDeleteOptions returns an error if options contradict each other or have unsupported
// values.
func CheckDeleteOptions(o *metav1.DeleteOptions) error {
	if errs := validation.ValidateDeleteOptions(o); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", errs)
	}
	return nil
}

// CheckPreconditions returns a conflict if uid or resourceVersion of an object differ from
// the preconditions p, which may be nil. named is the resource in the message.
func CheckPreconditions(named schema.GroupResource, obj Object, p *metav1.Preconditions) error {
	if p == nil {
		return nil
	}
	if p.UID != nil && *p.UID != obj.GetUID() {
		return apierrors.NewConflict(named, obj.GetName(), fmt.Errorf(
			"the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated",
			*p.UID, obj.GetUID()))
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != obj.GetResourceVersion() {
		return apierrors.NewConflict(named, obj.GetName(), fmt.Errorf(
			"the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified",
			*p.ResourceVersion, obj.GetResourceVersion()))
	}
	return nil
}

// Deletion describes the end of an object, in this order.
type Deletion struct {
	// OrphanByDefault: dependents stay when the object is deleted, unless the
	// client asks for something else. OrphanWarning is then returned as a warning.
	OrphanByDefault bool
	OrphanWarning   string
	// NoDependents: the propagation policy has no effect on the object, and finalizers of the
	// garbage collector are removed when it is deleted.
	NoDependents bool
	// Protected returns the reason for which the object of a name cannot be
	// deleted, or nil. It is not called when a collection is deleted.
	Protected func(name string) error
	// GracePeriodSeconds returns for how long the object stays, marked as
	// terminating; requested is the period in the request, or nil. A nil function means that
	// objects are removed at once.
	GracePeriodSeconds func(obj Object, requested *int64) int64
	// MarkTerminating changes a copy that was just marked as terminating (a namespace's
	// phase). A kind with MarkTerminating has no grace period, and its generation does
	// not change on deletion.
	MarkTerminating func(obj Object)
	// PreconditionError is the start of the message for a failed precondition of a kind with
	// MarkTerminating.
	PreconditionError string
	// MarkOnly: the first deletion only marks the object, regardless of its options; the
	// next one removes the object.
	MarkOnly bool
	// IsScope: objects of other kinds are created within an object of this kind (a namespace).
	IsScope bool
	// HasFinalizers reports whether the object has finalizers outside metadata (a
	// namespace's spec.finalizers).
	HasFinalizers func(obj Object) bool
	// ReturnDeletedObject: the answer to a DELETE that removes the object is its
	// last state, not a Status.
	ReturnDeletedObject bool
}
