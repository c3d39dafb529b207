package gotype

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/internal/filler"
)

type inner struct {
	B string `json:"b,omitempty"`
}

type outer struct {
	inner
	Plain  string
	Inner  `json:",inline"`
	Named  Inner             `json:"named,omitempty" protobuf:"bytes,7,opt,name=named"`
	Hidden string            `json:"-" protobuf:"bytes,8,opt,name=hidden"`
	List   []Inner           `json:"list,omitzero" patchStrategy:"merge" patchMergeKey:"a"`
	Next   *outer            `json:"next,omitempty"`
	Map    map[string]*outer `json:"map,omitempty"`
	Text   int               `json:"text,string"`
}

type Inner struct {
	A int    `json:"a"`
	C string `json:"c,omitempty"`
}

func TestFields(t *testing.T) {
	var got []string
	for _, f := range Fields(reflect.TypeFor[outer]()) {
		got = append(got, f.GoName+" "+f.Name)
	}
	want := []string{"inner ", "Plain Plain", "Inner ", "Named named", "Hidden ", "List list", "Next next", "Map map", "Text text"}
	if !slices.Equal(got, want) {
		t.Errorf("fields %q", got)
	}
	byName := map[string]Field{}
	var names []string
	for _, f := range Members(reflect.TypeFor[outer]()) {
		names = append(names, f.Name)
		byName[f.Name] = f
	}
	if want := []string{"b", "Plain", "a", "c", "named", "list", "next", "map", "text"}; !slices.Equal(names, want) {
		t.Errorf("members %q", names)
	}
	if f := byName["named"]; f.Number != 7 || !f.OmitEmpty || f.OmitZero {
		t.Errorf("named: %+v", f)
	}
	if f := byName["list"]; f.MergeKey != "a" || !f.OmitZero {
		t.Errorf("list: %+v", f)
	}
	if f := byName["text"]; !f.AsString {
		t.Errorf("text: %+v", f)
	}
	if f := byName["c"]; f.In(reflect.ValueOf(outer{Inner: Inner{C: "x"}})).String() != "x" {
		t.Errorf("c: %+v", f)
	}
}

// TestMembersAgainstLibrary checks that encoding/json writes the members that are not omitted, for random
// objects.
func TestMembersAgainstLibrary(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, typ := range []reflect.Type{
		reflect.TypeFor[corev1.PodSpec](), reflect.TypeFor[corev1.EphemeralContainer](), reflect.TypeFor[corev1.Volume](),
		reflect.TypeFor[metav1.ObjectMeta](), reflect.TypeFor[appsv1.Deployment](), reflect.TypeFor[resourcev1.Device](),
	} {
		for range 200 {
			v := reflect.New(typ).Elem()
			filler.Fill(random, v)
			text, err := json.Marshal(v.Addr().Interface())
			if err != nil {
				continue // the filler makes raw values that are no JSON
			}
			var written map[string]json.RawMessage
			if err := json.Unmarshal(text, &written); err != nil {
				t.Fatal(err)
			}
			for _, f := range Members(typ) {
				value := f.In(v)
				isWritten := value.IsValid() && !f.Omits(value)
				if _, ok := written[f.Name]; ok != isWritten {
					t.Errorf("%s.%s: written %v, as a member %v", typ, f.Name, ok, isWritten)
				}
				delete(written, f.Name)
			}
			if len(written) > 0 {
				t.Errorf("%s: no members for %v", typ, written)
			}
		}
	}
}

func TestTypes(t *testing.T) {
	if got := Name(reflect.TypeFor[corev1.Pod]()); got != "k8s.io/api/core/v1.Pod" {
		t.Error(got)
	}
	if got := Element(reflect.TypeFor[map[string][]*corev1.Pod]()); got != reflect.TypeFor[corev1.Pod]() {
		t.Error(got)
	}
	for want, types := range map[bool][]reflect.Type{
		true:  {reflect.TypeFor[metav1.Time](), reflect.TypeFor[*metav1.Time](), reflect.TypeFor[metav1.FieldsV1]()},
		false: {reflect.TypeFor[corev1.Pod](), reflect.TypeFor[string](), reflect.TypeFor[any](), reflect.TypeFor[corev1.ResourceList]()},
	} {
		for _, typ := range types {
			if HasOwnJSON(typ) != want {
				t.Errorf("%s: own JSON %v", typ, !want)
			}
		}
	}
}

// TestWalk visits all texts of a recursive type, and changes some.
func TestWalk(t *testing.T) {
	walk := Compile(reflect.TypeFor[outer](), Rules[[]string]{
		Type: func(t reflect.Type) (Action[[]string], bool) {
			if t.Kind() != reflect.String {
				return nil, false
			}
			return func(to *Visitor[[]string], v reflect.Value) bool {
				if v.String() == "" {
					return false
				}
				to.State = append(to.State, to.Path().String()+"="+v.String())
				isChanged := v.String() == "old"
				if isChanged {
					v.SetString("new")
				}
				return isChanged
			}, true
		},
		Field: func(_ reflect.Type, f *Field) Action[[]string] {
			if f.Name != "named" {
				return nil
			}
			return func(to *Visitor[[]string], v reflect.Value) bool {
				to.State = append(to.State, to.Names()+"!")
				return false
			}
		},
	})
	obj := &outer{Plain: "p", Named: Inner{C: "not visited"}, List: []Inner{{}, {C: "l"}}, Next: &outer{Inner: Inner{C: "old"}},
		Map: map[string]*outer{"k": {Map: map[string]*outer{"m": {Plain: "old"}}}}}
	got := walk.Visit(reflect.ValueOf(obj).Elem(), nil)
	got = slices.DeleteFunc(got, func(s string) bool { return strings.HasSuffix(s, "named!") })
	want := []string{"Plain=p", "list[1].c=l", "next.c=old", "map[k].map[m].Plain=old"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if obj.Next.C != "new" || obj.Map["k"].Map["m"].Plain != "new" {
		t.Errorf("not changed: %+v", obj)
	}
}

// TestWalkOfMapsOfStructs checks that a changed struct in a map replaces the stored one.
func TestWalkOfMapsOfStructs(t *testing.T) {
	walk := Compile(reflect.TypeFor[map[string]Inner](), Rules[int]{Type: func(t reflect.Type) (Action[int], bool) {
		if t.Kind() != reflect.Int {
			return nil, false
		}
		return func(to *Visitor[int], v reflect.Value) bool {
			to.State++
			v.SetInt(v.Int() + 1)
			return true
		}, true
	}})
	m := map[string]Inner{"x": {A: 1}, "y": {A: 2}}
	if n := walk.Visit(reflect.ValueOf(&m).Elem(), 0); n != 2 || m["x"].A != 2 || m["y"].A != 3 {
		t.Errorf("%d visits: %v", n, m)
	}
}

// TestWalkWithoutActions checks that a walk without anything to visit is nil, also for a recursive type.
func TestWalkWithoutActions(t *testing.T) {
	walk := Compile(reflect.TypeFor[outer](), Rules[int]{Type: func(t reflect.Type) (Action[int], bool) { return nil, false }})
	if walk != nil {
		t.Error("a walk")
	}
	if walk.Visit(reflect.ValueOf(&outer{}).Elem(), 3) != 3 {
		t.Error("the state is lost")
	}
}
