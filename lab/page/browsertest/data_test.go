package browsertest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lab "github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// start is the time of the first request of the data: some seconds ago, so that the ages in pictures are equal.
func start() time.Time { return time.Now().Add(-40 * time.Second) }

func newRequest(name string, at time.Time, verb, user, resource, namespace, object string, code int32, microseconds int64) *lab.Request {
	r := &lab.Request{}
	r.Name = name
	r.CreationTimestamp = metav1.NewTime(at)
	resource, r.Spec.Group, _ = strings.Cut(resource, ".")
	methods := map[string]string{"create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE"}
	method := methods[verb]
	if method == "" {
		method = "GET"
	}
	path := "/api/v1"
	if r.Spec.Group != "" {
		path = "/apis/" + r.Spec.Group + "/v1"
	}
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	r.Spec.Time, r.Spec.Verb, r.Spec.Method, r.Spec.User = metav1.NewMicroTime(at), verb, method, user
	r.Spec.Groups = []string{"system:authenticated"}
	r.Spec.Version, r.Spec.Resource, r.Spec.Namespace, r.Spec.ObjectName = "v1", resource, namespace, object
	r.Spec.URI = strings.TrimSuffix(path+"/"+resource+"/"+object, "/")
	r.Spec.UserAgent, r.Spec.SourceIP = "kubectl/v1.37.2 (linux/amd64) kubernetes/a1b2c3d", "127.0.0.1"
	r.Status.Phase, r.Status.Code, r.Status.Microseconds = lab.PhaseComplete, code, microseconds
	r.Status.Took = (time.Duration(microseconds) * time.Microsecond).String()
	return r
}

func step(name string, start, took int64, facts ...string) lab.Step {
	s := lab.Step{Name: name, Start: start, Microseconds: took}
	for i := 0; i+1 < len(facts); i += 2 {
		if s.Facts == nil {
			s.Facts = map[string]string{}
		}
		s.Facts[facts[i]] = facts[i+1]
	}
	return s
}

// applied is an apply that defaults, plugins and a webhook changed.
func applied(at time.Time) *lab.Request {
	r := newRequest("5e1c0f2a-apply", at, "patch", "alice", "deployments.apps", "default", "web", 201, 14_320)
	r.Spec.Groups = []string{"developers", "system:authenticated"}
	r.Spec.FieldManager, r.Spec.ContentType, r.Spec.BodyBytes = "kubectl", "application/apply-patch+yaml", 612
	r.Spec.URI += "?fieldManager=kubectl&force=false"
	r.Status.ResponseBytes = 2311
	r.Status.Why = "created, 9 fields were set on the way"
	r.Status.Stored = &lab.StoredObject{UID: "d-uid", ResourceVersion: "412"}
	r.Status.Steps = []lab.Step{
		step("authentication", 12, 310, "method", "client certificate", "user", "alice"),
		step("flow control", 340, 35, "schema", "global-default", "level", "global-default", "seats", "1"),
		step("authorization", 390, 120, "mode", "RBAC", "binding", "RoleBinding default/developers", "role", "ClusterRole edit"),
		step("Apply", 540, 13_400),
		step("Apply/decoding", 560, 410, "format", "YAML"),
		step("Apply/defaults", 1010, 260, "fields", "9"),
		step("Apply/mutating admission", 1300, 8_900),
		step("Apply/mutating admission/ServiceAccount", 1310, 40),
		step("Apply/mutating admission/webhook team-labels/labels.example.com", 1400, 8_600,
			"patched", "metadata.labels.team", "failurePolicy", "Fail"),
		step("Apply/field management", 10_300, 420, "manager", "kubectl", "conflicts", "0"),
		step("Apply/validation", 10_760, 380),
		step("Apply/validating admission", 11_180, 690),
		step("Apply/validating admission/policy replicas-limit", 11_200, 610, "expression", "object.spec.replicas <= 5", "result", "true"),
		step("Apply/transaction", 11_930, 1_700, "key", "/registry/deployments/default/web", "revision", "412", "retries", "0"),
		step("response", 13_950, 310, "encoding", "JSON"),
	}
	r.Status.Changes = []lab.FieldChange{
		{Path: "metadata.labels.team", After: `"shop"`, By: "webhook team-labels/labels.example.com"},
		{Path: "spec.progressDeadlineSeconds", After: "600", By: "defaults"},
		{Path: "spec.revisionHistoryLimit", After: "10", By: "defaults"},
		{Path: "spec.strategy.type", After: `"RollingUpdate"`, By: "defaults"},
		{Path: "spec.template.spec.containers[0].imagePullPolicy", After: `"IfNotPresent"`, By: "defaults"},
		{Path: "metadata.generation", After: "1", By: "the server"},
	}
	return r
}

// denied is a request that RBAC refused.
func denied(at time.Time) *lab.Request {
	r := newRequest("77aa31d0-denied", at, "delete", "system:serviceaccount:default:cleaner", "pods", "shop", "cart-7d9f", 403, 690)
	r.Spec.UserAgent = "cleaner/v0.3 (linux/amd64)"
	r.Status.Reason, r.Status.Why = "Forbidden", "RBAC: the user has get and list of pods here, not delete"
	r.Status.Message = `pods "cart-7d9f" is forbidden: User "system:serviceaccount:default:cleaner" ` +
		`cannot delete resource "pods" in API group "" in the namespace "shop"`
	r.Status.Steps = []lab.Step{
		step("authentication", 10, 210, "method", "service account token"),
		step("flow control", 240, 20, "schema", "service-accounts", "level", "workload-low"),
		step("authorization", 280, 190, "mode", "RBAC", "decision", "no opinion"),
		step("response", 520, 150),
	}
	r.Status.Cause = &lab.Cause{By: lab.CauseAuthorization, Name: "RBAC", Missing: &lab.MissingPermission{
		Verb: "delete", Resource: "pods", Namespace: "shop", Name: "cart-7d9f",
		Nearest: []lab.NearRule{
			{Binding: "RoleBinding shop/cleaner", Role: "Role shop/reader", Rule: "get,list pods in namespace shop", Lacks: []string{"verb"}},
			{Binding: "RoleBinding default/cleaner", Role: "Role default/cleaner", Rule: "delete pods in namespace default",
				Lacks: []string{"namespace"}},
		},
	}}
	return r
}

// conflicted is an update of an object that another writer has changed.
func conflicted(at time.Time) *lab.Request {
	r := newRequest("c0ffee11-conflict", at, "update", "system:serviceaccount:shop:operator", "deployments.apps", "default", "web", 409, 2_150)
	r.Spec.UserAgent = "shop-operator/v1.2 (linux/amd64)"
	r.Status.Reason, r.Status.Why = "Conflict", "2 writes came between the read and this write"
	r.Status.Message = `Operation cannot be fulfilled on deployments.apps "web": the object has been modified; ` +
		`please apply your changes to the latest version and try again`
	r.Status.Steps = []lab.Step{
		step("authentication", 10, 200),
		step("authorization", 250, 90),
		step("Update", 400, 1_600),
		step("Update/transaction", 900, 700, "expected", "415", "found", "431"),
	}
	r.Status.Cause = &lab.Cause{By: lab.CauseConflict, Writes: []lab.ConflictingWrite{
		{Request: "5e1c0f2a-apply", User: "alice", Manager: "kubectl", Time: metav1.NewMicroTime(at.Add(-2 * time.Second)),
			ResourceVersion: "431",
			Fields:          []lab.FieldChange{{Path: "spec.replicas", Before: "3", After: "4"}}},
		{User: "system:serviceaccount:kube-system:deployment-controller", Manager: "kube-controller-manager",
			Time: metav1.NewMicroTime(at.Add(-3 * time.Second)), ResourceVersion: "428",
			Fields: []lab.FieldChange{{Path: "status.readyReplicas", Before: "2", After: "3"}}},
	}}
	return r
}

// watching is an open watch.
func watching(name string, at time.Time, user, resource, lag string, events int64) *lab.Request {
	r := newRequest(name, at, "watch", user, resource, "", "", 200, 0)
	r.Spec.UserAgent = "kube-controller-manager/v1.37.2 (linux/amd64) kubernetes/a1b2c3d"
	r.Status.Phase, r.Status.Took = lab.PhaseRunning, ""
	r.Status.Watch = &lab.WatchStatus{Events: events, Bookmarks: events / 10, Lag: lag}
	return r
}

// scene are requests of a small cluster.
func scene() []*lab.Request {
	begin := start()
	all := []*lab.Request{
		watching("w-1", begin.Add(-3*time.Minute), "system:kube-controller-manager", "deployments.apps", "2ms", 412),
		watching("w-2", begin.Add(-3*time.Minute), "system:kube-scheduler", "pods", "1ms", 1310),
		watching("w-3", begin.Add(-90*time.Second), "system:serviceaccount:shop:operator", "shops.example.com", "640ms", 78),
		watching("w-4", begin.Add(-time.Minute), "alice", "pods", "", 12),
	}
	random := rand.New(rand.NewPCG(1, 2))
	users := []string{"system:kube-scheduler", "system:kube-controller-manager", "system:serviceaccount:shop:operator", "alice",
		"system:node:worker-1"}
	resources := []string{"pods", "deployments.apps", "configmaps", "leases.coordination.k8s.io", "endpointslices.discovery.k8s.io", "nodes"}
	verbs := []string{"get", "get", "get", "list", "update", "patch", "create"}
	for i := range 160 {
		user := users[random.IntN(len(users))]
		verb, resource := verbs[random.IntN(len(verbs))], resources[random.IntN(len(resources))]
		code := int32(200)
		switch {
		case verb == "create":
			code = 201
		case verb == "get" && random.IntN(12) == 0:
			code = 404
		}
		took := int64(300 + random.IntN(2500))
		if random.IntN(15) == 0 {
			took *= 80
		}
		namespace := []string{"default", "shop", "kube-system"}[random.IntN(3)]
		plural, _, _ := strings.Cut(resource, ".")
		object := fmt.Sprintf("%s-%d", strings.TrimSuffix(plural, "s"), random.IntN(30))
		if resource == "nodes" {
			namespace = ""
		}
		if verb == "list" {
			object = ""
		}
		at := begin.Add(time.Duration(i) * 220 * time.Millisecond)
		r := newRequest(fmt.Sprintf("r-%03d", i), at, verb, user, resource, namespace, object, code, took)
		if code == 404 {
			r.Status.Reason, r.Status.Why = "NotFound", fmt.Sprintf("there is no %s here", object)
		}
		if user != "alice" {
			r.Spec.UserAgent = user[strings.LastIndex(user, ":")+1:] + "/v1.37.2 (linux/amd64)"
		}
		all = append(all, r)
	}
	return append(all, applied(begin.Add(36*time.Second)), denied(begin.Add(37*time.Second)), conflicted(begin.Add(38*time.Second)))
}

// many returns requests of the size of real ones.
func many(from, n int) []*lab.Request {
	all := make([]*lab.Request, n)
	for i := range all {
		r := applied(time.Now())
		r.Name = fmt.Sprintf("many-%07d", from+i)
		r.Spec.ObjectName = fmt.Sprintf("web-%d", (from+i)%50)
		all[i] = r
	}
	return all
}
