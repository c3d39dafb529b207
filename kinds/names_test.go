package kinds

import (
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/structural"
	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/kinds/apiextensions"
	"github.com/miniapiserver/miniapiserver/kinds/apiregistration"
	"github.com/miniapiserver/miniapiserver/kinds/certificates"
)

// TestNamesOfOtherFields checks names that depend on other fields of the object. Their errors come
// before those of the rest of the metadata.
func TestNamesOfOtherFields(t *testing.T) {
	definition := apiextensions.CustomResourceDefinition(time.Now, expression.Library{}, structural.Release{})
	service, bundle := apiregistration.APIService(time.Now), certificates.ClusterTrustBundle()
	const (
		invalid  = ": Invalid value: "
		required = `must be spec.names.plural+"."+spec.group`
		version  = "must be `spec.version+\".\"+spec.group`: \"v1.g\""
		things   = `"spec":{"group":"example.com","names":{"plural":"things"}}`
		v1       = `"spec":{"group":"g","version":"v1"}`
		signed   = `"spec":{"signerName":"example.com/s"}`
	)
	for _, c := range []struct {
		r              *api.Resource
		metadata, spec string
		want           string
	}{
		{definition, `"name":"things.example.com"`, things, ""},
		{definition, `"name":"x","generateName":"y"`, things, "metadata.generateName" + invalid + `"y": ` + required + ",metadata.name" + invalid + `"x": ` + required},
		{service, `"name":"v1.g"`, v1, ""},
		{service, `"name":"x"`, v1, "metadata.name" + invalid + `"x": ` + version},
		{service, `"name":".."`, v1, "metadata.name" + invalid + `"..": may not be '..'`},
		{service, `"name":"x","ownerReferences":[{"apiVersion":"v1","kind":"K","name":"n"}]`, v1, "metadata.name" + invalid + `"x": ` + version + ",metadata.ownerReferences[0].uid: Required value: must not be empty"},
		{bundle, `"name":"example.com:s:a"`, signed, ""},
		{bundle, `"name":"a"`, signed, "metadata.name" + invalid + `"a": ClusterTrustBundle for signerName example.com/s must be named with prefix example.com:s:`},
		{bundle, `"name":"example.com:s:A"`, signed, "a lowercase RFC 1123 subdomain"},
		{bundle, `"name":"example.com:s:a"`, `"spec":{}`, `ClusterTrustBundle without signer name must not have ":" in its name`},
		{bundle, `"name":"a","finalizers":["b"]`, signed, `example.com:s:,metadata.finalizers[0]` + invalid + `"b": name is neither`},
	} {
		var got []string
		for _, err := range newMetadata(c.r, ruleObject(t, c.r, `{"metadata":{`+c.metadata+`},`+c.spec+`}`)) {
			got = append(got, err.Error())
		}
		if text := strings.Join(got, ","); !strings.Contains(text, c.want) || c.want == "" && text != "" {
			t.Errorf("%s %s %s: got %s, want %s", c.r.Kind, c.metadata, c.spec, text, c.want)
		}
	}
}
