package representation

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/internal/registrytest"
	"github.com/miniapiserver/miniapiserver/request"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newCodec returns a codec of a resource of version v1 of the core group.
func newCodec(t testing.TB, resource string) *Codec {
	t.Helper()
	return newCodecOf(t, corev1.SchemeGroupVersion, resource)
}

// newCodecOf returns a codec of a resource.
func newCodecOf(t testing.TB, gv schema.GroupVersion, resource string) *Codec {
	t.Helper()
	catalogue := registrytest.Catalogue(t)
	res, v, ok := catalogue.Lookup(gv, resource)
	if !ok {
		t.Fatalf("%s is not served", resource)
	}
	return NewCodecs(catalogue, time.Now).Codec(res, v)
}

// withScope adds the scope that the chain would add to a request.
func withScope(r *http.Request) *http.Request {
	return r.WithContext(request.With(r.Context(), &request.Scope{Info: request.Parse(r)}))
}

// statusCode returns the code of the Status in an error.
func statusCode(err error) string {
	var s apierrors.APIStatus
	if errors.As(err, &s) {
		return fmt.Sprint(s.Status().Code)
	}
	return "500"
}
