package declarative

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

// object has a field for each kind of rule.
type object struct {
	Name     string            `json:"name"`
	Size     int32             `json:"size"`
	Pointer  *int32            `json:"pointer"`
	Names    []string          `json:"names"`
	Items    []item            `json:"items"`
	Map      map[string]string `json:"map"`
	Mode     string            `json:"mode"`
	Struct   part              `json:"struct"`
	Optional *part             `json:"optional"`
	Kind     kind              `json:"kind"`
	part     `json:",inline"`
}

type part struct {
	A *string `json:"a"`
	B []int   `json:"b"`
}

type item struct {
	Key   string `json:"key"`
	Value int32  `json:"value"`
}

type kind string

// run validates obj, or an update of old, by rules of the fields of object. The rules after @ and
// the name of a type are those of that type.
func run(t *testing.T, rules string, c Config, obj object, old *object) string {
	t.Helper()
	if c.Enabled == nil {
		c.Enabled = func(string) bool { return true }
	}
	if c.Release.IsZero() {
		c.Release = kubeversion.MustParse("1.37")
	}
	pkg := reflect.TypeFor[object]().PkgPath()
	text := pkg + ".object\n"
	for line := range strings.SplitSeq(rules, "; ") {
		if typ, ok := strings.CutPrefix(line, "@"); ok {
			text += pkg + "." + typ + "\n"
		} else {
			text += "\t" + line + "\n"
		}
	}
	program, err := newTable(text, c).Program(reflect.TypeFor[*object]())
	if err != nil {
		t.Fatal(err)
	}
	var errs field.ErrorList
	if old == nil {
		errs = program.Validate(&obj, nil)
	} else {
		errs = program.Validate(&obj, old)
	}
	lines := make([]string, len(errs))
	for i, err := range errs {
		lines[i] = err.Error()
		if err.Origin != "" {
			lines[i] += " <" + err.Origin + ">"
		}
	}
	return strings.Join(lines, "\n")
}

func TestRules(t *testing.T) {
	one, two, a, items := int32(1), int32(2), "a", []item{{"a", 1}, {"b", 2}}
	for _, test := range []struct {
		rules    string
		obj, old object // an update if old is not the zero value
		want     string
	}{
		// Presence.
		{"Name required; Name maxBytes=3", object{}, object{}, `name: Required value`},
		{"Name required; Name maxBytes=3", object{Name: "long"}, object{}, `name: Too long: may not be more than 3 bytes <maxBytes>`},
		{"Pointer required", object{}, object{}, `pointer: Required value`},
		{"Names required", object{Names: []string{}}, object{}, `names: Required value`},
		{"Map required", object{}, object{}, `map: Required value`},
		{"Size optional; Size minimum=1", object{}, object{}, ``},
		{"Size optional; Size minimum=1", object{Size: -1}, object{}, `size: Invalid value: -1: must be greater than or equal to 1 <minimum>`},
		{"Pointer forbidden; Pointer minimum=5", object{Pointer: &one}, object{}, `pointer: Forbidden`},
		{"Pointer forbidden", object{}, object{}, ``},
		// Limits.
		{"Names maxItems=1; Names eachVal=format=k8s-short-name", object{Names: []string{"A", "B"}}, object{}, `names: Too many: 2: must have at most 1 item <maxItems>`},
		{"Pointer maximum=1", object{Pointer: &two}, object{}, `pointer: Invalid value: 2: must be less than or equal to 1 <maximum>`},
		{"Pointer maximum=1", object{}, object{}, ``},
		{"Name maxLength=2", object{Name: "äöü"}, object{}, `name: Too long: may not be more than 2 characters <maxLength>`},
		{"Name maxLength=3", object{Name: "äöü"}, object{}, ``},
		{"Name minLength=3", object{Name: "ab"}, object{}, `name: Too short: must be at least 3 characters <minLength>`},
		{"Name neq=x", object{Name: "x"}, object{}, `name: Invalid value: "x": must not be equal to "x" <neq>`},
		{"Size monotonic", object{Size: 1}, object{Size: 2}, `size: Invalid value: 1: may not be decreased from 2 <monotonic>`},
		// Formats, of keys and elements, too.
		{"Name format=k8s-label-key", object{Name: "x/y"}, object{}, ``},
		{"Name format=k8s-prefixed-label-key", object{Name: "y"}, object{}, `name: Invalid value: "y": must include a prefix (e.g. 'example.com/key') <format=k8s-prefixed-label-key>`},
		{"Name format=k8s-uuid", object{Name: "y"}, object{}, `name: Invalid value: "y": must be a lowercase UUID in 8-4-4-4-12 format <format=k8s-uuid>`},
		{"Names eachVal=maxBytes=1", object{Names: []string{"a", "bb"}}, object{}, `names[1]: Too long: may not be more than 1 byte <maxBytes>`},
		{"Map eachVal=maxBytes=1", object{Map: map[string]string{"x": "bb"}}, object{}, `map[x]: Too long: may not be more than 1 byte <maxBytes>`},
		{"Map eachKey=maxBytes=1", object{Map: map[string]string{"xx": "b"}}, object{}, `map: Too long: may not be more than 1 byte <maxBytes>`},
		{"Map eachKey=maxBytes=1", object{Map: map[string]string{"xx": "c"}}, object{Map: map[string]string{"xx": "b"}}, ``},
		// Types: enums, unions, and the discriminator of a struct.
		{"@kind; - enum=A,B", object{Kind: "C"}, object{}, `kind: Unsupported value: "C": supported values: "A", "B"`},
		{"Kind optional; @kind; - enum=A,B", object{}, object{}, ``},
		{"@part; - union=A,B", object{part: part{A: &a}}, object{}, "struct: Invalid value: \"\": must specify one of: `a`, `b` <union>"},
		{"Optional optional; Struct opaqueType; @part; - union=A,B", object{Optional: &part{A: &a, B: []int{1}}, part: part{A: &a}}, object{}, "optional: Invalid value: \"{a, b}\": must specify exactly one of: `a`, `b` <union>"},
		{"Struct opaqueType; @part; - union=A,B", object{Optional: &part{}, part: part{A: &a}}, object{Optional: &part{}, part: part{A: &a}, Size: 1}, ``},
		{"Mode modeDiscriminator; Pointer ifMode(One)=required", object{Mode: "One"}, object{}, `pointer: Required value`},
		{"Mode modeDiscriminator; Pointer ifMode(One)=required", object{Mode: "Two", Pointer: &one}, object{}, `pointer: Forbidden`},
		{"Mode modeDiscriminator; Pointer ifMode(One)=required", object{Mode: "Two", Pointer: &one, Size: 1}, object{Mode: "Two", Pointer: &one}, ``},
		{"Name dependentRequired(mode)", object{Name: "x"}, object{}, `mode: Required value: must be set when name is set <dependentRequired>`},
		{"Name dependentForbidden(mode)", object{Name: "x", Mode: "m"}, object{}, `mode: Forbidden: may not be set when name is set <dependentForbidden>`},
		{"Struct subfield(a)=optional; Struct subfield(a)=maxBytes=1", object{}, object{}, ``},
		{"Optional subfield(a)=format=k8s-uuid", object{Optional: &part{A: &a}}, object{}, `optional.a: Invalid value: "a": must be a lowercase UUID in 8-4-4-4-12 format <format=k8s-uuid>`},
		// Lists.
		{"Names items=set; Names unique", object{Names: []string{"a", "b", "a", "a"}}, object{}, "names[2]: Duplicate value: \"a\"\nnames[3]: Duplicate value: \"a\""},
		{"Items items=map(key); Items unique", object{Items: []item{{"a", 1}, {"a", 2}}}, object{}, `items[1]: Duplicate value: {"key":"a","value":2}`},
		{"Items items=map(key); @item; Value maximum=0", object{Items: items, Size: 1}, object{Items: items}, ``},
		{"Items items=map(key); @item; Value maximum=0", object{Items: []item{{"b", 2}, {"a", 3}}}, object{Items: items}, `items[1].value: Invalid value: 3: must be less than or equal to 0 <maximum>`},
		{"@item; Value maximum=0", object{Items: items[1:]}, object{Items: items}, `items[0].value: Invalid value: 2: must be less than or equal to 0 <maximum>`},
		{"Items zeroOrOneOf=key:a,key:b", object{Items: items}, object{}, "items: Invalid value: \"{items[{\\\"key\\\": \\\"a\\\"}], items[{\\\"key\\\": \\\"b\\\"}]}\": must specify at most one of: `items[{\"key\": \"a\"}]`, `items[{\"key\": \"b\"}]` <zeroOrOneOf>"},
		{"Items zeroOrOneOf=key:a,key:b", object{Items: items[:1]}, object{}, ``},
		// Updates.
		{"Name immutable; Name maxBytes=1", object{Name: "xx"}, object{Name: "y"}, `name: Invalid value: null: field is immutable <immutable>`},
		{"Name immutable", object{Name: "x"}, object{}, ``},
		{"Name maxBytes=1", object{Name: "xx", Size: 1}, object{Name: "xx"}, ``},
		{"Name update=NoSet", object{Name: "x", Size: 1}, object{Size: 1}, `name: Invalid value: null: field cannot be set once created <update>`},
		{"Pointer update=NoSet,NoUnset", object{}, object{Pointer: &one}, `pointer: Invalid value: null: field cannot be cleared once set <update>`},
		{"Pointer update=NoModify", object{Pointer: &two}, object{Pointer: &one}, `pointer: Invalid value: null: field cannot be modified once set <update>`},
		{"Struct update=NoModify", object{Struct: part{A: &a}}, object{Size: 1}, `struct: Invalid value: null: field cannot be modified once set <update>`},
		{"Items items=map(key); Items update=NoAddItem,NoRemoveItem", object{Items: []item{{"a", 1}, {"c", 2}}}, object{Items: items}, "items[1]: Forbidden: item may not be added <update>\nitems: Forbidden: item may not be removed <update>"},
		// Stages: a rule in alpha is not enforced, but ends the checks of the field.
		{"Name alpha(1.37) required; Name minLength=1", object{}, object{}, ``},
		{"Name alpha(1.37) maxBytes=1", object{Name: "xx"}, object{}, ``},
		{"Name beta(1.37) required", object{}, object{}, `name: Required value`},
		{"Name beta(1.38) required; Name minLength=1", object{}, object{}, ``},
		// Gates.
		{"Name ifEnabled(On)=required; Name ifDisabled(On)=forbidden", object{}, object{}, `name: Required value`},
	} {
		t.Run(test.rules, func(t *testing.T) {
			var old *object
			if !reflect.DeepEqual(test.old, object{}) {
				old = &test.old
			}
			if got := run(t, test.rules, Config{}, test.obj, old); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestConfig(t *testing.T) {
	off := func(string) bool { return false }
	for _, test := range []struct {
		rules string
		c     Config
		want  string
	}{
		{"Name beta(1.37) required", Config{Release: kubeversion.MustParse("1.36")}, ``},
		{"Name beta(1.37) required", Config{Release: kubeversion.MustParse("1.37")}, `name: Required value`},
		{"Name beta(1.37) required", Config{Release: kubeversion.MustParse("1.38")}, `name: Required value`},
		{"Name beta(1.37) required", Config{Enabled: off}, ``},
		{"Name required", Config{Release: kubeversion.MustParse("1.30"), Enabled: off}, `name: Required value`},
		{"Name ifEnabled(On)=required", Config{Enabled: off}, ``},
		{"Name ifDisabled(On)=required", Config{Enabled: off}, `name: Required value`},
	} {
		if got := run(t, test.rules, test.c, object{}, nil); got != test.want {
			t.Errorf("%s with %+v: got %q, want %q", test.rules, test.c, got, test.want)
		}
	}
}

func TestUnknownRules(t *testing.T) {
	pkg := reflect.TypeFor[object]().PkgPath()
	for _, rule := range []string{
		"Name soon(1.37) required", "Name beta(x) required", "Name unheardOf", "Name format=unheardOf", "Name maxItems=3", "Names maxItems=x",
		"Size maxBytes=2", "Size unheardOf", "- unheardOf", "- union=Nothing", "Name eachVal=required", "Name items=map(a)", "Items items=map(nothing)",
		"Name subfield(x)=required", "Name dependentRequired(nothing)", "Pointer ifMode(One)=required", "Struct update=NoSet", "Name update=unheardOf",
		"Name zeroOrOneOf=a:b", "Items zeroOrOneOf=nothing:b",
	} {
		table := newTable(pkg+".object\n\t"+rule+"\n", Config{Release: kubeversion.MustParse("1.37"), Enabled: func(string) bool { return true }})
		if _, err := table.Program(reflect.TypeFor[*object]()); err == nil {
			t.Errorf("%s compiles", rule)
		}
	}
}

func TestMerge(t *testing.T) {
	path := field.NewPath("f")
	declared := field.ErrorList{field.Required(path, ""), field.Invalid(path, nil, "field is immutable").WithOrigin("immutable")}
	byHand := field.ErrorList{
		field.Required(path, "must be set"),
		field.Required(path.Child("g"), ""),
		field.Invalid(path, 1, "cannot be changed").WithOrigin("immutable"),
		field.Invalid(path, 1, "field is immutable"),
		field.Invalid(path, 1, "must be even"),
	}
	var got []string
	for _, err := range Merge(byHand, declared, nil) {
		got = append(got, err.Error())
	}
	want := []string{`f.g: Required value`, `f: Invalid value: 1: must be even`, `f: Required value`, `f: Invalid value: null: field is immutable`}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Merge(byHand, nil, nil); len(got) != len(byHand) {
		t.Errorf("without declared errors: %v", got)
	}
}
