// Package browsertest tests the page of the lab in a real Chromium. It is a module of its own, so that the server does
// not depend on the driver of the browser. make test-page runs it; -update makes the pictures of docs/lab-page.md.
package browsertest

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	labpage "github.com/miniapiserver/miniapiserver/lab/page"
)

// patience is how long a condition may take on a busy machine.
const patience = 20 * time.Second

var chromium context.Context

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	profile, err := os.MkdirTemp("", "lab-page-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(profile)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.UserDataDir(profile), chromedp.NoSandbox,
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-quic", true), chromedp.Flag("no-first-run", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("lang", "en-US"),
		chromedp.Env("TZ=UTC"))
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	defer cancel()
	browser, cancel := chromedp.NewContext(allocator)
	defer cancel()
	if err := chromedp.Do(browser); err != nil {
		fmt.Fprintln(os.Stderr, "Chromium does not start; make test-page installs it:", err)
		return 1
	}
	chromium = browser
	return m.Run()
}

// observer runs in each document before its scripts. It records what the policy stopped, and what kept the tab busy.
const observer = `window.observed = {violations: [], long: [], paint: 0};
addEventListener("securitypolicyviolation", e => observed.violations.push(e.violatedDirective + " " + e.blockedURI));
new PerformanceObserver(l => { for (const e of l.getEntries()) observed.long.push(e.duration); })
	.observe({type: "longtask", buffered: true});
new PerformanceObserver(l => { for (const e of l.getEntries()) if (e.name === "first-contentful-paint") observed.paint = e.startTime; })
	.observe({type: "paint", buffered: true});`

// tab is a tab of its own in the browser, with the page of a server of its own.
type tab struct {
	t   *testing.T
	ctx context.Context
	api *fakeAPI
	// address is that of the page with its token.
	address, origin string

	mu       sync.Mutex
	urls     []string
	problems []string
}

// open starts a page on the fake API and a tab for it.
func open(t *testing.T, width, height int64) *tab {
	t.Helper()
	api := newFakeAPI(t)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	server, err := labpage.Listen(labpage.Config{API: transport, URL: api.url(t), Token: labpage.NewToken()}, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	tb := openAt(t, server.URL(), width, height)
	tb.api = api
	return tb
}

// openAt opens a tab for a page.
func openAt(t *testing.T, address string, width, height int64) *tab {
	t.Helper()
	tb := &tab{t: t, address: address}
	tb.origin, _, _ = strings.Cut(address, "/#")
	ctx, cancel := chromedp.NewContext(chromium, chromedp.WithNewBrowserContext())
	tb.ctx = ctx
	t.Cleanup(cancel)
	// The first action makes the tab, which lives as long as the context of that action.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Listen(ctx, tb.listen); err != nil {
		t.Fatal(err)
	}
	call(tb, network.Enable, network.EnableParams{})
	call(tb, log.Enable, cdp.Empty{})
	call(tb, runtime.Enable, cdp.Empty{})
	call(tb, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: observer})
	call(tb, emulation.SetDeviceMetricsOverride,
		emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 600})
	return tb
}

// listen records where requests go, and what the browser complains about.
func (tb *tab) listen(event any) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		tb.urls = append(tb.urls, e.Request.URL)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			tb.problems = append(tb.problems, e.Entry.Text+" "+e.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		tb.problems = append(tb.problems, text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			tb.problems = append(tb.problems, fmt.Sprint("console ", e.Args[0].Value))
		}
	}
}

func (tb *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	tb.t.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		tb.t.Fatal(err)
	}
}

// get runs an action and returns its value.
func get[T any](tb *tab, action chromedp.Action[T]) T {
	tb.t.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		tb.t.Fatal(err)
	}
	return v
}

// call sends a command to the browser.
func call[P, R any](tb *tab, command cdp.Command[P, R], parameters P) {
	tb.t.Helper()
	tb.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, parameters)
		return err
	}))
}

// value evaluates an expression in the page.
func value[T any](tb *tab, expression string) T {
	tb.t.Helper()
	return get(tb, chromedp.Evaluate[T](expression))
}

// run runs a statement in the page.
func (tb *tab) run(statement string) {
	tb.t.Helper()
	tb.do(chromedp.Evaluate[chromedp.Void]("void (() => {" + statement + "})()"))
}

// fill sets the value of a field as a person does who leaves it then.
func (tb *tab) fill(selector, text string) {
	tb.t.Helper()
	tb.run(fmt.Sprintf(`const e = document.querySelector(%q); e.value = %q;
		for (const kind of ["input", "change"]) e.dispatchEvent(new Event(kind, {bubbles: true}))`, selector, text))
}

// click clicks on the first element of a selector.
func (tb *tab) click(selector string) {
	tb.t.Helper()
	tb.do(chromedp.Click(chromedp.CSS(selector)))
}

// visit opens the page, with its token.
func (tb *tab) visit(view string) {
	tb.t.Helper()
	tb.do(chromedp.Navigate(tb.address))
	if view != "" {
		tb.goTo(view)
	}
}

// goTo goes to a view.
func (tb *tab) goTo(view string) {
	tb.t.Helper()
	tb.run(fmt.Sprintf("location.hash = %q", "#/"+view))
}

// until waits until an expression is true in the page. chromedp.Poll makes a function of a text, which the policy of the
// page forbids.
func (tb *tab) until(expression string) {
	tb.t.Helper()
	end := time.Now().Add(patience)
	for {
		ok, err := chromedp.Run(tb.ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		if err == nil && ok {
			return
		}
		if time.Now().After(end) {
			text, _ := chromedp.Run(tb.ctx, chromedp.Evaluate[string]("document.body.innerText"))
			tb.t.Fatalf("never true: %s\n%v\n%s", expression, err, text)
		}
		select {
		case <-tb.ctx.Done():
			tb.t.Fatal(tb.ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// shows waits until a text is in the elements of a selector.
func (tb *tab) shows(selector, text string) {
	tb.t.Helper()
	tb.until(fmt.Sprintf("[...document.querySelectorAll(%q)].some(e => e.innerText.includes(%q))", selector, text))
}

// press sends a key.
func (tb *tab) press(keys ...string) {
	tb.t.Helper()
	for _, key := range keys {
		tb.do(chromedp.KeyEvent(key))
	}
}

// colours sets what the system prefers.
func (tb *tab) colours(scheme string) {
	tb.t.Helper()
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
	call(tb, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
}

// clean checks that the page talked to its own origin, and that the browser had no complaint but those allowed.
func (tb *tab) clean(allowed ...string) {
	tb.t.Helper()
	for _, v := range value[[]string](tb, "observed.violations") {
		tb.t.Error("the policy stopped", v)
	}
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if len(tb.urls) == 0 {
		tb.t.Error("no request was seen")
	}
	for _, u := range tb.urls {
		if !strings.HasPrefix(u, tb.origin+"/") && !strings.HasPrefix(u, "data:") {
			tb.t.Error("a request left the origin:", u)
		}
		if strings.Contains(strings.TrimPrefix(u, tb.address), "token") {
			tb.t.Error("the token is in an address:", u)
		}
	}
	for _, p := range tb.problems {
		ok := false
		for _, a := range allowed {
			ok = ok || strings.Contains(p, a)
		}
		if !ok {
			tb.t.Error("the browser complains:", p)
		}
	}
}
