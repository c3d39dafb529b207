package browsertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

const (
	wide = 1440
	high = 860
)

// TestRequestsAsTheyCome checks that the page lists the requests that there are, shows new ones at the top, changes those
// that end, resumes a watch that ended, and lists again after 410.
func TestRequestsAsTheyCome(t *testing.T) {
	tb := open(t, wide, high)
	tb.api.put(scene()...)
	tb.visit("")
	tb.shows(".status", "167 requests")
	if first := value[string](tb, "document.querySelector('.canvas .line').id"); first != "r-c0ffee11-conflict" {
		t.Errorf("the newest request is not the first row, but %s", first)
	}
	slow := newRequest("slow", time.Now(), "create", "bob", "secrets", "default", "s", 0, 0)
	slow.Status.Phase = "Running"
	tb.api.put(slow)
	tb.shows("#r-slow", "…")
	ended := newRequest("slow", slow.Spec.Time.Time, "create", "bob", "secrets", "default", "s", 201, 250_000)
	tb.api.put(ended)
	tb.shows("#r-slow", "201")
	tb.shows("#r-slow .slow", "250 ms")

	lists := tb.api.count("requests?fieldSelector") + tb.api.count("requests?limit")
	tb.api.cutWatches(false)
	tb.api.put(newRequest("after-cut", time.Now(), "get", "bob", "pods", "default", "p", 200, 400))
	tb.shows("#r-after-cut", "bob")
	if again := tb.api.count("requests?fieldSelector") + tb.api.count("requests?limit"); again-lists > 0 && tb.api.count("watch=true") < 2 {
		t.Errorf("a watch that ended was not resumed, but listed %d times", again-lists)
	}
	tb.api.cutWatches(true)
	tb.api.put(newRequest("after-gone", time.Now(), "get", "bob", "pods", "default", "p", 200, 400))
	tb.shows("#r-after-gone", "bob")
	tb.clean("410")
}

// TestOwnRequests checks that the page leaves out its own requests until they are wanted.
func TestOwnRequests(t *testing.T) {
	tb := open(t, wide, high)
	own := newRequest("own", time.Now(), "list", "admin", "requests.lab.miniapiserver.io", "", "", 200, 900)
	own.Spec.UserAgent = "miniapiserver-lab-page"
	tb.api.put(own, newRequest("other", time.Now(), "get", "bob", "pods", "default", "p", 200, 400))
	tb.visit("")
	tb.shows("#r-other", "bob")
	if value[bool](tb, "Boolean(document.getElementById('r-own'))") {
		t.Error("the page shows its own requests")
	}
	tb.click(".check input")
	tb.until("document.getElementById('r-own')")
	tb.clean()
}

// TestFilter checks each filter of the table.
func TestFilter(t *testing.T) {
	tb := open(t, wide, high)
	tb.api.put(scene()...)
	tb.visit("")
	tb.shows(".status", "167 requests")
	for _, c := range []struct{ name, do, shown string }{
		{"text", `type("input[type=search]", "cleaner -watch")`, "1 of 167"},
		{"verb", `choose(".bar select", "watch")`, "4 of 167"},
		{"writes", `choose(".bar select", "writes")`, " of 167"},
		{"code", `document.querySelector(".chip.c4").click()`, " of 167"},
		{"running", `document.querySelector(".chip.c0").click()`, "4 of 167"},
		{"resource", `type(".field:nth-of-type(4) input", "shops.example.com")`, "1 of 167"},
		{"namespace", `type(".field:nth-of-type(5) input", "default")`, " of 167"},
		{"user", `type(".field:nth-of-type(3) input", "system:serviceaccount:default:cleaner")`, "1 of 167"},
		{"slow", `choose(".field:nth-of-type(6) select", "10000")`, " of 167"},
	} {
		tb.run(fmt.Sprintf(`
			const set = (e, v, kind) => { e.value = v; e.dispatchEvent(new Event(kind, {bubbles: true})); };
			const type = (s, v) => set(document.querySelector(s), v, "input");
			const choose = (s, v) => set(document.querySelector(s), v, "change");
			%s`, c.do))
		tb.shows(".status", c.shown)
		if n := value[int](tb, "document.querySelectorAll('.canvas .line').length"); n == 0 {
			t.Errorf("%s: no row is left", c.name)
		}
		switch c.name {
		case "code":
			tb.until(`[...document.querySelectorAll(".canvas .code")].every(e => e.innerText.startsWith("4"))`)
		case "writes":
			tb.until(`[...document.querySelectorAll(".canvas .verb")].every(e => e.matches(".writes, .deletes"))`)
		case "slow":
			tb.until(`[...document.querySelectorAll(".canvas .took")].every(e => parseFloat(e.innerText) >= 10 && e.innerText.endsWith("ms"))`)
		}
		tb.run(`document.querySelector(".status .link").click()`)
		tb.shows(".status", "167 requests")
	}
	tb.clean()
}

// TestWay checks the way of a request: steps, changes with authors, what refused it, and who wrote in between.
func TestWay(t *testing.T) {
	tb := open(t, wide, high)
	tb.api.put(scene()...)
	tb.visit("")
	tb.click("#r-5e1c0f2a-apply")
	tb.shows(".detail h2", "default/web")
	tb.shows(".waterfall", "RoleBinding default/developers")
	tb.shows(".detail .fields", "spec.progressDeadlineSeconds")
	tb.shows(".detail .fields .by", "webhook team-labels/labels.example.com")
	// The bar of the webhook begins at a tenth and takes sixty percent.
	bar := value[[]float64](tb, `(() => { const b = document.querySelector(".k-hook").getBoundingClientRect();
		const t = document.querySelector(".track").getBoundingClientRect();
		return [(b.left - t.left) / t.width, b.width / t.width]; })()`)
	if bar[0] < 0.08 || bar[0] > 0.12 || bar[1] < 0.55 || bar[1] > 0.65 {
		t.Errorf("the bar of the webhook is at %v", bar)
	}
	tb.picture("requests")

	tb.click("#r-77aa31d0-denied")
	tb.shows(".cause", "delete pods in namespace default")
	tb.shows(".detail .message", "cannot delete resource")
	tb.shows(".lacks", "namespace")
	tb.click(".detail details summary")
	tb.shows(".detail pre.yaml", `verbs: ["delete"]`)
	tb.shows(".detail pre.yaml", "kind: ServiceAccount")
	tb.picture("denied")

	tb.click("#r-c0ffee11-conflict")
	tb.shows(".cause", "as kubectl")
	tb.shows(".cause .fields", "spec.replicas")
	tb.click(".cause .write a")
	tb.shows(".detail h2", "patch")
	tb.clean()
}

// TestKeyboard uses the page without a mouse.
func TestKeyboard(t *testing.T) {
	tb := open(t, wide, high)
	tb.api.put(scene()...)
	tb.visit("")
	tb.shows(".status", "167 requests")
	tb.press("j")
	tb.until(`document.querySelector("#r-c0ffee11-conflict[aria-selected=true]")`)
	tb.press("j", kb.ArrowDown, "k", kb.Enter)
	tb.shows(".detail h2", "cart-7d9f")
	// With the detail open the keys go through the requests.
	tb.press("j")
	tb.shows(".detail h2", "default/web")
	tb.press(kb.Escape)
	tb.until(`!document.querySelector(".detail")`)
	tb.press(kb.End)
	tb.until(`document.querySelector("#r-w-1[aria-selected=true]")`)
	tb.press("/")
	tb.until(`document.activeElement.type === "search"`)
	tb.press("j", "j")
	tb.until(`document.activeElement.value.endsWith("jj")`)
	tb.press(kb.Escape)
	tb.until(`document.activeElement.type !== "search"`)
	tb.press("?")
	tb.until(`document.querySelector("dialog").open`)
	tb.press(kb.Escape)
	tb.until(`!document.querySelector("dialog").open`)
	tb.press("t")
	tb.until(`document.documentElement.dataset.theme === "light"`)
	tb.press("p")
	tb.shows(".status", "paused")
	for key, title := range map[string]string{"2": "Objects", "3": "Watches", "4": "Flow control", "5": "Webhooks", "6": "Controllers",
		"7": "Access", "1": "Requests"} {
		tb.press(key)
		tb.until(fmt.Sprintf(`document.title.startsWith(%q)`, title))
	}
	// Each link and button can be reached and has a name.
	nameless := value[[]string](tb, `[...document.querySelectorAll("a, button, input, select")].filter(e =>
		!(e.innerText || e.getAttribute("aria-label") || e.closest("label")?.innerText)).map(e => e.outerHTML)`)
	if len(nameless) > 0 {
		t.Error("without a name:", nameless)
	}
	tb.clean("404")
}

// TestStays checks that the row that a person reads stays where it is while others come.
func TestStays(t *testing.T) {
	tb := open(t, wide, high)
	tb.api.put(scene()...)
	tb.visit("")
	tb.shows(".status", "167 requests")
	tb.press("j", "j", "j", "j", "j")
	tb.until(`document.querySelector(".line.current")`)
	top := `document.querySelector(".line.current").getBoundingClientRect().top`
	before := value[float64](tb, top)
	tb.api.stream(many(0, 100))
	tb.shows(".status", "267 requests")
	if after := value[float64](tb, top); after < before-2 || after > before+2 {
		t.Errorf("the row moved from %v to %v", before, after)
	}
	tb.clean()
}
