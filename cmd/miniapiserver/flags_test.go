package main

import (
	"bytes"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/controllers"
	"github.com/miniapiserver/miniapiserver/server"
)

// parse parses a command line of miniapiserver.
func parse(args []string) (*server.CommandLine, server.Options, error) {
	c := server.NewCommandLine()
	o, err := parseFlags(c, args)
	return c, o, err
}

func TestParseFlags(t *testing.T) {
	_, o, err := parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	if o.Dir != ".miniapiserver" || o.Serving.Port != 6443 || o.Serving.BindAddress != "127.0.0.1" ||
		o.Authentication.NoAnonymous || o.Serving.InsecurePort != 0 {
		t.Errorf("defaults: %+v", o)
	}
	if o.Authentication.BootstrapTokens || o.Kubelets.AllowLoopback || len(o.Serving.CORSAllowedOrigins) > 0 {
		t.Errorf("defaults: %+v", o)
	}
	if o.Limits.RequestTimeout != time.Minute || o.Limits.MinRequestTimeout != 30*time.Minute ||
		o.Limits.MaxRequestsInflight != 400 || o.Limits.MaxMutatingRequestsInflight != 200 {
		t.Errorf("defaults: %+v", o)
	}
	c, o, err := parse([]string{
		"--ephemeral", "--anonymous-auth=false", "--min_request_timeout=60", "-v=4", "--log-format=json",
		"--etcd-servers", "http://a:1,http://b:2", "--enable-bootstrap-token-auth", "--cors-allowed-origins=//a.example$,//b.example$",
	})
	if err != nil {
		t.Fatal(err)
	}
	if !o.Authentication.BootstrapTokens || len(o.Serving.CORSAllowedOrigins) != 2 {
		t.Errorf("got %+v", o)
	}
	if !c.Ephemeral || !o.Ephemeral() || !o.Authentication.NoAnonymous || o.Limits.MinRequestTimeout != time.Minute ||
		c.Verbosity != 4 || c.LoggingFormat != "json" || len(o.Etcd.Servers) != 2 {
		t.Errorf("got %+v", o)
	}
}

func TestFeatureGates(t *testing.T) {
	_, o, err := parse([]string{"--feature-gates=ClusterTrustBundle=true,kube:GenericWorkload=true", "--feature-gates", "GenericWorkload=false"})
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]bool{"ClusterTrustBundle": true, "GenericWorkload": false}; !maps.Equal(o.FeatureGates, want) {
		t.Errorf("got %v", o.FeatureGates)
	}
	for bad, want := range map[string]string{
		"ClusterTrustBundle":            "missing bool value for ClusterTrustBundle",
		"ClusterTrustBundle=perhaps":    `"perhaps" is neither true nor false`,
		"NoSuchThing=true":              "unrecognized feature gate: NoSuchThing",
		"etcd:ClusterTrustBundle=true":  "component not registered: etcd",
		"JobManagedBy=false":            "feature is locked to true",
		"PodCertificateRequest=true,=1": "unrecognized feature gate: ",
	} {
		if _, _, err := parse([]string{"--feature-gates=" + bad}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", bad, err, want)
		}
	}
}

func TestRuntimeConfig(t *testing.T) {
	_, o, err := parse([]string{"--runtime-config=api/beta=true,batch/v1beta1=false", "--runtime-config", "policy/v1beta1"})
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"api/beta": "true", "batch/v1beta1": "false", "policy/v1beta1": ""}; !maps.Equal(o.RuntimeConfig, want) {
		t.Errorf("got %v", o.RuntimeConfig)
	}
	for _, bad := range []string{"foo/v1", "=true", "apps/v1=perhaps"} {
		if _, _, err := parse([]string{"--runtime-config=" + bad}); err == nil || !strings.Contains(err.Error(), "--runtime-config") {
			t.Errorf("%s: got %v", bad, err)
		}
	}
}

func TestControllersFlag(t *testing.T) {
	all := controllers.Names()
	but := func(names ...string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(n string) bool { return slices.Contains(names, n) })
	}
	const namespace, signing = "namespace-controller", "certificatesigningrequest-signing-controller"
	for value, off := range map[string][]string{
		"*":                              {},
		"*,bootstrapsigner,tokencleaner": {},
		"-" + signing:                    {signing},
		"*,-csrsigning,-namespace":       {signing, namespace},
		namespace + ",csrsigning":        but(namespace, signing),
		"-namespace,namespace":           but(),
		"*,-namespace,namespace":         {namespace},
		"":                               all,
	} {
		_, o, err := parse([]string{"--controllers=" + value})
		if err != nil {
			t.Errorf("%s: %v", value, err)
			continue
		}
		slices.Sort(o.Controllers.Off)
		if slices.Sort(off); !slices.Equal(o.Controllers.Off, off) {
			t.Errorf("%q turns off %q, want %q", value, o.Controllers.Off, off)
		}
	}
	if _, _, err := parse([]string{"--controllers=*,-nothing"}); err == nil || !strings.HasPrefix(err.Error(), `--controllers: "nothing" is none of `) {
		t.Errorf("unknown name: %v", err)
	}
}

func TestHelp(t *testing.T) {
	var out bytes.Buffer
	if code := runMiniapiserver([]string{"--help-all"}, &out, &out); code != 0 {
		t.Errorf("status %d", code)
	}
	for _, f := range server.NewCommandLine().Flags() {
		line := regexp.MustCompile(`(?m)^  (-., )?--` + regexp.QuoteMeta(f.Name) + ` .*$`).FindString(out.String())
		if !strings.Contains(line, f.Help) {
			t.Errorf("no line with the text of --%s: %q", f.Name, line)
		}
	}
	wrapped := &strings.Builder{}
	printFlagWrapped(wrapped, "--data-dir string", strings.Repeat("words ", 40))
	if got := wrapped.String(); !strings.HasPrefix(got, "  --data-dir string\n        words words") {
		t.Errorf("on a terminal: %q", got)
	}
	for line := range strings.Lines(wrapped.String()) {
		if len(line) > 101 || strings.TrimRight(line, " \n")+"\n" != line {
			t.Errorf("longer than 100 columns, or with trailing spaces: %q", line)
		}
	}
	out.Reset()
	if code := runMiniapiserver([]string{"--version"}, &out, &out); code != 0 || !strings.Contains(out.String(), ", Kubernetes v1.37") {
		t.Errorf("status %d: %s", code, &out)
	}
}

// TestWrongValues checks that every flag that does not take any text refuses a wrong value
// in one line that names it.
func TestWrongValues(t *testing.T) {
	wrong := map[string]string{
		"bool": "perhaps", "int": "many", "float": "some", "float32": "some", "duration": "long", "portRange": "1", "int32Slice": "x",
		"ip": "host", "namedCertKey": "file", "key=value": "x", "key=value,...": "=x", "name=bool,...": "x", "pattern=N,...": "x", "stringToString": "x",
	}
	tried := 0
	for _, newFlags := range []func() *server.CommandLine{server.NewCommandLine, server.NewKubeAPIServerCommandLine} {
		for _, f := range newFlags().Flags() {
			text, ok := wrong[f.Value.Type()]
			if !ok {
				continue
			}
			tried++
			_, err := parseFlags(newFlags(), []string{"--etcd-servers=http://127.0.0.1:1", "--" + f.Name + "=" + text})
			if err == nil || !strings.Contains(oneLine(err), "--"+f.Name) || strings.Contains(oneLine(err), "\n") {
				t.Errorf("--%s=%s: %v", f.Name, text, err)
			}
		}
	}
	if tried < 150 {
		t.Errorf("only %d flags", tried)
	}
}

func TestShellQuote(t *testing.T) {
	for path, want := range map[string]string{
		"/home/me/.miniapiserver/admin.kubeconfig": "/home/me/.miniapiserver/admin.kubeconfig",
		"/my files/x": "'/my files/x'",
		"/it's":       `'/it'\''s'`,
		"/a$b":        `'/a$b'`,
		"":            "''",
	} {
		if got := shellQuote(path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

// BenchmarkHelp measures the part of the startup time that the flags take.
func BenchmarkHelp(b *testing.B) {
	for b.Loop() {
		if code := runMiniapiserver([]string{"--help"}, io.Discard, io.Discard); code != 0 {
			b.Fatal(code)
		}
	}
}

// TestEveryFlagNamesItself checks that every flag that cannot have any text as its value
// refuses a wrong value in one line that names the flag, with status 1, under all names of
// the program.
func TestEveryFlagNamesItself(t *testing.T) {
	anyText := []string{"string", "strings", "stringArray", "key=value", "key=value,...", "namedCertKey", "quantity"}
	for name, flags := range map[string][]server.Flag{
		"miniapiserver": server.NewCommandLine().Flags(), asKubeAPIServer: server.NewKubeAPIServerCommandLine().Flags(),
	} {
		for _, f := range flags {
			if !slices.Contains(anyText, f.Value.Type()) {
				checkRefused(t, name, f.Name)
			}
		}
	}
	var help bytes.Buffer
	if code := runAs([]string{asEtcd, "--help"}, &help, io.Discard); code != 0 {
		t.Fatalf("status %d", code)
	}
	typed := regexp.MustCompile(`(?m)^ *--([a-z-]+) '(?:\d+|[\dms]+s|true|false)'`).FindAllStringSubmatch(help.String(), -1)
	if len(typed) < 20 {
		t.Errorf("the help of etcd has %d flags of numbers, booleans and durations: %s", len(typed), help.String())
	}
	for _, match := range typed {
		if match[1] != "auto-compaction-retention" { // a text, whose meaning is up to --auto-compaction-mode
			checkRefused(t, asEtcd, match[1])
		}
	}
	checkRefused(t, "envtest", "version")
}

// checkRefused checks that a program, or its part of that name, refuses nonsense as the value
// of a flag.
func checkRefused(t *testing.T, name, flag string) {
	t.Helper()
	args := []string{name, "--" + flag + "=no:sense"}
	if name == "envtest" {
		args = append([]string{"miniapiserver"}, args...)
	}
	var out, errs bytes.Buffer
	code := runAs(args, &out, &errs)
	text := errs.String()
	if code != 1 || out.Len() > 0 || strings.Count(text, "\n") != 1 || !regexp.MustCompile(`-`+flag+`\b`).MatchString(text) {
		t.Errorf("%q: status %d, stdout %q, stderr %q", args, code, out.String(), text)
	}
}
