package validation

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestNewInvalid compares the Status with that of apierrors.
func TestNewInvalid(t *testing.T) {
	kind, spec := schema.GroupKind{Group: "apps", Kind: "Deployment"}, field.NewPath("spec")
	required, invalid := field.Required(spec.Child("a"), ""), field.Invalid(spec.Child("b"), 7, "must be 8")
	for _, errs := range []field.ErrorList{nil, {required}, {required, invalid}, {required, required}, {invalid, required, invalid}} {
		if got, want := NewInvalid(kind, "x", errs), apierrors.NewInvalid(kind, "x", errs); !reflect.DeepEqual(got, want) {
			t.Errorf("%v: got %+v, want %+v", errs, got, want)
		}
	}
}

// TestJoin compares the message with that of an aggregate.
func TestJoin(t *testing.T) {
	a, b := errors.New("a"), errors.New("b")
	for _, errs := range [][]error{{a}, {a, b}, {a, a}, {b, a, b}} {
		if got, want := Join(errs).Error(), utilerrors.NewAggregate(errs).Error(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if Join(nil) != nil || JoinFields(nil) != nil {
		t.Error("no errors are an error")
	}
}

// TestManyFaults checks that an object with very many faults gets a response of a bounded length,
// which takes no more than linear time: the message of an aggregate would need hundreds of gigabytes of copies.
func TestManyFaults(t *testing.T) {
	errs := Check(func(at *Path) {
		for i := range 200_000 {
			at.Child("containers").Index(i).Child("name").Required("")
		}
		if at.ErrorCount() == 0 || at.IsValid() {
			t.Error("the object is valid")
		}
	})
	if len(errs) != maxFaults {
		t.Errorf("%d errors were recorded, at most %d should be", len(errs), maxFaults)
	}
	errs = Collect(&Path{}, func(at *Path) {
		for i := range 200_000 {
			at.Child("a").Invalid(i, strings.Repeat("long ", 20))
		}
	})
	if len(errs) != maxFaults {
		t.Errorf("%d errors were collected, at most %d should be", len(errs), maxFaults)
	}
	status := NewInvalid(schema.GroupKind{Kind: "K"}, "x", errs).ErrStatus
	last := status.Details.Causes[len(status.Details.Causes)-1]
	if last.Type != metav1.CauseTypeTooMany || !strings.HasSuffix(status.Message, last.Message) {
		t.Errorf("the last cause is %+v, the message ends with %s", last, status.Message[len(status.Message)-60:])
	}
	if len(status.Message) > 2*maxInvalid {
		t.Errorf("a message of %d bytes", len(status.Message))
	}
	many := make([]error, 100_000)
	for i := range many {
		many[i] = fmt.Errorf("%d %s", i, strings.Repeat("x", 100))
	}
	if n := len(Join(many).Error()); n < len(many)*100 {
		t.Errorf("a message of %d bytes", n)
	}
}
