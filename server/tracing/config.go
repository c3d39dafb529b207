package tracing

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

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

const million = 1000000

var configKinds = configfile.Versions("apiserver.config.k8s.io", "TracingConfiguration", "v1", "v1beta1", "v1alpha1")

// readConfig reads a configuration file, strictly, and validates it.
func readConfig(path string) (*configuration, error) {
	data, err := configfile.Read(path)
	if err != nil {
		return nil, err
	}
	c, err := configfile.Decode[configuration](data, configKinds...)
	if err == nil {
		err = c.validate().ToAggregate()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
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
		return field.ErrorList{field.Invalid(at, endpoint,
			fmt.Sprintf("unsupported scheme: %v.  Options are none, dns, unix, or unix-abstract.  "+
				"See https://github.com/grpc/grpc/blob/master/doc/naming.md", u.Scheme))}
	}
	return nil
}
