package tracing

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/internal/configfile"
)

// configuration is the TracingConfiguration of apiserver.config.k8s.io.
type configuration struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Endpoint is the address of a collector, which is called without TLS. Nil means
	// OpenTelemetry's default, localhost:4317.
	Endpoint *string `json:"endpoint,omitempty"`
	// SamplingRatePerMillion is the number of sampled requests in a million. If it is nil, only
	// requests of trusted clients that sample their own are sampled.
	SamplingRatePerMillion *int32 `json:"samplingRatePerMillion,omitempty"`
}

const (
	configGroup = "apiserver.config.k8s.io"
	configKind  = "TracingConfiguration"
	million     = 1000000
)

// readConfig reads a configuration file, strictly, and validates it.
func readConfig(path string) (*configuration, error) {
	data, err := configfile.Read(path)
	if err != nil {
		return nil, err
	}
	c, err := parseConfig(data)
	if err == nil {
		err = c.validate().ToAggregate()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// parseConfig decodes a configuration in YAML or JSON.
func parseConfig(data []byte) (*configuration, error) {
	text, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return nil, err
	}
	c := &configuration{}
	strict, err := kjson.UnmarshalStrict(text, c)
	switch gvk := schema.FromAPIVersionAndKind(c.APIVersion, c.Kind); {
	case err != nil:
		return nil, err
	case c.Kind == "":
		//lint:ignore ST1005 kube-apiserver's words
		return nil, errors.New("Object 'Kind' is missing")
	case c.APIVersion == "":
		//lint:ignore ST1005 kube-apiserver's words
		return nil, errors.New("Object 'apiVersion' is missing")
	case gvk.Group != configGroup || gvk.Kind != configKind || !slices.Contains([]string{"v1", "v1beta1", "v1alpha1"}, gvk.Version):
		return nil, fmt.Errorf("no kind %q is registered for version %q", c.Kind, c.APIVersion)
	case len(strict) > 0:
		return nil, fmt.Errorf("strict decoding error: %w", errors.Join(strict...))
	}
	return c, nil
}

func (c *configuration) validate() field.ErrorList {
	var errs field.ErrorList
	if rate := c.SamplingRatePerMillion; rate != nil {
		at := field.NewPath("samplingRatePerMillion")
		if *rate < 0 {
			errs = append(errs, field.Invalid(at, *rate, "sampling rate must be positive"))
		}
		if *rate > million {
			errs = append(errs, field.Invalid(at, *rate, "sampling rate per million must be less than or equal to one million"))
		}
	}
	if c.Endpoint != nil {
		errs = append(errs, validateEndpoint(*c.Endpoint, field.NewPath("endpoint"))...)
	}
	return errs
}

// validateEndpoint requires an address with one of the schemes that gRPC resolves.
func validateEndpoint(endpoint string, at *field.Path) field.ErrorList {
	if !strings.Contains(endpoint, "//") {
		endpoint = "dns://" + endpoint
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return field.ErrorList{field.Invalid(at, endpoint, err.Error())}
	}
	if !slices.Contains([]string{"dns", "unix", "unix-abstract"}, u.Scheme) {
		return field.ErrorList{field.Invalid(at, endpoint, fmt.Sprintf("unsupported scheme: %v.  Options are none, dns, unix, or unix-abstract.  "+
			"See https://github.com/grpc/grpc/blob/master/doc/naming.md", u.Scheme))}
	}
	return nil
}
