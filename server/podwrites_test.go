package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// managersOf returns the field managers of an object, each with its subresource.
func managersOf(obj metav1.Object) string {
	var out []string
	for _, m := range obj.GetManagedFields() {
		out = append(out, m.Manager+"/"+m.Subresource)
	}
	return strings.Join(out, " ")
}

func podFor(t *testing.T, c kubernetes.Interface, name string) *corev1.Pod {
	t.Helper()
	pod, err := c.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "x", "l": "old"}, Annotations: map[string]string{"a": "old"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{FieldManager: "m"})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// TestBinding checks the effect of a binding on a pod. The pod's conditions change only if
// the binding is posted to its pod and names the kind of its target.
func TestBinding(t *testing.T) {
	s := run(t, Options{})
	c := clientOf(t, s.RESTConfig())
	client := raw(t, s)
	ctx := t.Context()
	if _, err := c.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{corev1.LabelTopologyZone: "z"}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for i, test := range []struct {
		legacy       bool
		target, zone string
	}{
		{false, `{"kind":"Node","name":"n"}`, "z"},
		{false, `{"name":"n"}`, "mine"},
		{true, `{"kind":"Node","name":"n"}`, "mine"},
	} {
		pod := podFor(t, c, fmt.Sprint("p", i))
		pod.Status.NominatedNodeName = "other"
		pod, err := c.CoreV1().Pods("default").UpdateStatus(ctx, pod, metav1.UpdateOptions{FieldManager: "m"})
		if err != nil {
			t.Fatal(err)
		}
		path := "/api/v1/namespaces/default/bindings"
		if !test.legacy {
			path = "/api/v1/namespaces/default/pods/" + pod.Name + "/binding"
		}
		body := fmt.Sprintf(`{"apiVersion":"v1","kind":"Binding","metadata":{"name":%q,"annotations":{"a":"new"},"labels":{"l":"new","topology.kubernetes.io/zone":"mine"}},"target":%s}`, pod.Name, test.target)
		if resp, response := send(t, client, s, "POST", path, "application/json", body); resp.StatusCode != 201 {
			t.Fatalf("%s: %s", path, response)
		}
		bound, err := c.CoreV1().Pods("default").Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if bound.Spec.NodeName != "n" || bound.Annotations["a"] != "new" || bound.Labels["l"] != "new" || bound.Labels["app"] != "x" || bound.Labels[corev1.LabelTopologyZone] != test.zone {
			t.Errorf("%d: on %q, labels %v, annotations %v", i, bound.Spec.NodeName, bound.Labels, bound.Annotations)
		}
		if bound.Status.NominatedNodeName != "" || bound.Generation != pod.Generation || managersOf(bound) != managersOf(pod) {
			t.Errorf("%d: nominated %q, generation %d, managers %s", i, bound.Status.NominatedNodeName, bound.Generation, managersOf(bound))
		}
	}
}

// evictedFrom creates a running pod with a budget that has a status.
func evictedFrom(t *testing.T, c kubernetes.Interface, name string, status policyv1.PodDisruptionBudgetStatus) {
	t.Helper()
	pod := podFor(t, c, name)
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	if _, err := c.CoreV1().Pods("default").UpdateStatus(t.Context(), pod, metav1.UpdateOptions{FieldManager: "m"}); err != nil {
		t.Fatal(err)
	}
	budgets := c.PolicyV1().PodDisruptionBudgets("default")
	budget, err := budgets.Get(t.Context(), "b", metav1.GetOptions{})
	if err != nil {
		budget, err = budgets.Create(t.Context(), &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "b"},
			Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}}}, metav1.CreateOptions{FieldManager: "m"})
	}
	if err != nil {
		t.Fatal(err)
	}
	budget.Status = status
	if _, err := budgets.UpdateStatus(t.Context(), budget, metav1.UpdateOptions{FieldManager: "m"}); err != nil {
		t.Fatal(err)
	}
}

// TestEvictionOverHTTP checks that a response has Retry-After only if a retry may help, and
// that the server manages the status of a budget after an eviction.
func TestEvictionOverHTTP(t *testing.T) {
	s := run(t, Options{})
	c := clientOf(t, s.RESTConfig())
	client := raw(t, s)
	for i, test := range []struct {
		status     policyv1.PodDisruptionBudgetStatus
		code       int
		retryAfter string
	}{
		{policyv1.PodDisruptionBudgetStatus{}, http.StatusTooManyRequests, "10"},
		{policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DesiredHealthy: 1, CurrentHealthy: 1}, http.StatusTooManyRequests, ""},
		{policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DesiredHealthy: 1, CurrentHealthy: 2, DisruptionsAllowed: 1}, http.StatusCreated, ""},
	} {
		name := fmt.Sprint("p", i)
		evictedFrom(t, c, name, test.status)
		resp, body := send(t, client, s, "POST", "/api/v1/namespaces/default/pods/"+name+"/eviction", "application/json",
			`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"`+name+`"}}`)
		if resp.StatusCode != test.code || resp.Header.Get("Retry-After") != test.retryAfter {
			t.Errorf("%d: %d, Retry-After %q: %s", i, resp.StatusCode, resp.Header.Get("Retry-After"), body)
		}
	}
	b, err := c.PolicyV1().PodDisruptionBudgets("default").Get(t.Context(), "b", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := managersOf(b); got != "kube-apiserver/status m/ m/status" || b.Status.DisruptionsAllowed != 0 || len(b.Status.Conditions) != 1 {
		t.Errorf("managers %s, status %+v", got, b.Status)
	}
	if _, err := c.CoreV1().Pods("default").Get(t.Context(), "p2", metav1.GetOptions{}); err == nil {
		t.Error("the pod still exists")
	}
}

// TestTokenOfAnAccount checks that a token is issued for the account of the request, and
// names it.
func TestTokenOfAnAccount(t *testing.T) {
	s := run(t, Options{})
	c := clientOf(t, s.RESTConfig())
	accounts := c.CoreV1().ServiceAccounts("default")
	account, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(ctx context.Context, meta metav1.ObjectMeta) (*authenticationv1.TokenRequest, error) {
		return accounts.CreateToken(ctx, "a", &authenticationv1.TokenRequest{ObjectMeta: meta}, metav1.CreateOptions{})
	}
	for _, meta := range []metav1.ObjectMeta{{}, {UID: account.UID}} {
		if got, err := ask(t.Context(), meta); err != nil || got.UID != account.UID || got.Name != "a" {
			t.Errorf("%q: %v, %+v", meta.UID, err, got)
		}
	}
	want := `Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "a": the UID in the token request (other) does not match the UID of the service account (` + string(account.UID) + `)`
	if _, err := ask(t.Context(), metav1.ObjectMeta{UID: "other"}); err == nil || err.Error() != want {
		t.Errorf("another uid: %v", err)
	}
}
