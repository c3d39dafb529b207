package clients

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// envtestCase is a change that test suites of operators make to the flags of envtest, and what
// they expect of it.
type envtestCase struct {
	configure func(t *testing.T, env *envtest.Environment)
	check     func(t *testing.T, env *envtest.Environment, admin kubernetes.Interface)
}

func envtestCases() map[string]envtestCase {
	return map[string]envtestCase{
		"token file":              {configureTokenFile, checkToken("secret", "anna")},
		"token webhook":           {configureTokenWebhook, checkToken("secret", "anna")},
		"unreachable OIDC issuer": {flags("oidc-issuer-url", "https://127.0.0.1:1", "oidc-client-id", "c"), checkReads},
		"limits":                  {flags("max-requests-inflight", "5000", "max-mutating-requests-inflight", "2500", "delete-collection-workers", "10"), checkReads},
		"one mode":                {flags("authorization-mode", "RBAC"), checkForbidden},
		"addresses":               {flags("bind-address", "127.0.0.1", "advertise-address", "127.0.0.1"), checkReads},
		"all APIs":                {flags("runtime-config", "api/all=true"), checkServed("resource.k8s.io/v1beta2")},
		"some APIs":               {configureVersions, checkServed("admissionregistration.k8s.io/v1beta1")},
		"no namespace lifecycle":  {flags("disable-admission-plugins", "NamespaceLifecycle,ServiceAccount"), checkWithoutNamespace},
		"service accounts":        {flags("disable-admission-plugins", ""), checkServiceAccount},
		"more plugins":            {flags("enable-admission-plugins", "MutatingAdmissionWebhook,ValidatingAdmissionWebhook,PodNodeSelector"), checkReads},
		"loopback service range":  {flags("service-cluster-ip-range", "127.0.0.0/24"), checkServiceAddress("127.0.0.")},
		"issuer":                  {flags("service-account-issuer", "https://issuer.example", "api-audiences", "a,b"), checkIssuer("https://issuer.example")},
		"verbose log":             {flags("v", "6", "vmodule", "a=4"), checkReads},
		"small choices":           {flags("profiling", "false", "event-ttl", "10m", "watch-cache", "false", "allow-privileged", "true", "enable-aggregator-routing", "true"), checkReads},
		"etcd":                    {configureEtcd, checkReads},
	}
}

// TestEnvtestFlags checks that flags which test suites of operators set through envtest start
// the server and have their effect.
func TestEnvtestFlags(t *testing.T) {
	t.Setenv("KUBEBUILDER_ASSETS", output(t, buildServer(t).binary, "envtest", "--bin-dir", t.TempDir()))
	for name, c := range envtestCases() {
		t.Run(name, func(t *testing.T) {
			env := &envtest.Environment{}
			c.configure(t, env)
			config, err := env.Start()
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := env.Stop(); err != nil {
					t.Error(err)
				}
			}()
			c.check(t, env, kubernetes.NewForConfigOrDie(config))
		})
	}
}

// flags sets flags of kube-apiserver, given as names and values.
func flags(pairs ...string) func(*testing.T, *envtest.Environment) {
	return func(_ *testing.T, env *envtest.Environment) {
		for i := 0; i < len(pairs); i += 2 {
			env.ControlPlane.GetAPIServer().Configure().Set(pairs[i], pairs[i+1])
		}
	}
}

func configureVersions(_ *testing.T, env *envtest.Environment) {
	env.ControlPlane.GetAPIServer().Configure().
		Append("runtime-config", "admissionregistration.k8s.io/v1alpha1=true", "admissionregistration.k8s.io/v1beta1=true").
		Append("feature-gates", "ClusterTrustBundle=true", "StorageVersionAPI=true")
}

func configureEtcd(_ *testing.T, env *envtest.Environment) {
	env.ControlPlane.Etcd = &envtest.Etcd{}
	env.ControlPlane.Etcd.Configure().Set("quota-backend-bytes", "8589934592").Set("max-txn-ops", "1000").
		Set("auto-compaction-mode", "revision").Set("auto-compaction-retention", "1000").Set("log-level", "error")
}

func configureTokenFile(t *testing.T, env *envtest.Environment) {
	t.Helper()
	env.ControlPlane.GetAPIServer().Configure().Append("token-auth-file", writeFile(t, []byte("secret,anna,1\n")))
}

// configureTokenWebhook starts a webhook that authenticates one token.
func configureTokenWebhook(t *testing.T, env *envtest.Environment) {
	t.Helper()
	webhook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review authenticationv1.TokenReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Status.Authenticated = review.Spec.Token == "secret"
		review.Status.User.Username = "anna"
		_ = json.NewEncoder(w).Encode(review) // a failure shows in the answer of the server
	}))
	t.Cleanup(webhook.Close)
	file := filepath.Join(t.TempDir(), "webhook.kubeconfig")
	if err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"webhook": {Server: webhook.URL,
			CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: webhook.Certificate().Raw})}},
		Contexts: map[string]*clientcmdapi.Context{"webhook": {Cluster: "webhook"}}, CurrentContext: "webhook",
	}, file); err != nil {
		t.Fatal(err)
	}
	env.ControlPlane.GetAPIServer().Configure().Set("authentication-token-webhook-config-file", file).
		Set("authentication-token-webhook-version", "v1")
}

func writeFile(t *testing.T, content []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// checkReads checks that the administrator can read.
func checkReads(t *testing.T, _ *envtest.Environment, admin kubernetes.Interface) {
	t.Helper()
	if _, err := admin.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// checkToken checks that a token is that of a user, and another one of nobody.
func checkToken(token, user string) func(*testing.T, *envtest.Environment, kubernetes.Interface) {
	return func(t *testing.T, env *envtest.Environment, _ kubernetes.Interface) {
		t.Helper()
		c := rest.AnonymousClientConfig(env.Config)
		c.BearerToken = token
		self, err := kubernetes.NewForConfigOrDie(c).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		if err != nil || self.Status.UserInfo.Username != user {
			t.Errorf("got %+v, %v", self, err)
		}
		c.BearerToken = token + "x"
		if _, err := kubernetes.NewForConfigOrDie(c).CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); !apierrors.IsUnauthorized(err) {
			t.Errorf("another token got %v", err)
		}
	}
}

// checkForbidden checks that a user without permissions cannot read.
func checkForbidden(t *testing.T, env *envtest.Environment, _ kubernetes.Interface) {
	t.Helper()
	user, err := env.AddUser(envtest.User{Name: "jane"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = kubernetes.NewForConfigOrDie(user.Config()).CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("got %v", err)
	}
}

// checkServed checks that a group version is served.
func checkServed(groupVersion string) func(*testing.T, *envtest.Environment, kubernetes.Interface) {
	return func(t *testing.T, _ *envtest.Environment, admin kubernetes.Interface) {
		t.Helper()
		list, err := admin.Discovery().ServerResourcesForGroupVersion(groupVersion)
		if err != nil || len(list.APIResources) == 0 {
			t.Errorf("%+v, %v", list, err)
		}
	}
}

func checkWithoutNamespace(t *testing.T, _ *envtest.Environment, admin kubernetes.Interface) {
	t.Helper()
	made, err := admin.CoreV1().ConfigMaps("missing").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	if err != nil || made.Namespace != "missing" {
		t.Errorf("%+v, %v", made, err)
	}
}

// checkServiceAccount checks that a pod needs a service account, and gets a token of it.
func checkServiceAccount(t *testing.T, _ *envtest.Environment, admin kubernetes.Interface) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	_, err := admin.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), `error looking up service account default/default: serviceaccount "default" not found`) {
		t.Errorf("got %v", err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := admin.CoreV1().ServiceAccounts("default").Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	made, err := admin.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil || len(made.Spec.Volumes) != 1 || made.Spec.Volumes[0].Projected == nil {
		t.Errorf("%+v, %v", made, err)
	}
}

func checkServiceAddress(prefix string) func(*testing.T, *envtest.Environment, kubernetes.Interface) {
	return func(t *testing.T, _ *envtest.Environment, admin kubernetes.Interface) {
		t.Helper()
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
		made, err := admin.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{})
		if err != nil || !strings.HasPrefix(made.Spec.ClusterIP, prefix) {
			t.Errorf("%+v, %v", made, err)
		}
	}
}

func checkIssuer(issuer string) func(*testing.T, *envtest.Environment, kubernetes.Interface) {
	return func(t *testing.T, _ *envtest.Environment, admin kubernetes.Interface) {
		t.Helper()
		raw, err := admin.Discovery().RESTClient().Get().AbsPath("/.well-known/openid-configuration").DoRaw(t.Context())
		if err != nil || !strings.Contains(string(raw), `"issuer":"`+issuer+`"`) {
			t.Errorf("%s, %v", raw, err)
		}
	}
}
