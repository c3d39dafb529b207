package apiextensions

import (
	"cmp"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/kinds/admissionregistration"
)

// Validation of spec.conversion. Field paths are those of kube-apiserver's internal type,
// which has the webhook fields beside the strategy.

// conversionLeniency has the newer rules that an update may violate.
type conversionLeniency struct{ versions, ca bool }

// lenientConversion returns the newer rules that an update of was may violate. The CA
// bundle must be valid once the definition is established, unless it was invalid before.
func lenientConversion(old *definition) conversionLeniency {
	l := conversionLeniency{ca: !isEstablished(old)}
	w := webhookOf(old)
	if w == nil {
		return l
	}
	versions := w.ConversionReviewVersions
	l.versions = len(versions) > 0 && !admissionregistration.Reviewable(versions)
	l.ca = l.ca || w.ClientConfig != nil && len(w.ClientConfig.CABundle) > 0 && validatePEM(w.ClientConfig.CABundle) != nil
	return l
}

func webhookOf(d *definition) *apiextensionsv1.WebhookConversion {
	if d.Spec.Conversion == nil {
		return nil
	}
	return d.Spec.Conversion.Webhook
}

func conversionRules(at *validation.Path, c *apiextensionsv1.CustomResourceConversion, lenient conversionLeniency) {
	if c == nil {
		return
	}
	validation.Enum(at.Child("strategy"), c.Strategy, apiextensionsv1.NoneConverter, apiextensionsv1.WebhookConverter)
	var client *apiextensionsv1.WebhookClientConfig
	var versions []string
	if c.Webhook != nil {
		client, versions = c.Webhook.ClientConfig, c.Webhook.ConversionReviewVersions
	}
	clientAt, versionsAt := at.Child("webhookClientConfig"), at.Child("conversionReviewVersions")
	if c.Strategy == apiextensionsv1.WebhookConverter {
		conversionClientRules(clientAt, client, lenient.ca)
		admissionregistration.ReviewVersionRules(versionsAt, versions, lenient.versions, "")
		return
	}
	const alone = "should not be set when strategy is not set to Webhook"
	if client != nil {
		clientAt.Forbidden(alone)
	}
	if len(versions) > 0 {
		versionsAt.Forbidden(alone)
	}
}

func conversionClientRules(at *validation.Path, c *apiextensionsv1.WebhookClientConfig, lenientCA bool) {
	if c == nil {
		at.Required("required when strategy is set to Webhook")
		return
	}
	switch {
	case (c.URL == nil) == (c.Service == nil):
		at.Required("exactly one of url or service is required")
	case c.URL != nil:
		admissionregistration.WebhookURL(at.Child("url"), *c.URL)
	default:
		s := admissionv1.ServiceReference(*c.Service)
		admissionregistration.WebhookService(at.Child("service"), &s)
	}
	if len(c.CABundle) > 0 && !lenientCA {
		if err := validatePEM(c.CABundle); err != nil {
			at.Child("caBundle").Invalid(c.CABundle, err.Error())
		}
	}
}

// validatePEM returns an error unless data contains a PEM certificate. The error is that of the first
// block that is none.
func validatePEM(data []byte) error {
	var first error
	for rest := data; len(rest) > 0; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			first = cmp.Or(first, errors.New("unable to parse bytes as PEM block"))
			break
		}
		if block.Type != "CERTIFICATE" || len(block.Headers) > 0 {
			continue
		}
		_, err := x509.ParseCertificate(block.Bytes)
		if err == nil {
			return nil
		}
		first = cmp.Or(first, fmt.Errorf("failed to parse certificate: %w", err))
	}
	return fmt.Errorf("unable to load root certificates: %w", cmp.Or(first, errors.New("no valid certificate authority data seen")))
}

// ValidateConversion returns an error if the CA bundle of the conversion webhook is
// invalid: no object can be converted then, and the kind is not served.
func ValidateConversion(d *definition) error {
	w := webhookOf(d)
	if w == nil || w.ClientConfig == nil || len(w.ClientConfig.CABundle) == 0 {
		return nil
	}
	if err := validatePEM(w.ClientConfig.CABundle); err != nil {
		at := field.NewPath("spec", "conversion", "webhook", "clientConfig", "caBundle")
		return field.Invalid(at, w.ClientConfig.CABundle, err.Error())
	}
	return nil
}
