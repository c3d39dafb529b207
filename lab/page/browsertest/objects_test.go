package browsertest

import (
	"fmt"
	"testing"
)

// author returns an expression for the text beside the line of the object that contains a text. An author is written once
// for lines that follow each other.
func author(line string) string {
	return fmt.Sprintf(`(() => { let who = ""; for (const row of document.querySelectorAll(".blame .row")) {
		who = row.querySelector(".author").innerText || (row.classList.contains("flownone") ? "" : who);
		if (row.querySelector("code").innerText.includes(%q)) return who; } return "no such line"; })()`, line)
}

// TestObject checks the authors of the lines of an object, its history, its family, and that it is followed.
func TestObject(t *testing.T) {
	tb := open(t, wide, high)
	tb.api.put(scene()...)
	tb.api.load("objects")
	tb.visit("objects/deployments.apps/default/web")
	tb.shows("h1", "Deployment default/web")
	tb.shows(".history", "deployment-controller")
	tb.shows(".tree", "web-6f9c-4kd2p")
	for line, want := range map[string]string{
		"replicas: 4":                         "kubectl alice",
		"team: shop":                          "team-labels",
		"image: nginx":                        "kubectl",
		"image: registry.example.com/proxy:2": "shop-operator sa:shop:operator",
		"readyReplicas: 3":                    "kube-controller-manager sa:kube-system:deployment-controller",
		"uid: d-uid":                          "the server",
		"revisionHistoryLimit: 10":            "kubectl alice",
	} {
		if got := value[string](tb, author(line)); !contains(got, want) {
			t.Errorf("the author of %q is %q, want %q", line, got, want)
		}
	}
	tb.shows(".tree .member.current", "web")
	if n := value[int](tb, `document.querySelectorAll(".tree .tree, .tree ul ul li").length`); n != 4 {
		t.Errorf("%d pods are below the replica set, want 4", n)
	}
	tb.picture("object")

	// The object as it was.
	tb.click(".history > li:last-child button.link")
	tb.shows(".title", "as it was at resourceVersion 412")
	tb.shows(".blame", "replicas: 3")
	tb.click(".title button.link")
	tb.shows(".blame", "replicas: 4")

	// The address leads to the request.
	tb.click(".history a")
	tb.shows(".detail h2", "default/web")
	tb.clean()
}

// TestSecret checks that the values of a Secret are hidden until they are wanted.
func TestSecret(t *testing.T) {
	tb := open(t, wide, high)
	tb.api.load("objects")
	tb.visit("objects/secrets/default/db")
	tb.shows(".blame", "(12 bytes)")
	if contains(value[string](tb, "document.body.innerText"), "c2VjcmV0") {
		t.Error("the value of a secret is shown")
	}
	tb.click(".section .note button.link")
	tb.shows(".blame", "c2VjcmV0LXdvcmQ=")
	tb.clean()
}

// TestChooseObject checks the way to an object from its resource.
func TestChooseObject(t *testing.T) {
	tb := open(t, wide, high)
	tb.api.load("objects")
	tb.visit("objects")
	tb.shows(".empty", "Choose a resource")
	tb.fill(".objects .field input", "pods")
	tb.shows(".choice", "web-6f9c-b2t8q")
	tb.click(".choice li a")
	tb.shows("h1", "Pod default/web-6f9c-4kd2p")
	tb.shows(".tree", "Deployment web")
	tb.goTo("objects/pods/default/none")
	tb.shows(".title", "there is no such object")
	tb.goTo("objects/things.example.com")
	tb.shows(".empty", "The API has no resource things.example.com")
	tb.clean()
}
