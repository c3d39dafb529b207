package clients

import (
	"context"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/miniapiserver/miniapiserver/server"
	"github.com/miniapiserver/miniapiserver/server/servertest"
)

// TestEnvtestInProcess checks that envtest installs definitions and webhooks on a server in this
// process, without any binary, as docs/testing.md shows.
func TestEnvtestInProcess(t *testing.T) {
	s := servertest.New(t, server.Options{})
	definition := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "fleets.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "fleets", Kind: "Fleet"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: ptr.To(true),
				}},
			}},
		},
	}
	environment := &envtest.Environment{
		UseExistingCluster:    ptr.To(true),
		Config:                s.Config,
		CRDInstallOptions:     envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{definition}},
		WebhookInstallOptions: envtest.WebhookInstallOptions{ValidatingWebhooks: []*admissionv1.ValidatingWebhookConfiguration{refuseFleets()}},
	}
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	serveWebhook(t, &environment.WebhookInstallOptions)

	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	namespace := s.Namespace(t)
	fleet := &unstructured.Unstructured{}
	fleet.SetAPIVersion("example.com/v1")
	fleet.SetKind("Fleet")
	fleet.SetNamespace(namespace)
	fleet.SetName("first")
	if err := c.Create(t.Context(), fleet); !apierrors.IsForbidden(err) {
		t.Errorf("the webhook refuses, but the server answers %v", err)
	}
	config1 := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "second"}}
	if err := c.Create(t.Context(), config1); err != nil {
		t.Error(err)
	}
}

// refuseFleets returns the configuration of a webhook for the creation of fleets.
func refuseFleets() *admissionv1.ValidatingWebhookConfiguration {
	return &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "fleets"},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "fleets.example.com", AdmissionReviewVersions: []string{"v1"},
			SideEffects: ptr.To(admissionv1.SideEffectClassNone), FailurePolicy: ptr.To(admissionv1.Fail),
			ClientConfig: admissionv1.WebhookClientConfig{
				Service: &admissionv1.ServiceReference{Namespace: "default", Name: "fleets", Path: ptr.To("/refuse")},
			},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{"example.com"}, APIVersions: []string{"*"}, Resources: []string{"fleets"}},
			}},
		}},
	}
}

// serveWebhook serves the webhook at /refuse where envtest told the server to call it, and
// returns when it answers.
func serveWebhook(t *testing.T, o *envtest.WebhookInstallOptions) {
	t.Helper()
	hooks := webhook.NewServer(webhook.Options{Host: o.LocalServingHost, Port: o.LocalServingPort, CertDir: o.LocalServingCertDir})
	hooks.Register("/refuse", &webhook.Admission{Handler: admission.HandlerFunc(
		func(context.Context, admission.Request) admission.Response {
			return admission.Denied("no fleets today")
		})})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- hooks.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	ready := hooks.StartedChecker()
	for ready(&http.Request{}) != nil {
		select {
		case err := <-ended:
			t.Fatalf("the webhook ended: %v (certificates in %s)", err, filepath.Clean(o.LocalServingCertDir))
		case <-time.After(10 * time.Millisecond):
		}
	}
}
