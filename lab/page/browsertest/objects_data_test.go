package browsertest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// parse decodes JSON in which $MINUS(N) is the time N seconds ago.
func parse(text string) any {
	for n := range 600 {
		text = strings.ReplaceAll(text, fmt.Sprintf("$MINUS(%d)", n), time.Now().Add(-time.Duration(n)*time.Second).UTC().Format(time.RFC3339))
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		panic(fmt.Sprint(err, text))
	}
	return v
}

const deployment = `{"metadata": {"name": "web", "namespace": "default", "uid": "d-uid", "resourceVersion": "431", "generation": 2,
 "creationTimestamp": "$MINUS(300)", "labels": {"app.kubernetes.io/name": "web", "team": "shop"},
 "managedFields": [
  {"manager": "kubectl", "operation": "Apply", "apiVersion": "apps/v1", "time": "$MINUS(40)", "fieldsType": "FieldsV1", "fieldsV1":
   {"f:metadata": {"f:labels": {"f:app.kubernetes.io/name": {}}}, "f:spec": {"f:replicas": {}, "f:selector": {}, "f:template": {"f:metadata": {"f:labels": {"f:app.kubernetes.io/name": {}}},
    "f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {".": {}, "f:name": {}, "f:image": {}, "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}}}}}}}}},
  {"manager": "team-labels", "operation": "Update", "apiVersion": "apps/v1", "time": "$MINUS(300)", "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {"f:labels": {"f:team": {}}}}},
  {"manager": "shop-operator", "operation": "Update", "apiVersion": "apps/v1", "time": "$MINUS(120)", "fieldsType": "FieldsV1", "fieldsV1":
   {"f:spec": {"f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"sidecar\"}": {".": {}, "f:name": {}, "f:image": {}}}}}}}},
  {"manager": "kube-controller-manager", "operation": "Update", "subresource": "status", "apiVersion": "apps/v1", "time": "$MINUS(60)", "fieldsType": "FieldsV1", "fieldsV1":
   {"f:status": {"f:readyReplicas": {}, "f:replicas": {}, "f:observedGeneration": {}}}}]},
 "spec": {"replicas": 4, "revisionHistoryLimit": 10, "selector": {"matchLabels": {"app.kubernetes.io/name": "web"}},
  "template": {"metadata": {"labels": {"app.kubernetes.io/name": "web"}},
   "spec": {"containers": [{"name": "web", "image": "nginx:1.29", "imagePullPolicy": "IfNotPresent", "ports": [{"containerPort": 80, "protocol": "TCP"}]},
    {"name": "sidecar", "image": "registry.example.com/proxy:2", "imagePullPolicy": "IfNotPresent"}]}}},
 "status": {"observedGeneration": 2, "replicas": 4, "readyReplicas": 3}}`

const changes = `[
 {"metadata": {"name": "431"}, "spec": {"object": "deployments.apps/default/web", "apiVersion": "apps/v1", "kind": "Deployment", "type": "Modified", "resourceVersion": "431", "previous": "428",
  "time": "$MINUS(40)", "user": "alice", "manager": "kubectl", "request": "5e1c0f2a-apply", "verb": "patch", "fields": [{"path": "spec.replicas", "before": "3", "after": "4"}]}},
 {"metadata": {"name": "428"}, "spec": {"object": "deployments.apps/default/web", "apiVersion": "apps/v1", "kind": "Deployment", "type": "Modified", "resourceVersion": "428", "previous": "420",
  "time": "$MINUS(60)", "user": "system:serviceaccount:kube-system:deployment-controller", "manager": "kube-controller-manager/status", "verb": "update", "request": "r-status",
  "fields": [{"path": "status.readyReplicas", "before": "2", "after": "3"}]}},
 {"metadata": {"name": "420"}, "spec": {"object": "deployments.apps/default/web", "apiVersion": "apps/v1", "kind": "Deployment", "type": "Modified", "resourceVersion": "420", "previous": "412",
  "time": "$MINUS(120)", "user": "system:serviceaccount:shop:operator", "manager": "shop-operator", "verb": "update", "request": "r-sidecar",
  "fields": [{"path": "spec.template.spec.containers[1]", "after": "{\"name\":\"sidecar\",\"image\":\"registry.example.com/proxy:2\",\"imagePullPolicy\":\"IfNotPresent\"}"}]}},
 {"metadata": {"name": "412"}, "spec": {"object": "deployments.apps/default/web", "apiVersion": "apps/v1", "kind": "Deployment", "type": "Created", "resourceVersion": "412",
  "time": "$MINUS(300)", "user": "alice", "manager": "kubectl", "request": "r-created", "verb": "create"}}]`

// family are a replica set of the deployment and its pods, in the form of their metadata.
func family() (replicaSets, pods []any) {
	replicaSets = []any{parse(`{"metadata": {"name": "web-6f9c", "namespace": "default", "uid": "rs-uid", "ownerReferences":
		[{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "d-uid", "controller": true}]}}`)}
	for _, name := range []string{"web-6f9c-4kd2p", "web-6f9c-9xw7m", "web-6f9c-b2t8q", "web-6f9c-zl5hn"} {
		pods = append(pods, parse(fmt.Sprintf(`{"metadata": {"name": %q, "namespace": "default", "uid": "uid-%s", "ownerReferences":
			[{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-6f9c", "uid": "rs-uid", "controller": true}]}}`, name, name)))
	}
	return replicaSets, pods
}

const discovery = `{"items": [{"metadata": {"name": "GROUP"}, "versions": [{"version": "v1", "resources": [RESOURCES]}]}]}`

func discover(group string, resources ...string) any {
	var list []string
	for _, r := range resources {
		name, kind, _ := strings.Cut(r, " ")
		kind, scope, _ := strings.Cut(kind, " ")
		list = append(list, fmt.Sprintf(`{"resource": %q, "responseKind": {"kind": %q}, "scope": %q, "verbs": ["create","delete","get","list","update","watch"]}`, name, kind, scope))
	}
	return parse(strings.NewReplacer("GROUP", group, "RESOURCES", strings.Join(list, ",")).Replace(discovery))
}

// addObjects lets the fake API serve a deployment with its family and its changes, a secret and a node.
func (f *fakeAPI) addObjects() {
	replicaSets, pods := family()
	web := parse(deployment)
	secret := parse(`{"metadata": {"name": "db", "namespace": "default", "uid": "s-uid", "resourceVersion": "3"}, "type": "Opaque", "data": {"password": "c2VjcmV0LXdvcmQ="}}`)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers["/api"] = discover("", "pods Pod Namespaced", "secrets Secret Namespaced", "nodes Node Cluster")
	f.answers["/apis"] = discover("apps", "deployments Deployment Namespaced", "replicasets ReplicaSet Namespaced")
	for _, prefix := range []string{"", "/namespaces/default"} {
		f.answers["/apis/apps/v1"+prefix+"/deployments"] = list([]any{web})
		f.answers["/apis/apps/v1"+prefix+"/replicasets"] = list(replicaSets)
		f.answers["/api/v1"+prefix+"/pods"] = list(pods)
		f.answers["/api/v1"+prefix+"/secrets"] = list([]any{secret})
	}
	f.answers["/api/v1/nodes"] = list([]any{})
	f.answers[labPath+"changes"] = map[string]any{"object=deployments.apps/default/web": parse(changes)}
	f.answers[labPath+"changes/412"] = parse(`{"metadata": {"name": "412"}, "spec": {"object": "deployments.apps/default/web", "type": "Created", "resourceVersion": "412", "kind": "Deployment",
		"after": "{\"metadata\":{\"name\":\"web\",\"namespace\":\"default\",\"resourceVersion\":\"412\"},\"spec\":{\"replicas\":3}}"}}`)
}
