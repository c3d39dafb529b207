package custom

import (
	"fmt"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/miniapiserver/miniapiserver/api"
)

// TestScaleColumns checks the columns of a Scale of a custom kind.
func TestScaleColumns(t *testing.T) {
	sub := scaleSubresource(&api.Resource{}, &apiextensionsv1.CustomResourceDefinition{},
		&apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas"})
	got := ""
	for _, c := range sub.Kind.Columns() {
		got += fmt.Sprintf("%s %s %q %.26s\n", c.Name, c.Type, c.Format, c.Description)
	}
	if want := `Name string "name" Name must be unique within
Desired integer "" Number of desired replicas
Available integer "" Number of actual replicas
Age date "" CreationTimestamp is a tim
`; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
