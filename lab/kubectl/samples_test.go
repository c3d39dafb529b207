package kubectl

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

const (
	deniedID   = "11111111-0000-4000-8000-000000000001"
	createdID  = "22222222-0000-4000-8000-000000000002"
	conflictID = "33333333-0000-4000-8000-000000000003"
	policyID   = "44444444-0000-4000-8000-000000000004"
	watchID    = "55555555-0000-4000-8000-000000000005"
	ownID      = "66666666-0000-4000-8000-000000000006"
	discoverID = "77777777-0000-4000-8000-000000000007"
)

const kubectlAgent = "kubectl/v1.37.2 (linux/amd64) kubernetes/abcdef0"

// sampleRequests are Requests of each kind, not in the order of their times.
func sampleRequests() []v1alpha1.Request {
	return []v1alpha1.Request{
		{ObjectMeta: metav1.ObjectMeta{Name: createdID, ResourceVersion: "12"}, Spec: v1alpha1.RequestSpec{Time: at(2000), Verb: "create", Method: "POST",
			URI: "/apis/apps/v1/namespaces/shop/deployments?fieldManager=kubectl-create", User: "jane", Groups: []string{"dev", "system:authenticated"},
			SourceIP: "127.0.0.1", UserAgent: kubectlAgent, Group: "apps", Version: "v1", Resource: "deployments", Namespace: "shop", ObjectName: "web",
			FieldManager: "kubectl-create", ContentType: "application/json", BodyBytes: 2345},
			Status: v1alpha1.RequestStatus{Phase: "Complete", Code: 201, Microseconds: 4200, Took: "4.2ms", ResponseBytes: 3456,
				Warnings: []string{"a\x1b[2Jwarning"}, Stored: &v1alpha1.StoredObject{UID: "u-1", ResourceVersion: "812", Retries: 1},
				Steps: []v1alpha1.Step{{Name: "authentication", Start: 10, Microseconds: 30, Facts: map[string]string{"method": "token", "empty": ""}},
					{Name: "authorization", Start: 50, Microseconds: 20, Facts: map[string]string{"decision": "allow", "reason": "RBAC: RoleBinding shop/dev"}},
					{Name: "Create", Start: 100, Microseconds: 4000}, {Name: "Create/Mutating admission", Start: 200, Microseconds: 1500},
					{Name: "Create/Mutating admission/DefaultTolerationSeconds", Start: 210, Microseconds: 8}, {Name: "Create/Object stored", Start: 4100}},
				Changes: []v1alpha1.FieldChange{{Path: "spec.replicas", After: "1", By: "defaults"}, {Path: "spec.x", Before: `"a"`, By: "pruning"},
					{Path: "spec.y", Before: `"a"`, After: `"b"`, By: "pruning"}}}},
		{ObjectMeta: metav1.ObjectMeta{Name: deniedID, ResourceVersion: "11"}, Spec: v1alpha1.RequestSpec{Time: at(1000), Verb: "delete", Method: "DELETE",
			URI: "/api/v1/namespaces/shop/pods/web", User: "system:serviceaccount:ci:deployer", Impersonator: "admin", SourceIP: "::1", UserAgent: "robot/1",
			Version: "v1", Resource: "pods", Namespace: "shop", ObjectName: "web"},
			Status: v1alpha1.RequestStatus{Phase: "Complete", Code: 403, Reason: "Forbidden", Message: `pods "web" is forbidden`, Microseconds: 150,
				Why: `authorization: pods "web" is forbidden`, Cause: &v1alpha1.Cause{By: v1alpha1.CauseAuthorization, Missing: &v1alpha1.MissingPermission{
					Verb: "delete", Resource: "pods", Namespace: "shop", Name: "web", Nearest: []v1alpha1.NearRule{{Binding: "RoleBinding shop/dev",
						Role: "ClusterRole view", Rule: "get,list,watch pods in namespace shop", Lacks: []string{"verb"}}}}}}},
		{ObjectMeta: metav1.ObjectMeta{Name: conflictID, ResourceVersion: "13"}, Spec: v1alpha1.RequestSpec{Time: at(3000), Verb: "update", Method: "PUT",
			URI: "/apis/apps/v1/namespaces/shop/deployments/web", User: "jane", UserAgent: kubectlAgent, Group: "apps", Version: "v1",
			Resource: "deployments", Namespace: "shop", ObjectName: "web", BodyDigest: "abc", BodyBytes: 2_000_000, DryRun: true},
			Status: v1alpha1.RequestStatus{Phase: "Complete", Code: 409, Reason: "Conflict", Message: "the object has been modified", Microseconds: 900,
				Hidden: "you may not read deployments.apps in namespace shop",
				Cause: &v1alpha1.Cause{By: v1alpha1.CauseConflict, Writes: []v1alpha1.ConflictingWrite{{Request: createdID, User: "robot", Manager: "hpa",
					Time: at(2500), ResourceVersion: "813", Fields: []v1alpha1.FieldChange{{Path: "spec.replicas", Before: "1", After: "5"}}}}}}},
		{ObjectMeta: metav1.ObjectMeta{Name: policyID, ResourceVersion: "14"}, Spec: v1alpha1.RequestSpec{Time: at(4000), Verb: "patch", Method: "PATCH",
			URI: "/api/v1/nodes/n", User: "jane", UserAgent: kubectlAgent, Version: "v1", Resource: "nodes", ObjectName: "n", Patch: `{"spec":{"replicas":7}}`},
			Status: v1alpha1.RequestStatus{Phase: "Complete", Code: 422, Reason: "Invalid", Microseconds: 1_234_567, Owners: []v1alpha1.OwnerChange{{Manager: "kubectl (Apply)", Gained: []string{".spec.a", ".spec.b"}},
				{Manager: "hpa (Update, scale)", Lost: []string{".spec.a"}}}, Why: "policy replicas refused it",
				Cause: &v1alpha1.Cause{By: v1alpha1.CauseAdmissionPolicy, Name: "replicas/all", Expression: "object.spec.replicas < variables.most", Variables: map[string]string{"most": "5", "a": "true"},
					Fields: []v1alpha1.CauseField{{Path: "spec.replicas", Type: "FieldValueInvalid", Message: "Invalid value: 7"}}}}},
		{ObjectMeta: metav1.ObjectMeta{Name: watchID, ResourceVersion: "15"}, Spec: v1alpha1.RequestSpec{Time: at(5000), Verb: "watch", Method: "GET",
			URI: "/api/v1/pods?watch=true", User: "system:serviceaccount:kube-system:job-controller", UserAgent: "kube-controller-manager/v1.37.2", Version: "v1", Resource: "pods"},
			Status: v1alpha1.RequestStatus{Phase: "Running", Code: 200, ResponseBytes: 123_456, Watch: &v1alpha1.WatchStatus{Events: 7, Bookmarks: 2, Lag: "3ms"}}},
		{ObjectMeta: metav1.ObjectMeta{Name: ownID, ResourceVersion: "16"}, Spec: v1alpha1.RequestSpec{Time: at(9000), Verb: "list", Method: "GET",
			URI: labPath + "requests", User: "jane", UserAgent: "kubectl-lab/v1alpha1", Group: "lab.miniapiserver.io", Version: "v1alpha1", Resource: "requests"},
			Status: v1alpha1.RequestStatus{Phase: "Complete", Code: 200, Microseconds: 100}},
		{ObjectMeta: metav1.ObjectMeta{Name: discoverID, ResourceVersion: "17"}, Spec: v1alpha1.RequestSpec{Time: at(6000), Verb: "get", Method: "GET",
			URI: "/apis?timeout=32s", User: "jane", UserAgent: kubectlAgent}, Status: v1alpha1.RequestStatus{Phase: "Complete", Code: 200, Microseconds: 80}},
	}
}

const webKey = "deployments.apps/shop/web"

// sampleChanges are the Changes of a deployment, the oldest first, with the states after them.
func sampleChanges() []v1alpha1.Change {
	time1, time2 := at(2000), at(8000)
	return []v1alpha1.Change{
		{ObjectMeta: metav1.ObjectMeta{Name: "812"}, Spec: v1alpha1.ChangeSpec{Object: webKey, APIVersion: "apps/v1", Kind: "Deployment", Type: "Created",
			ResourceVersion: "812", Time: &time1, User: "jane", Manager: "kubectl-create", Request: createdID, Verb: "create",
			Fields: []v1alpha1.FieldChange{{Path: "spec", After: `{"replicas":1}`}},
			After:  `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","resourceVersion":"812"},"spec":{"paused":true,"replicas":1}}`}},
		{ObjectMeta: metav1.ObjectMeta{Name: "1005"}, Spec: v1alpha1.ChangeSpec{Object: webKey, APIVersion: "apps/v1", Kind: "Deployment", Type: "Modified",
			ResourceVersion: "1005", Previous: "812", Time: &time2, User: "system:serviceaccount:kube-system:hpa", Manager: "hpa/scale", Request: conflictID, Verb: "update",
			Fields: []v1alpha1.FieldChange{{Path: `metadata.labels`, After: `{"a.b/c":"a long value that is certainly longer than what fits"}`},
				{Path: "spec.replicas", Before: "1", After: "5"}, {Path: "spec.paused", Before: "true"}, {Path: "spec.strategy", Before: "null", After: "{}"}},
			After: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","resourceVersion":"1005","labels":{"a.b/c":"x"},"managedFields":[]},"spec":{"replicas":5,"strategy":{}}}`}},
	}
}

// sampleObject is the deployment after the changes.
const sampleObject = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"labels":{"a.b/c":"a long value that is certainly longer than what fits"},
"name":"web","namespace":"shop","resourceVersion":"1005","managedFields":[{"manager":"m","operation":"Update","fieldsV1":{"f:spec":{}}}]},
"spec":{"replicas":5,"strategy":{}}}`
