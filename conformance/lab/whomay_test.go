package lab

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// TestWithoutRole checks that nothing of the group is served to users without a role on it, whatever else they may read.
func TestWithoutRole(t *testing.T) {
	w := startLab(t)
	w.load("readers.yaml")
	id := w.do("GET /api/v1/namespaces", "").id
	w.request(id)
	for _, user := range []string{"-", "nobody", "viewer"} {
		for _, path := range []string{requests, requests + "?watch=1", requests + "/" + id, changes, changes + "/1", changes + "?fieldSelector=object%3Dnamespaces%2Fa"} {
			for _, accept := range []string{"application/json", "application/json;as=Table;g=meta.k8s.io;v=v1", "application/yaml"} {
				a := w.call(call{as: user, do: "GET " + path, header: map[string]string{"Accept": accept}})
				if a.code != http.StatusForbidden || strings.Contains(string(a.body), id) && !strings.HasSuffix(path, id) {
					t.Errorf("%s GET %s: %d %.300s", user, path, a.code, a.body)
				}
			}
		}
	}
	// Nobody writes the kinds, not even the administrator.
	for _, do := range []string{"POST " + requests, "DELETE " + requests, "DELETE " + requests + "/" + id, "PUT " + requests + "/" + id,
		"PATCH " + requests + "/" + id + " merge", "POST " + changes, "DELETE " + changes + "/1", "GET " + changes + "?watch=1"} {
		if a := w.call(call{do: do, body: "{}"}); a.code != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d %.300s", do, a.code, a.body)
		}
	}
	w.request(id)
}

// marker is a text that a user may not see, as it is or encoded.
type marker struct{ name, text string }

func (m marker) in(body string) bool {
	for skip := range 3 { // in base64 of a longer text, the text may begin at each of three positions
		padded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(" ", skip) + m.text))
		if inner := padded[skip*4/3+1 : len(padded)-4]; skip == 0 && strings.Contains(body, m.text) || strings.Contains(body, inner) {
			return true
		}
	}
	return false
}

// everything returns all bytes that the group serves to a user in each representation.
func (w *world) everything(user string) string {
	w.t.Helper()
	var out strings.Builder
	add := func(path, accept string) *answer {
		a := w.call(call{as: user, do: "GET " + path, header: map[string]string{"Accept": accept}})
		if a.code != http.StatusOK {
			w.t.Fatalf("%s GET %s: %d %.300s", user, path, a.code, a.body)
		}
		fmt.Fprintf(&out, "GET %s (%s)\n%s\n", path, accept, a.body)
		return a
	}
	names := map[string][]string{}
	for _, resource := range []string{requests, changes} {
		for _, accept := range []string{"application/json;as=Table;g=meta.k8s.io;v=v1", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", "application/yaml"} {
			add(resource+"?limit=1000", accept)
		}
		add(resource+"?limit=1000&includeObject=Object", "application/json;as=Table;g=meta.k8s.io;v=v1")
		var list struct{ Items []v1alpha1.Request }
		if err := json.Unmarshal(add(resource+"?limit=1000", "application/json").body, &list); err != nil {
			w.t.Fatal(err)
		}
		for i := range list.Items {
			names[resource] = append(names[resource], list.Items[i].Name)
		}
	}
	add(requests+"?watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", "application/json")
	for resource, list := range names {
		for _, name := range list {
			add(resource+"/"+name, "application/json")
			if len(list) < 50 {
				add(resource+"/"+name, "application/json;as=Table;g=meta.k8s.io;v=v1")
			}
		}
	}
	for _, object := range []string{"secrets/a/one", "configmaps/a/one", "configmaps/b/one", "secrets/kube-system/bootstrap-token-abcdef"} {
		add(changes+"?fieldSelector=object%3D"+strings.ReplaceAll(object, "/", "%2F"), "application/json")
	}
	return out.String()
}

// finds reports the markers that are in a body, with the text around them.
func finds(body string, list []marker) (found []string) {
	for _, m := range list {
		if m.in(body) {
			at := max(strings.Index(body, m.text), 0)
			found = append(found, fmt.Sprintf("%s in %q", m.name, body[max(at-120, 0):min(at+60, len(body))]))
		}
	}
	return found
}

// TestSecretsAreNotServed checks that no credential and no content of a Secret is anywhere in what the group serves to anybody.
func TestSecretsAreNotServed(t *testing.T) {
	w := startLab(t)
	w.load("world.yaml")
	w.load("readers.yaml")
	w.do("POST "+recordings, recording("all", "{}"))
	var markers []marker
	secret := func(name string) string {
		text := "geheim" + strings.ReplaceAll(name, " ", "") + "geheim"
		markers = append(markers, marker{name, text})
		return text
	}
	try := func(c call) *answer { return w.call(c) }

	// Credentials of requests.
	bearer := secret("bearer")
	for _, c := range []call{
		{as: "-", do: "GET " + configs, header: map[string]string{"Authorization": "Bearer " + bearer}},
		{as: "-", do: "GET " + configs, header: map[string]string{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte("me:"+secret("basic auth")))}},
		{do: "GET " + configs + "?access_token=" + secret("access token in the query")},
		{do: "GET " + configs + "?access_%74oken=" + secret("escaped name in the query")},
		{do: "GET " + configs + "?Authorization=Bearer%20" + secret("authorization in the query")},
		{as: "-", do: "GET " + configs + "?watch=1", header: map[string]string{"Sec-WebSocket-Protocol": "base64url.bearer.authorization.k8s.io." + base64.RawURLEncoding.EncodeToString([]byte(secret("websocket protocol"))),
			"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}},
		{as: "-", do: "GET " + configs, header: map[string]string{"Cookie": "session=" + secret("cookie")}},
		{do: "POST /apis/authentication.k8s.io/v1/tokenreviews", body: `{"spec":{"token":"` + secret("token review") + `"}}`},
		{do: "POST /apis/authentication.k8s.io/v1/tokenreviews", body: `{"spec":{"token":"` + w.s.Token + `"}}`},
		{do: "POST /apis/authentication.k8s.io/v1/tokenreviews", body: `{"spec":{"token":["` + secret("token review of a wrong type") + `"]}}`},
	} {
		try(c)
	}
	markers = append(markers, marker{"administrator's token", w.s.Token})
	created := w.do("POST /api/v1/namespaces/a/serviceaccounts/default/token", `{}`).object(t)
	token := created.Object["status"].(map[string]any)["token"].(string)
	markers = append(markers, marker{"signature of a token", strings.Split(token, ".")[2]})

	// Contents of Secrets, in every kind of write.
	const secrets = "/api/v1/namespaces/a/secrets"
	body := func(name, metadata, fields string) string {
		return `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"` + name + `"` + metadata + `},` + fields + `}`
	}
	text := func(name string) string { return `"stringData":{"k":"` + secret(name) + `"}` }
	for _, c := range []call{
		{do: "POST " + secrets, body: body("made", "", text("create"))},
		{do: "POST " + secrets, body: body("made", "", text("create of what exists"))},
		{do: "POST " + secrets + dry, body: body("dry", "", text("dry run"))},
		{do: "POST " + secrets, body: body("invalid_name", "", text("invalid secret"))},
		{do: "POST " + secrets, body: body("x", `,"labels":{"check":"refuse"}`, text("refused by a webhook"))},
		{do: "POST " + secrets, body: body("x", `,"labels":{"check":"quote"}`, text("quoted by a webhook"))},
		{do: "POST " + secrets, body: body("x", `,"labels":{"policy":"quote"}`, text("quoted by a policy"))},
		{do: "POST " + secrets + dry, body: body("x", `,"labels":{"check":"warn"}`, text("warned of by a webhook"))},
		{do: "POST " + secrets + dry, body: body("x", `,"labels":{"policy":"warn"}`, text("warned of by a policy"))},
		{do: "POST " + secrets, body: body("x", "", `"data":{"k":"`+secret("no base64")+`!"}`)},
		{do: "POST " + secrets, body: body("x", "", `"stringData":"`+secret("wrong type")+`"`)},
		{do: "POST " + secrets, body: body("x", `,"creationTimestamp":"`+secret("time")+`"`, text("time"))},
		{do: "POST " + secrets + " yaml", body: "kind: Secret\nstringData:\n  k: @" + secret("broken yaml")},
		{do: "POST " + secrets + " yaml", body: "kind: Secret\nstringData:\n\t" + secret("broken yaml with tabs")},
		{do: "POST " + secrets, body: `{"kind":"Secret","stringData":{"k":"` + secret("broken json")},
		{do: "POST " + secrets + "?fieldValidation=Strict", body: body("x", "", `"stringData":{"k":"`+secret("duplicate")+`","k":"b"}`)},
		{do: "POST " + configs, body: body("x", "", text("posted as another kind"))},
		{do: "PUT " + secrets + "/one", body: body("one", "", text("put"))},
		{do: "PUT " + secrets + "/one", body: body("one", `,"resourceVersion":"1"`, text("put that conflicts"))},
		{do: "PATCH " + secrets + "/one merge", body: `{` + text("merge patch") + `}`},
		{do: "PATCH " + secrets + "/one smp", body: `{` + text("strategic patch") + `}`},
		{do: "PATCH " + secrets + "/one json", body: `[{"op":"add","path":"/data/j","value":"` + base64.StdEncoding.EncodeToString([]byte(secret("JSON patch"))) + `"}]`},
		{do: "PATCH " + secrets + "/one json", body: `[{"op":"test","path":"/data/j","value":"` + secret("JSON patch that fails") + `"}]`},
		{do: "PATCH " + secrets + "/one merge", body: `{"data":{"k":"` + secret("merge patch that fails") + `!"}}`},
		{do: "PATCH " + secrets + "/none merge", body: `{` + text("patch of what is missing") + `}`},
		{do: "PATCH " + secrets + "/applied?fieldManager=m apply", body: body("applied", "", text("apply"))},
		{do: "PATCH " + secrets + "/applied?fieldManager=n apply", body: body("applied", "", text("apply that conflicts"))},
		{do: "PATCH " + secrets + "/applied?fieldManager=m apply", body: body("applied", "", `"stringData":["`+secret("apply of a wrong type")+`"]`)},
		{do: "PATCH " + secrets + "/one merge", body: `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"` + secret("last applied") + `"}}}`},
		{do: "POST " + secrets, body: body("config", "", `"stringData":{"kubeconfig":"`+secret("kubeconfig")+`"}`)},
		{do: "POST " + secrets, body: `{"metadata":{"name":"account","annotations":{"kubernetes.io/service-account.name":"default"}},"type":"kubernetes.io/service-account-token"}`},
		{do: "POST /api/v1/namespaces/kube-system/secrets", body: `{"metadata":{"name":"bootstrap-token-abcdef"},"type":"bootstrap.kubernetes.io/token","stringData":{"token-id":"abcdef","token-secret":"` + secret("bootstrap token") + `"}}`},
	} {
		try(c)
	}
	var account *answer
	eventually.True(t, "the token of a Secret", func() bool {
		account = w.do("GET "+secrets+"/account", "")
		return strings.Contains(string(account.body), `"token":`)
	})
	encoded := account.object(t).Object["data"].(map[string]any)["token"].(string)
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	markers = append(markers, marker{"token in a Secret", strings.Split(string(decoded), ".")[2]})
	try(call{do: "DELETE " + secrets + "/made"})
	last := try(call{do: "DELETE " + secrets}).id
	w.request(last)
	for _, format := range []string{"", "?format=har"} {
		log := string(w.do("GET "+recordings+"/all/log"+format, "").body)
		if !strings.Contains(log, "lab-redacted-1") {
			t.Errorf("the recording has no secrets: %.300s", log)
		}
		for _, found := range finds(log, markers) {
			t.Errorf("in the recording%s: %s", format, found)
		}
	}
	for _, user := range []string{"", "reader", "watcher"} {
		for _, found := range finds(w.everything(user), markers) {
			t.Errorf("to %q: %s", user, found)
		}
	}
}

// TestContentsOfOthers checks that the group shows contents of objects only to users who may read these objects.
func TestContentsOfOthers(t *testing.T) {
	w := startLab(t)
	w.load("world.yaml")
	w.load("readers.yaml")
	w.do("POST /apis/rbac.authorization.k8s.io/v1/namespaces/a/rolebindings", `{"metadata":{"name":"reads"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"reads"},"subjects":[{"kind":"User","name":"reader"}]}`)
	var inA, inB []marker
	var list []string
	for _, namespace := range []string{"a", "b"} {
		into := &inA
		if namespace == "b" {
			into = &inB
		}
		content := func(name string) string {
			text := "inhalt" + namespace + strings.ReplaceAll(name, " ", "") + "inhalt"
			*into = append(*into, marker{name + " in " + namespace, text})
			return text
		}
		configs := "/api/v1/namespaces/" + namespace + "/configmaps"
		labelled := func(label, name string) string {
			return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","labels":{` + label + `}},"data":{"k":"` + content(name) + `"}}`
		}
		for _, c := range []call{
			{do: "POST " + configs, body: named(labelled("", "create"), "made")},
			{do: "PUT " + configs + "/made", body: named(labelled("", "put"), "made")},
			{do: "PATCH " + configs + "/made merge", body: `{"data":{"k":"` + content("merge patch") + `"}}`},
			{do: "PATCH " + configs + "/made json", body: `[{"op":"test","path":"/data/k","value":"` + content("JSON patch that fails") + `"}]`},
			{do: "PATCH " + configs + "/made?fieldManager=m&force=true apply", body: named(labelled("", "apply"), "made")},
			{do: "POST " + configs + dry, body: labelled(`"check":"quote"`, "quoted by a webhook")},
			{do: "POST " + configs + dry, body: labelled(`"policy":"quote"`, "quoted by a policy")},
			{do: "POST " + configs + dry, body: labelled(`"check":"warn"`, "warned of by a webhook")},
			{do: "POST " + configs + dry, body: labelled(`"policy":"warn"`, "warned of by a policy")},
			{do: "POST " + configs + dry, body: labelled(`"a":"`+content("label")+` !"`, "label")},
			{do: "POST " + configs + dry, body: `{"metadata":{"name":"x"},"data":{"` + content("key") + ` !":""}}`},
			{do: "POST " + configs + dry, body: `{"metadata":{"name":"x","creationTimestamp":"` + content("time") + `"}}`},
			{do: "POST /api/v1/namespaces/" + namespace + "/pods" + dry, body: pod("x", `"restartPolicy":"`+content("policy of a pod")+`",`, "")},
			{do: "POST /apis/example.com/v1/namespaces/" + namespace + "/widgets" + dry, body: widget(`"size":1,"color":"` + content("custom kind") + `"`)},
		} {
			list = append(list, w.call(c).id)
		}
		w.do("DELETE "+configs+"/made", "")
	}
	for _, id := range list {
		w.request(id)
	}
	all := slices.Concat(inA, inB)
	for _, found := range finds(w.everything("watcher"), all) {
		t.Errorf("to a user who may read nothing else: %s", found)
	}
	// A reader of a sees what is in a, and nothing of b.
	shown := w.everything("reader")
	for _, found := range finds(shown, inB) {
		t.Errorf("to a user who may read nothing in b: %s", found)
	}
	for _, m := range inA {
		if !m.in(shown) && !strings.Contains(m.name, "pod") && !strings.Contains(m.name, "custom") {
			t.Errorf("%s is not shown to a user who may read it", m.name)
		}
	}
	shown = w.everything("")
	for _, m := range all {
		if !m.in(shown) {
			t.Errorf("%s is not shown to the administrator", m.name)
		}
	}
}
