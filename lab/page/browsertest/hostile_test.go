package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// TestHostileNames checks that what clients send is text on the page, in each view that shows it.
func TestHostileNames(t *testing.T) {
	tb := open(t, wide, high)
	const evil = `"><img src=x onerror=window.harmed=1><script>window.harmed=1</script>`
	r := applied(time.Now())
	r.Name = "evil"
	r.Spec.User, r.Spec.UserAgent, r.Spec.ObjectName, r.Spec.Namespace, r.Spec.URI = evil, evil, evil, "../"+evil, "/"+evil
	r.Status.Code, r.Status.Why, r.Status.Message, r.Status.Warnings = 409, evil, evil, []string{evil}
	r.Status.Cause = conflicted(time.Now()).Status.Cause
	r.Status.Cause.Name, r.Status.Cause.Expression = evil, evil
	for i := range r.Status.Steps {
		r.Status.Steps[i].Facts = map[string]string{evil: evil}
	}
	for i := range r.Status.Changes {
		r.Status.Changes[i].Path, r.Status.Changes[i].After, r.Status.Changes[i].By = evil, evil, evil
	}
	watch := watching("evil-watch", time.Now(), evil, "pods", "1ms", 1)
	watch.Spec.UserAgent = evil
	tb.api.put(r, watch)
	tb.api.load("objects")
	tb.visit("")
	tb.until(`document.getElementById("r-evil")`)
	tb.run(`document.getElementById("r-evil").click()`)
	tb.shows(".detail .fields .by", "onerror")
	harmless := func(view string) {
		t.Helper()
		if value[bool](tb, `"harmed" in window || document.querySelectorAll("img, body script, [onerror]").length > 0`) {
			t.Errorf("%s: a name became an element", view)
		}
	}
	harmless("requests")
	// The link to the object has the name in one part of its address.
	tb.click(".links a")
	tb.until(`location.hash.startsWith("#/objects/deployments.apps/")`)
	tb.shows("h1", "onerror")
	harmless("objects")
	if n := value[int](tb, `location.hash.split("/").length`); n != 5 {
		t.Errorf("the address has %d parts: %s", n, value[string](tb, "location.hash"))
	}
	tb.goTo("watches")
	tb.shows("tbody", "onerror")
	harmless("watches")
	tb.goTo("objects/" + strings.Repeat("%", 20))
	tb.shows(".empty", "The API has no resource")
	tb.clean("400", "404")
}

// TestForeignPage checks that a page of another origin in the same browser reaches nothing, even with the token.
func TestForeignPage(t *testing.T) {
	tb := open(t, wide, high)
	tb.api.put(scene()...)
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>foreign</title><body>"))
	}))
	defer foreign.Close()
	tb.do(chromedp.Navigate(foreign.URL))
	_, token, _ := strings.Cut(tb.address, "token=")
	tb.run(fmt.Sprintf(`window.results = {};
		const target = %q + %q, headers = {Authorization: "Bearer " + %q};
		for (const [name, options] of Object.entries({plain: {}, opaque: {mode: "no-cors"}, token: {headers},
			write: {method: "POST", mode: "no-cors", body: "{}"}}))
			fetch(target, options).then(r => results[name] = r.type + " " + r.status, e => results[name] = "failed");
		const frame = document.createElement("iframe");
		frame.onload = () => { try { results.frame = frame.contentDocument ? "own" : "foreign"; } catch (e) { results.frame = "foreign"; } };
		frame.src = %q; document.body.append(frame);
		const script = document.createElement("script");
		script.onload = () => results.script = "loaded"; script.onerror = () => results.script = "failed";
		script.src = %q; document.body.append(script);`,
		tb.origin, labPath+"requests", token, tb.origin+"/", tb.origin+"/page.js"))
	tb.until("Object.keys(results).length === 6")
	results := value[map[string]string](tb, "results")
	for name, want := range map[string]string{"plain": "failed", "token": "failed", "script": "failed"} {
		if results[name] != want {
			t.Errorf("%s: %q, want %q", name, results[name], want)
		}
	}
	if n := tb.api.count(""); n != 0 {
		t.Errorf("%d requests of a foreign page came to the API: %v", n, tb.api.got)
	}
	// A frame has the error page of the browser, not the page.
	if n := value[int](tb, "window.frames[0].length"); n != 0 || results["frame"] == "own" {
		t.Errorf("the page is in a frame: %v", results)
	}
}

// TestReducedMotion checks that nothing moves for people who prefer so.
func TestReducedMotion(t *testing.T) {
	tb := open(t, wide, high)
	tb.api.addLevels()
	call(tb, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	tb.visit("levels")
	tb.until(`document.querySelector(".dotty")`)
	moving := `[...document.querySelectorAll(".dotty, .meter i")].some(e => getComputedStyle(e).transitionProperty !== "none")`
	if value[bool](tb, moving) {
		t.Error("parts of the page move")
	}
	call(tb, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{})
	tb.until(moving)
	tb.clean()
}
