package celbounds

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/mutation"
	"k8s.io/apiserver/pkg/cel/mutation/dynamic"
)

func environmentOf(t *testing.T) *cel.Env {
	t.Helper()
	env, err := environment.MustBaseEnvSet(version.MajorMinor(1, 37)).NewExpressionsEnv().Extend(cel.Variable("v", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// metered is an activation with a Meter.
type metered struct {
	v     any
	meter *Meter
}

func (a metered) ResolveName(name string) (any, bool) {
	if name == MeterName {
		return a.meter, true
	}
	return a.v, name == "v"
}

func (metered) Parent() interpreter.Activation { return nil }

// run evaluates an expression, with the limits unless without is true.
func run(t *testing.T, env *cel.Env, text string, v any, meter *Meter, without bool) string {
	t.Helper()
	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		t.Fatalf("%s: %v", text, issues.Err())
	}
	options := Options(env)
	if without {
		options = nil
	}
	program, err := env.Program(ast, append(options, cel.InterruptCheckFrequency(100))...)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	out, details, err := program.ContextEval(meter.ctx, metered{v, meter})
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(out.Type(), out.Equal(out), details.ActualCost() != nil && *details.ActualCost() > 0, fmt.Sprint(out.Value()))
}

// TestSameResults checks that calls have the results, the errors and the costs that they have without the limits.
func TestSameResults(t *testing.T) {
	env := environmentOf(t)
	for _, text := range []string{
		`'a' + v == 'ab'`, `v + 1`, `[1] + [v]`, `b'a' + bytes(v)`, `duration('1s') + duration('2s')`, `1 + 2`, `1.5 + 2.0`, `v + v`,
		`v == 'b'`, `v != 'b'`, `[v] == ['b']`, `{'a': v} != {'a': 'b'}`, `v == 1`, `v in ['a', 'b']`, `v in {'b': 1}`, `'x' in [v]`,
		`'aXbX'.replace('X', v)`, `'aXbX'.replace('X', v, 1)`, `'ab'.replace('', v)`, `'a,b'.split(',')`, `'a,b,c'.split(',', 2)`, `'abc'.split('')`,
		`['a', string(v)].join()`, `['a', string(v)].join('-')`, `[1].map(i, string(i)).join()`, `'%s-%d-%.3f-%x'.format([v, 12, 1.5, b'z'])`, `'%d'.format([v])`,
		`lists.range(3)`, `lists.range(0)`, `[1, 1, 2].distinct()`, `[[1], [2]].flatten()`, `[3, 1].sort()`, `[3, 1].sortBy(i, -i)`, `[1, 2].sum()`, `['a'].min()`, `[1, 2].max()`,
		`[1, 2].isSorted()`, `[1, 2, 1].indexOf(1)`, `[1, 2, 1].lastIndexOf(1)`, `'aba'.indexOf('a')`, `'aba'.lastIndexOf('a')`, `[1, 2, 3].slice(1, 2)`, `[1, 2].reverse()`,
		`sets.contains([1, 2], [1])`, `sets.equivalent([1], [1, 1])`, `sets.intersects([1], [2])`, `[1].includes(1)`,
		`string(1)`, `string(b'a')`, `string(v)`, `bytes(v)`, `v.lowerAscii()`, `v.upperAscii()`, `' b '.trim()`, `v.substring(0)`, `v.substring(5)`, `strings.quote(v)`,
		`'a1b22'.findAll('[0-9]+')`, `'a1b22'.findAll('[0-9]+', 1)`, `'a1'.find('[0-9]')`, `(1 / 0 == 1) || true`, `v.x == 1 || v == 'b'`, `[1, 2].all(i, i + 1 > 0)`,
		`quantity('1') == quantity('1000m')`, `optional.of(v) == optional.of('b')`, `type(v) == string`, `null == v`,
	} {
		want := run(t, env, text, "b", NewMeter(t.Context()), true)
		if got := run(t, env, text, "b", NewMeter(t.Context()), false); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestLimits checks that calls are refused before they take memory or time.
func TestLimits(t *testing.T) {
	env := environmentOf(t)
	long := strings.Repeat("a", 1<<20)
	doubled := types.DefaultTypeAdapter.NativeToValue([]string{"x"})
	for range 40 {
		doubled = types.DefaultTypeAdapter.NativeToValue([]ref.Val{doubled, doubled})
	}
	for _, tt := range []struct {
		text string
		v    any
	}{
		{`string(v).replace('a', v).size() > 0`, long}, {`string(v).replace('', v).size() > 0`, long}, {`string(v).split('').map(c, string(v)).join().size() > 0`, long[:10_000]},
		{`'%.2000000000f'.format([1.0]).size() > 0`, ""}, {`string(v).format([1.0]).size() > 0`, "%.9999999999e"},
		{`[string(v)].map(a, [a, a, a, a, a, a, a, a]).map(a, [a, a, a]).map(a, '%s'.format([a])).size() > 0`, long},
		{`lists.range(2000000000).size() > 0`, ""}, {`lists.range(9223372036854775807).size() > 0`, ""},
		{`lists.range(100000).distinct().size() > 0`, ""}, {`sets.contains(lists.range(100000), lists.range(100000))`, ""},
		{`v == v`, doubled}, {`v != v`, doubled}, {`v in [v]`, doubled}, {`[v].indexOf(v) == 0`, doubled}, {`v.flatten(50).size() > 0`, doubled},
		{`(v + v).size() > 0 && [v].distinct().size() > 0`, doubled}, {`sets.equivalent([v], [v])`, doubled}, {`[v].includes(v)`, doubled},
		{`'%s'.format([v]).size() > 0`, doubled}, {`optional.of(v) == optional.of(v)`, doubled}, {`{'a': v} == {'a': v}`, doubled},
		{`[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(i, string(v).replace('a', 'aaaaaaaaaaaa')).size() > 0`, long},
	} {
		if got := run(t, env, tt.text, tt.v, NewMeter(t.Context()), false); !strings.HasPrefix(got, "operation cancelled: actual cost limit exceeded") {
			t.Errorf("%s: %.200s", tt.text, got)
		}
	}
}

// TestInterrupted checks that a comparison does not begin when the request has ended.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	list := make([]int64, 200_000)
	meter := NewMeter(ctx)
	cancel()
	if got := run(t, environmentOf(t), "v == v", list, meter, false); !strings.Contains(got, "interrupted") {
		t.Error(got)
	}
}

// TestFunctions checks that each function of the libraries was judged: it has a check, or its result is small and
// its cost follows from the length of its arguments.
func TestFunctions(t *testing.T) {
	cheap := strings.Fields(`!_ -_ @not_strictly_false __not_strictly_false__ _%_ _&&_ _*_ _-_ _/_ _<=_ _<_ _>=_ _>_ _?._ _?_:_ _[?_] _[_] _||_
		add allowed asApproximateFloat asInteger bool cel.@mapInsert charAt check cidr compareTo contains containsCIDR containsIP double duration dyn endsWith
		error errored family fieldSelector first format.byte format.date format.datetime format.dns1035Label format.dns1035LabelPrefix format.dns1123Label
		format.dns1123LabelPrefix format.dns1123Subdomain format.dns1123SubdomainPrefix format.labelValue format.named format.qualifiedName format.uri format.uuid
		getDate getDayOfMonth getDayOfWeek getDayOfYear getEscapedPath getFullYear getHost getHostname getHours getMilliseconds getMinutes getMonth getPort
		getQuery getScheme getSeconds group hasValue int ip ip.isCanonical isCIDR isGlobalUnicast isGreaterThan isIP isInteger isLessThan
		isLinkLocalMulticast isLinkLocalUnicast isLoopback isQuantity isSemver isURL isUnspecified labelSelector last major masked matches minor name namespace
		optional.none optional.of optional.ofNonZeroValue optional.unwrap or orValue patch path prefixLength quantity reason resource semver serviceAccount
		sign size startsWith sub subresource timestamp type uint unwrapOpt url validate value`)
	for name := range environmentOf(t).Functions() {
		if _, ok := checks(name); !ok && !slices.Contains(cheap, name) {
			t.Errorf("%s: decide whether its result or its time can be out of proportion", name)
		}
	}
}

// TestCheckSize checks the size of values that share memory, and of objects, whose fields the library hides.
func TestCheckSize(t *testing.T) {
	text := types.String(strings.Repeat("x", 1000))
	of := func(v ref.Val) ref.Val {
		return dynamic.NewObjectVal(types.NewObjectType("Object"), map[string]ref.Val{"a": v, "b": v})
	}
	object, list, m := ref.Val(text), ref.Val(text), ref.Val(text)
	for range 40 {
		object = of(object)
		list = types.DefaultTypeAdapter.NativeToValue([]ref.Val{list, list})
		m = types.DefaultTypeAdapter.NativeToValue(map[string]ref.Val{"a": m, "b": m})
	}
	deep := ref.Val(text)
	for range maxDepth + 1 {
		deep = types.DefaultTypeAdapter.NativeToValue([]ref.Val{deep})
	}
	for name, v := range map[string]ref.Val{
		"objects": object, "lists": list, "maps": m, "deep": deep, "a patch": &mutation.JSONPatchVal{Val: list}, "optional": types.OptionalOf(list),
	} {
		if CheckSize(v, 1<<20) == nil {
			t.Errorf("%s are accepted", name)
		}
	}
	if err := CheckSize(of(of(text)), 1<<20); err != nil {
		t.Error(err)
	}
	if CheckSize(of(of(text)), 3000) == nil {
		t.Error("the fields of an object are not counted")
	}
}
