package imagepolicy

import (
	"errors"
	"fmt"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/configfile"
)

// imagePolicyConfig is the field imagePolicy of the plugin's configuration. Zero durations mean the
// default, negative ones disable.
type imagePolicyConfig struct {
	KubeConfigFile string `json:"kubeConfigFile"`
	// AllowTTL and DenyTTL are the times in seconds for which responses are cached.
	AllowTTL int64 `json:"allowTTL"`
	DenyTTL  int64 `json:"denyTTL"`
	// RetryBackoff is in milliseconds.
	RetryBackoff int64 `json:"retryBackoff"`
	// DefaultAllow admits pods if the backend fails.
	DefaultAllow bool `json:"defaultAllow"`

	allowTTL, denyTTL, retryBackoff time.Duration
}

func readImagePolicy(file []byte) (imagePolicyConfig, error) {
	c, err := configfile.Decode[struct {
		ImagePolicy imagePolicyConfig `json:"imagePolicy"`
	}](file)
	if err != nil {
		return imagePolicyConfig{}, err
	}
	p := c.ImagePolicy
	if p.KubeConfigFile == "" {
		return p, errors.New("imagePolicy.kubeConfigFile: Required value")
	}
	for _, d := range []struct {
		name                     string
		given                    int64
		unit, least, most, usual time.Duration
		to                       *time.Duration
	}{
		{"retry backoff", p.RetryBackoff, time.Millisecond, time.Millisecond, 5 * time.Minute, 500 * time.Millisecond, &p.retryBackoff},
		{"allow cache", p.AllowTTL, time.Second, time.Second, 30 * time.Minute, 5 * time.Minute, &p.allowTTL},
		{"deny cache", p.DenyTTL, time.Second, time.Second, 30 * time.Minute, 30 * time.Second, &p.denyTTL},
	} {
		switch {
		case d.given == 0:
			*d.to = d.usual
		case d.given < 0: // disabled
		case d.given > int64(d.most/d.unit) || time.Duration(d.given)*d.unit < d.least:
			return p, fmt.Errorf("valid value is between %v and %v, got %v for %s", d.least, d.most, time.Duration(d.given)*d.unit, d.name)
		default:
			*d.to = time.Duration(d.given) * d.unit
		}
	}
	return p, nil
}
