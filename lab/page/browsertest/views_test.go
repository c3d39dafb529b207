package browsertest

import (
	"fmt"
	"image"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	labpage "github.com/miniapiserver/miniapiserver/lab/page"
)

func contains(text, part string) bool {
	return strings.Contains(strings.Join(strings.Fields(text), " "), part)
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
	tb.run(`const d = document.querySelector("[data-level=global-default] .dotty:not(.left)");
		window.dot = d; window.place = d.style.transform`)
	tb.until(`!dot.isConnected || dot.style.transform !== place`)
	tb.until(`document.querySelector(".plot canvas")`)
	// The window of the plot fills for a while.
	tb.until(`document.querySelector(".rejects")`)
	tb.click("[data-level=global-default] h2 button")
	tb.shows(".title", "in global-default")
	for tb.api.count("dump_queues") < 14 { // the plot has some width
		tb.until(fmt.Sprintf("document.querySelector('[data-level=global-default] [data-waiting]').dataset.waiting != %d", waiting(0)))
	}
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
	tb.api.load("webhooks")
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
	tb.shows("table", "Object{metadata: Object.metadata{labels: {\"seen\": \"yes\"}}}")
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

// reviewed answers reviews of access as the roles in testdata/access.json do for a service account.
func reviewed(spec map[string]any) map[string]any {
	what, _ := spec["resourceAttributes"].(map[string]any)
	groups, _ := spec["groups"].([]any)
	if what["verb"] == "delete" && what["namespace"] == "default" && spec["user"] == "system:serviceaccount:default:cleaner" &&
		slices.Contains(groups, any("system:serviceaccounts:default")) {
		return map[string]any{
			"allowed": true,
			"reason":  `RBAC: allowed by RoleBinding "cleaner/default" of Role "cleaner" to ServiceAccount "cleaner/default"`,
		}
	}
	return map[string]any{"allowed": false}
}

// TestAccess checks the answer, everybody who can, and the matrix of a user.
func TestAccess(t *testing.T) {
	tb := open(t, wide, high)
	tb.api.load("objects")
	tb.api.load("access")
	tb.visit("access")
	set := func(field int, text string) {
		tb.fill(fmt.Sprintf(".access .bar .field:nth-of-type(%d) input", field+1), text)
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
	tb.api.load("objects")
	tb.api.addLevels()
	tb.api.load("access")
	tb.visit("")
	tb.shows(".status", "167 requests")
	for _, view := range []string{"objects/deployments.apps/default/web", "watches", "levels", "controllers", "access", "requests"} {
		tb.goTo(view)
		tb.until(fmt.Sprintf(`document.querySelector(".nav a[aria-current]").getAttribute("href") === %q`, "#/"+strings.Split(view, "/")[0]))
		tb.until(`!document.querySelector("main").innerText.includes("reading")`)
		// The view before may still be there for a moment.
		tb.until(`Math.max(document.documentElement.scrollWidth, document.querySelector("main").scrollWidth) <= 390`)
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
	// Only the fragment differs, so that the browser does not load the page by itself.
	tb.run(fmt.Sprintf("location.hash = %q", "#token="+labpage.NewToken()))
	tb.until(`sessionStorage.getItem("lab-token")`)
	tb.shows("h1", "This page needs its token")
	if n := tb.api.count("requests"); n > 0 {
		t.Errorf("%d requests with a wrong token came to the API", n)
	}
	tb.run(fmt.Sprintf(`document.querySelector("input").value = %q; document.querySelector("button").click()`, tb.address))
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
