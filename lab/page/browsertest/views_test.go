package browsertest

import (
	"fmt"
	"image"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	labpage "github.com/miniapiserver/miniapiserver/lab/page"
)

func contains(text, part string) bool {
	return strings.Contains(strings.Join(strings.Fields(text), " "), part)
}

// addLevels lets the fake API serve the dumps of flow control, whose requests advance with each dump.
func (f *fakeAPI) addLevels() {
	const base = "/debug/api_priority_and_fairness/"
	var turn atomic.Int64
	waiting := func() int { return 20 + int(turn.Load()%10)*3 }
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dumps[base+"dump_priority_levels"] = func() string {
		turn.Add(1)
		return fmt.Sprintf("PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests, ExecutingRequests, DispatchedRequests, RejectedRequests, TimedoutRequests, CancelledRequests\n"+
			"exempt,            0,            false,  false,       0,               2,                 9120,               0,                0,                0\n"+
			"global-default,    7,            false,  false,       %d,              24,                %d,               %d,                0,                0\n"+
			"leader-election,   0,            true,   false,       0,               0,                 410,                0,                0,                0\n"+
			"workload-high,     0,            false,  false,       0,               3,                 20011,              0,                0,                0\n"+
			"workload-low,      0,            false,  false,       0,               1,                 3011,               0,                0,                0\n",
			waiting(), 5000+turn.Load()*11, turn.Load()/4)
	}
	f.dumps[base+"dump_queues"] = func() string {
		var b strings.Builder
		b.WriteString("PriorityLevelName, Index, PendingRequests, ExecutingRequests, SeatsInUse, NextDispatchR, InitialSeatsSum, MaxSeatsSum, TotalWorkSum\n")
		for i := range 128 {
			fmt.Fprintf(&b, "global-default, %d, 0, 0, 0, 0.0ss, 0, 0, 0.0ss\n", i)
		}
		return b.String()
	}
	f.dumps[base+"dump_requests"] = func() string {
		var b strings.Builder
		b.WriteString("PriorityLevelName, FlowSchemaName, QueueIndex, RequestIndexInQueue, FlowDistingsher, ArriveTime, InitialSeats, FinalSeats, AdditionalLatency, StartTime\n")
		row := func(level, schema string, queue, place, id int, user string) {
			fmt.Fprintf(&b, "%s, %s, %d, %d, %s, 2026-01-01T00:00:%02d.%06dZ, 1, 0, 0s, 0001-01-01T00:00:00Z\n", level, schema, queue, place, user, id%60, id)
		}
		queues := []int{3, 17, 31, 44, 71, 90, 117}
		step := int(turn.Load())
		for i := range waiting() {
			q := i % len(queues)
			row("global-default", "global-default", queues[q], i/len(queues), step*len(queues)+i+1000*q, fmt.Sprintf("user-%d", q))
		}
		for i := range 24 {
			row("global-default", "global-default", queues[i%7], -1, step*3+i, fmt.Sprintf("user-%d", i%7))
		}
		for i := range 3 {
			row("workload-high", "kube-controller-manager", 1, -1, step+i, "kcm")
		}
		row("workload-low", "service-accounts", 2, -1, step, "sa")
		return b.String()
	}
	f.dumps["/metrics"] = func() string { return metrics(turn.Add(1)) }
}

func metrics(turn int64) string {
	var b strings.Builder
	for level, seats := range map[string]int{"exempt": 0, "global-default": 24, "leader-election": 25, "workload-high": 98, "workload-low": 245} {
		fmt.Fprintf(&b, "apiserver_flowcontrol_current_limit_seats{priority_level=%q} %d\n", level, seats)
	}
	for i, bound := range []string{"0.005", "0.025", "0.1", "0.5", "1", "2.5", "10", "25", "+Inf"} {
		fmt.Fprintf(&b, "apiserver_admission_webhook_admission_duration_seconds_bucket{name=\"labels.example.com\",operation=\"CREATE\",rejected=\"false\",type=\"admit\",le=%q} %d\n", bound, []int{40, 310, 402, 418, 419, 420, 420, 420, 420}[i])
	}
	b.WriteString(`apiserver_admission_webhook_admission_duration_seconds_sum{name="labels.example.com",operation="CREATE",rejected="false",type="admit"} 8.4
apiserver_admission_webhook_admission_duration_seconds_count{name="labels.example.com",operation="CREATE",rejected="false",type="admit"} 420
apiserver_admission_webhook_rejection_count{error_type="no_error",name="labels.example.com",operation="CREATE",rejection_code="403",type="admit"} 7
`)
	for i, queue := range []string{"deployment", "garbage_collector_attempt_to_delete", "namespace", "serviceaccount"} {
		fmt.Fprintf(&b, "workqueue_adds_total{name=%q} %d\nworkqueue_depth{name=%q} %d\nworkqueue_retries_total{name=%q} %d\n", queue, turn*int64(9-2*i), queue, max(0, 7-3*i), queue, i)
		fmt.Fprintf(&b, "workqueue_queue_duration_seconds_bucket{name=%q,le=\"0.001\"} %d\nworkqueue_queue_duration_seconds_bucket{name=%q,le=\"+Inf\"} %d\nworkqueue_queue_duration_seconds_count{name=%q} %d\n", queue, turn, queue, turn, queue, turn)
	}
	return b.String()
}

// TestLevelsMove checks that the picture of flow control follows the dumps.
func TestLevelsMove(t *testing.T) {
	tb := open(t, wide, high)
	tb.api.addLevels()
	tb.visit("levels")
	tb.shows("[data-level=global-default] h2", "24 of 24 seats")
	first := value[int](tb, `Number(document.querySelector("[data-level=global-default] [data-waiting]").dataset.waiting)`)
	tb.until(fmt.Sprintf(`document.querySelector("[data-level=global-default] [data-waiting]").dataset.waiting != %d`, first))
	tb.until(`document.querySelectorAll("[data-level=global-default] .dotty").length > 40`)
	// A dot has another place after the next dump.
	tb.run(`const d = document.querySelector("[data-level=global-default] .dotty:not(.left)"); window.dot = d; window.place = d.style.transform`)
	tb.until(`!dot.isConnected || dot.style.transform !== place`)
	tb.until(`document.querySelector(".plot canvas")`)
	// The window of the plot fills for a while.
	tb.until(`document.querySelector(".rejects")`)
	tb.click("[data-level=global-default] h2 button")
	tb.shows(".title", "in global-default")
	tb.picture("levels")
	tb.clean()
}

// TestWatches checks the table of open watches.
func TestWatches(t *testing.T) {
	tb := open(t, wide, high)
	tb.api.put(scene()...)
	tb.visit("watches")
	tb.shows(".title", "4 open")
	tb.shows("tbody tr:first-child", "shops.example.com")
	tb.shows("tbody tr:first-child", "640 ms")
	more := watching("w-3", time.Now().Add(-90*time.Second), "system:serviceaccount:shop:operator", "shops.example.com", "2s", 478)
	tb.api.put(more)
	tb.shows("tbody tr:first-child", "478")
	tb.shows("tbody tr:first-child", "2.0 s")
	tb.clean()
}

// TestWebhooks checks the latencies and rejections of webhooks, and the policies.
func TestWebhooks(t *testing.T) {
	tb := open(t, wide, high)
	tb.api.addLevels()
	const group = "/apis/admissionregistration.k8s.io/v1/"
	tb.api.mu.Lock()
	tb.api.answers[group+"mutatingwebhookconfigurations"] = list([]any{parse(`{"metadata": {"name": "team-labels"}, "webhooks": [{"name": "labels.example.com", "failurePolicy": "Fail", "timeoutSeconds": 5,
		"clientConfig": {"service": {"namespace": "shop", "name": "labels", "path": "/mutate"}}, "rules": [{"operations": ["CREATE", "UPDATE"], "apiGroups": ["apps"], "resources": ["deployments"]}]}]}`)})
	tb.api.answers[group+"validatingwebhookconfigurations"] = list(nil)
	tb.api.answers[group+"validatingadmissionpolicies"] = list([]any{parse(`{"metadata": {"name": "replicas-limit"}, "spec": {"matchConstraints": {"resourceRules": [{"operations": ["CREATE"], "apiGroups": ["apps"], "resources": ["deployments"]}]},
		"validations": [{"expression": "object.spec.replicas <= 5"}]}}`)})
	tb.api.answers[group+"validatingadmissionpolicybindings"] = list([]any{parse(`{"metadata": {"name": "everywhere"}, "spec": {"policyName": "replicas-limit", "validationActions": ["Deny"]}}`)})
	tb.api.mu.Unlock()
	tb.visit("webhooks")
	tb.shows(".card", "labels.example.com")
	text := value[string](tb, `document.querySelector(".card").innerText`)
	for _, want := range []string{"420 calls", "20 ms mean", "≤ 500 ms for 99 %", "7 rejected", "service shop/labels/mutate"} {
		if !contains(text, want) {
			t.Errorf("the card lacks %q: %q", want, text)
		}
	}
	tb.shows("table", "object.spec.replicas <= 5")
	tb.shows("table", "everywhere (Deny)")
	tb.clean()
}

// TestControllers checks the table of queues.
func TestControllers(t *testing.T) {
	tb := open(t, wide, high)
	tb.api.addLevels()
	tb.visit("controllers")
	tb.shows("tbody tr:first-child", "deployment")
	tb.until(`document.querySelectorAll("tbody tr").length === 4`)
	tb.until(`parseFloat(document.querySelector("tbody tr:first-child td:nth-child(4)").innerText) > 0`)
	tb.until(`document.querySelector("tbody tr:first-child .spark polyline")`)
	tb.clean()
}

// addAccess lets the fake API serve roles and bindings, and answer reviews.
func (f *fakeAPI) addAccess() {
	const group = "/apis/rbac.authorization.k8s.io/v1/"
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[group+"clusterroles"] = list([]any{
		parse(`{"metadata": {"name": "view"}, "rules": [{"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["pods", "services", "configmaps"]}, {"verbs": ["get", "list", "watch"], "apiGroups": ["apps"], "resources": ["deployments", "replicasets"]}]}`),
		parse(`{"metadata": {"name": "cluster-admin"}, "rules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}, {"verbs": ["*"], "nonResourceURLs": ["*"]}]}`),
	})
	f.answers[group+"roles"] = list([]any{parse(`{"metadata": {"name": "cleaner", "namespace": "default"}, "rules": [{"verbs": ["delete", "deletecollection"], "apiGroups": [""], "resources": ["pods"]}, {"verbs": ["update"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["state"]}]}`)})
	f.answers[group+"clusterrolebindings"] = list([]any{
		parse(`{"metadata": {"name": "admins"}, "roleRef": {"kind": "ClusterRole", "name": "cluster-admin"}, "subjects": [{"kind": "Group", "name": "system:masters"}]}`),
		parse(`{"metadata": {"name": "cleaner-view"}, "roleRef": {"kind": "ClusterRole", "name": "view"}, "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": "cleaner"}]}`),
	})
	f.answers[group+"rolebindings"] = list([]any{parse(`{"metadata": {"name": "cleaner", "namespace": "default"}, "roleRef": {"kind": "Role", "name": "cleaner"}, "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": "cleaner"}]}`)})
	f.reviews = func(spec map[string]any) map[string]any {
		what, _ := spec["resourceAttributes"].(map[string]any)
		groups, _ := spec["groups"].([]any)
		if what["verb"] == "delete" && what["namespace"] == "default" && spec["user"] == "system:serviceaccount:default:cleaner" && slices.Contains(groups, any("system:serviceaccounts:default")) {
			return map[string]any{"allowed": true, "reason": `RBAC: allowed by RoleBinding "cleaner/default" of Role "cleaner" to ServiceAccount "cleaner/default"`}
		}
		return map[string]any{"allowed": false}
	}
}

// TestAccess checks the answer, everybody who can, and the matrix of a user.
func TestAccess(t *testing.T) {
	tb := open(t, wide, high)
	tb.api.addObjects()
	tb.api.addAccess()
	tb.visit("access")
	set := func(field int, text string) {
		tb.run(fmt.Sprintf(`const e = document.querySelectorAll(".access .bar input")[%d]; e.value = %q; e.dispatchEvent(new Event("change", {bubbles: true}))`, field, text))
	}
	set(0, "system:serviceaccount:default:cleaner")
	set(2, "delete")
	tb.shows(".decision", "RoleBinding \"cleaner/default\"")
	tb.shows(".section", "system:masters")
	tb.shows(".matrix", "deployments.apps")
	tb.click(`[aria-label="delete pods: in some namespaces"]`)
	tb.shows(".reasons", "RoleBinding default/cleaner")
	tb.until(`document.querySelector('[aria-label="update configmaps: some names only"]')`)
	tb.until(`document.querySelector('[aria-label="get pods: everywhere"]')`)
	tb.picture("access")
	set(4, "shop")
	tb.until(`document.querySelector(".decision.refused")`)
	tb.clean()
}

// brightness returns the mean of the pixels of a picture, from 0 to 255.
func brightness(img image.Image) int {
	b := img.Bounds()
	sum, n := 0, 0
	for y := b.Min.Y; y < b.Max.Y; y += 7 {
		for x := b.Min.X; x < b.Max.X; x += 7 {
			r, g, bl, _ := img.At(x, y).RGBA()
			sum += int(r+g+bl) / 3 >> 8
			n++
		}
	}
	return sum / n
}

// TestColours checks light and dark: as the system has it, and as the switch says.
func TestColours(t *testing.T) {
	tb := open(t, wide, high)
	tb.api.put(scene()...)
	tb.colours("light")
	tb.visit("")
	tb.shows(".status", "167 requests")
	light := brightness(tb.picture("light"))
	tb.colours("dark")
	tb.until(`getComputedStyle(document.body).backgroundColor === "rgb(20, 23, 27)"`)
	dark := brightness(tb.picture("dark"))
	if light < 200 || dark > 70 {
		t.Errorf("the brightness is %d in light and %d in dark", light, dark)
	}
	tb.press("t")
	tb.until(`getComputedStyle(document.body).backgroundColor === "rgb(245, 245, 242)"`)
	tb.press("t")
	tb.until(`getComputedStyle(document.body).backgroundColor === "rgb(20, 23, 27)"`)
	// The choice stays.
	tb.do(chromedp.Reload())
	tb.shows(".status", "167 requests")
	tb.until(`document.documentElement.dataset.theme === "dark"`)
	tb.clean()
}

// TestNarrow checks that no view is wider than a phone.
func TestNarrow(t *testing.T) {
	tb := open(t, 390, 780)
	tb.api.put(scene()...)
	tb.api.addObjects()
	tb.api.addLevels()
	tb.api.addAccess()
	tb.visit("")
	tb.shows(".status", "167 requests")
	for _, view := range []string{"objects/deployments.apps/default/web", "watches", "levels", "controllers", "access", "requests"} {
		tb.goTo(view)
		tb.until(fmt.Sprintf(`document.querySelector(".nav a[aria-current]").getAttribute("href") === %q && !document.querySelector("main").innerText.includes("reading")`, "#/"+strings.Split(view, "/")[0]))
		if w := value[[]int](tb, `[document.documentElement.scrollWidth, document.querySelector("main").scrollWidth]`); w[0] > 390 || w[1] > 390 {
			t.Errorf("%s is %v pixels wide", view, w)
		}
	}
	tb.picture("narrow")
	tb.click("#r-77aa31d0-denied")
	tb.shows(".detail h2", "cart-7d9f")
	if value[bool](tb, `document.querySelector(".browse").checkVisibility()`) {
		t.Error("the table is beside the detail in a narrow window")
	}
	tb.picture("narrow-detail")
	tb.click(".close")
	tb.until(`document.querySelector(".browse").checkVisibility()`)
	tb.clean()
}

// TestToken checks the page without a token, with a wrong one, and that it is kept for a reload and in no address.
func TestToken(t *testing.T) {
	tb := open(t, wide, high)
	tb.api.put(scene()...)
	tb.do(chromedp.Navigate(tb.origin + "/"))
	tb.shows("h1", "This page needs its token")
	tb.do(chromedp.Navigate(tb.origin + "/#token=" + labpage.NewToken()))
	tb.do(chromedp.Reload())
	tb.shows("h1", "This page needs its token")
	if n := tb.api.count("requests"); n > 0 {
		t.Errorf("%d requests with a wrong token came to the API", n)
	}
	tb.run(fmt.Sprintf(`document.querySelector("input").value = %q; document.querySelector("button").click()`, tb.server.URL()))
	tb.shows(".status", "167 requests")
	if at := value[string](tb, "location.href"); strings.Contains(at, "token") {
		t.Error("the token is in the address", at)
	}
	tb.do(chromedp.Reload())
	tb.shows(".status", "167 requests")
	if cookie := value[string](tb, "document.cookie"); cookie != "" {
		t.Error("there is a cookie", cookie)
	}
	tb.clean("401")
}
