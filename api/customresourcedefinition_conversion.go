package api

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Rules of how the objects of a definition are converted between its versions.
// Places are named as in the form that kube-apiserver has inside, where what is
// a webhook's stands beside the strategy.

// conversionLeniency tells which of the newer rules do not hold for a change.
type conversionLeniency struct{ versions, ca bool }

// lenientConversion returns the rules that a change of was need not keep to. The CA
// must be valid once the definition is established, unless it was invalid before.
func lenientConversion(was *definition) conversionLeniency {
	l := conversionLeniency{ca: !established(was)}
	w := webhookOf(was)
	if w == nil {
		return l
	}
	versions := w.ConversionReviewVersions
	l.versions = len(versions) > 0 && !reviewable(versions)
	l.ca = l.ca || w.ClientConfig != nil && len(w.ClientConfig.CABundle) > 0 && CertificateFault(w.ClientConfig.CABundle) != nil
	return l
}

func webhookOf(d *definition) *apiextensionsv1.WebhookConversion {
	if d.Spec.Conversion == nil {
		return nil
	}
	return d.Spec.Conversion.Webhook
}

func conversionRules(at *place, c *apiextensionsv1.CustomResourceConversion, lenient conversionLeniency) {
	if c == nil {
		return
	}
	enum(at.of("strategy"), c.Strategy, apiextensionsv1.NoneConverter, apiextensionsv1.WebhookConverter)
	var client *apiextensionsv1.WebhookClientConfig
	var versions []string
	if c.Webhook != nil {
		client, versions = c.Webhook.ClientConfig, c.Webhook.ConversionReviewVersions
	}
	clientAt, versionsAt := at.of("webhookClientConfig"), at.of("conversionReviewVersions")
	if c.Strategy == apiextensionsv1.WebhookConverter {
		conversionClientRules(clientAt, client, lenient.ca)
		reviewVersionRules(versionsAt, versions, lenient.versions, "")
		return
	}
	const alone = "should not be set when strategy is not set to Webhook"
	if client != nil {
		clientAt.forbidden(alone)
	}
	if len(versions) > 0 {
		versionsAt.forbidden(alone)
	}
}

func conversionClientRules(at *place, c *apiextensionsv1.WebhookClientConfig, lenientCA bool) {
	if c == nil {
		at.required("required when strategy is set to Webhook")
		return
	}
	switch {
	case (c.URL == nil) == (c.Service == nil):
		at.required("exactly one of url or service is required")
	case c.URL != nil:
		webhookURL(at.of("url"), *c.URL)
	default:
		s := admissionv1.ServiceReference(*c.Service)
		webhookService(at.of("service"), &s)
	}
	if len(c.CABundle) > 0 && !lenientCA {
		if err := CertificateFault(c.CABundle); err != nil {
			at.of("caBundle").invalid(c.CABundle, err.Error())
		}
	}
}

// CertificateFault tells what is wrong with certificates in PEM; nil if there is
// at least one and all of them can be read.
func CertificateFault(data []byte) error {
	found := false
	for rest := data; len(rest) > 0; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" || len(block.Headers) > 0 {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("unable to load root certificates: %w", err)
		}
		found = true
	}
	if !found {
		return errors.New("unable to load root certificates: data does not contain any valid RSA or ECDSA certificates")
	}
	return nil
}

// ConversionFault tells why the objects of a definition cannot be converted
// whatever they are, so that the kind is not to be served.
func ConversionFault(d *definition) error {
	w := webhookOf(d)
	if w == nil || w.ClientConfig == nil || len(w.ClientConfig.CABundle) == 0 {
		return nil
	}
	if err := CertificateFault(w.ClientConfig.CABundle); err != nil {
		at := field.NewPath("spec", "conversion", "webhook", "clientConfig", "caBundle")
		return field.Invalid(at, w.ClientConfig.CABundle, err.Error())
	}
	return nil
}
