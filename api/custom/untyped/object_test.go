package untyped

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	"github.com/miniapiserver/miniapiserver/internal/quickjson"
)

// byType converts metadata to ObjectMeta and back, as handlers do.
func byType(t *testing.T, meta map[string]any) (map[string]any, []error, error) {
	t.Helper()
	data, err := json.Marshal(meta)
	if err != nil {
		t.Fatal(err)
	}
	var typed metav1.ObjectMeta
	strict, err := kjson.UnmarshalStrict(data, &typed)
	if err != nil {
		return nil, strict, err
	}
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&typed)
	if typed.CreationTimestamp.IsZero() {
		delete(out, "creationTimestamp")
	}
	return out, strict, err
}

var metadataTexts = []string{
	`{"name":"a"}`, `{"name":""}`, `{"name":1}`, `{"name":"a","more":1}`, `{"labels":{"a":"b","c":""}}`, `{"labels":{"a":null}}`, `{"labels":{}}`, `{"labels":null}`,
	`{"generation":1}`, `{"generation":0}`, `{"generation":1.5}`, `{"deletionGracePeriodSeconds":0}`, `{"finalizers":["a"]}`, `{"finalizers":[null]}`, `{"finalizers":[]}`,
	`{"creationTimestamp":null}`, `{"creationTimestamp":"2026-01-02T03:04:05Z"}`, `{"creationTimestamp":"2026-01-02T03:04:05+01:00"}`, `{"creationTimestamp":"2026-01-02T03:04:05.5Z"}`,
	`{"creationTimestamp":"x"}`, `{"deletionTimestamp":"0001-01-01T00:00:00Z"}`,
	`{"ownerReferences":[{"apiVersion":"v1","kind":"A","name":"b","uid":"c","controller":true,"blockOwnerDeletion":false}]}`,
	`{"ownerReferences":[{"apiVersion":"v1","kind":"A","name":"b"}]}`, `{"ownerReferences":[{"apiVersion":"v1","kind":"A","name":"b","uid":"c","controller":null}]}`,
	`{"managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{".":{},"k:{\"a\":1}":{}}}}]}`,
	`{"managedFields":[{"manager":"m","subresource":""}]}`, `{"managedFields":[{"manager":"m","fieldsV1":null}]}`, `{"managedFields":[{"fieldsV1":{}}]}`, `{"managedFields":[{}]}`,
	`{"managedFields":[{"manager":"m","time":"2026-01-02T03:04:05+01:00"}]}`, `{"managedFields":[{"manager":"m","more":"x"}]}`, `{"managedFields":[]}`, `{"managedFields":{}}`,
	`{"managedFields":[1]}`,
}

func checkMetadata(t *testing.T, data []byte) {
	t.Helper()
	meta, err := quickjson.Read(data)
	if err != nil || meta == nil {
		return
	}
	if WellFormed(meta) {
		if want, strict, err := byType(t, meta); err != nil || len(strict) > 0 || !reflect.DeepEqual(meta, want) {
			t.Fatalf("%s is taken as it is, and would become %v, %v, %v", data, want, strict, err)
		}
	}
	o := FromContent(map[string]any{"metadata": meta})
	entries, want := o.GetManagedFields(), (&unstructured.Unstructured{Object: o.Object}).GetManagedFields()
	if !reflect.DeepEqual(entries, want) {
		t.Fatalf("managedFields of %s are %v, want %v", data, entries, want)
	}
	mine, theirs := o.DeepCopy(), o.Unstructured.DeepCopy()
	mine.SetManagedFields(entries)
	theirs.SetManagedFields(entries)
	checkAllForms(t, mine, theirs.Object)
	// Decoding it as a part of an object gives the same result.
	object := fmt.Appendf(nil, `{"metadata":%s,"kind":"A","a":{"metadata":{"managedFields":1}}}`, data)
	content, err := quickjson.Read(object)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(object)
	if err != nil {
		t.Fatal(err)
	}
	if got.Managed == nil {
		checkAllForms(t, got, content)
		return
	}
	// Managed has the entries unchanged, or in the form of their type.
	if !reflect.DeepEqual(withoutManaged(got.Object), withoutManaged(content)) {
		t.Fatalf("%s is read as %v, want %v", object, got.Object, content)
	}
	byLibrary := &unstructured.Unstructured{Object: content}
	byLibrary.SetManagedFields(byLibrary.GetManagedFields())
	checkAllForms(t, got, byLibrary.Object)
	again, err := Read(must(got.MarshalJSON())(t))
	if err != nil || !reflect.DeepEqual(again, got) {
		t.Fatalf("%s is read as %v, and then as %v, %v", object, got, again, err)
	}
}

// withoutManaged returns content without metadata.managedFields.
func withoutManaged(content map[string]any) map[string]any {
	content = runtime.DeepCopyJSON(content)
	unstructured.RemoveNestedField(content, "metadata", "managedFields")
	return content
}

// must returns a function that fails the test on an error and else returns data.
func must(data []byte, err error) func(*testing.T) []byte {
	return func(t *testing.T) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
}

// checkAllForms compares all forms of an object with the wanted content.
func checkAllForms(t *testing.T, o *Object, want map[string]any) {
	t.Helper()
	if got := o.UnstructuredContent(); !reflect.DeepEqual(got, want) && len(got)+len(want) > 0 {
		t.Fatalf("it is %v, want %v", got, want)
	}
	if o.Managed != nil {
		if _, ok := o.Object["metadata"].(map[string]any)["managedFields"]; ok {
			t.Fatalf("%v are aside and not", o.Managed)
		}
	}
	theirs, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if mine := must(o.MarshalJSON())(t); string(mine) != string(theirs) && o.Object != nil {
		t.Fatalf("it is written as %s, want %s", mine, theirs)
	}
}

func TestMetadata(t *testing.T) {
	well := 0
	for _, text := range metadataTexts {
		checkMetadata(t, []byte(text))
		if meta, err := quickjson.Read([]byte(text)); err == nil && WellFormed(meta) {
			well++
		}
	}
	if well < 8 {
		t.Errorf("only %d are taken as they are", well)
	}
	for text, want := range map[string]bool{
		`{"manager":"m","operation":"Update","apiVersion":"v1","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{".":{},"k:{\"a\":1}":{}}}}`: true,
		`{"time":"2026-01-02T03:04:05Z","fieldsV1":{"f:b":{},"f:a":{}}}`:                                                                                               true, // in another order
		`{"time":"2026-01-02T03:04:05Z","fieldsV1":{"f:b":{},"f:b":{}}}`:                                                                                               false,
		`{"time":"2026-01-02T03:04:05Z","fieldsV1":{"f:b":{}},"more":1}`:                                                                                               false,
		`{"time":"2026-01-02T03:04:05Z"}`:                                                                                                                              false, `{"fieldsV1":{}}`: true, `{"fieldsV1":{},"time":null}`: true,
	} {
		o, err := Read([]byte(`{"metadata":{"managedFields":[` + text + `]}}`))
		if err != nil || (o.Managed != nil) != want {
			t.Errorf("%s stands aside: %t, %v", text, !want, err)
		}
	}
}

// TestRepairStored checks that valid fields of stored metadata stay, even beside invalid ones.
// TestMetadataFault checks the error of metadata with fields of wrong types.
func TestMetadataFault(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "", `{"metadata":null}`: "", `{"metadata":{"name":"a","labels":{"a":"b"}}}`: "", `{"metadata":{"name":"a","unknown":1}}`: "", `{"metadata":{"labels":{}}}`: "",
		`{"metadata":"a"}`:             `metadata: Invalid value: "a": expected map[string]interface{}, got string`,
		`{"metadata":{"selfLink":[]}}`: `metadata: Invalid value: {"selfLink":[]}: unrecognized type: string`,
	} {
		var o Object
		if err := json.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		got := ""
		if fault := o.MetadataFault(); fault != nil {
			got = fault.Error()
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestRepairStored(t *testing.T) {
	for in, want := range map[string]string{
		`{}`:                `{}`,
		`{"metadata":null}`: `{"metadata":{"generation":1}}`,
		`{"metadata":{"name":"a","generation":7}}`:                                  `{"metadata":{"name":"a","generation":7}}`,
		`{"metadata":{"name":"a"}}`:                                                 `{"metadata":{"name":"a","generation":1}}`,
		`{"metadata":{"name":"a","labels":{"x":1},"annotations":{"y":"z"}}}`:        `{"metadata":{"name":"a","annotations":{"y":"z"},"generation":1}}`,
		`{"metadata":{"name":"a","finalizers":"x","generation":2}}`:                 `{"metadata":{"name":"a","generation":2}}`,
		`{"metadata":{"name":"a","finalizers":["x",1],"uid":"u"}}`:                  `{"metadata":{"name":"a","uid":"u","generation":1}}`,
		`{"metadata":{"name":"a","creationTimestamp":"yesterday","more":{"a":1}}}`:  `{"metadata":{"name":"a","generation":1}}`,
		`{"metadata":{"name":"a","creationTimestamp":7,"labels":{"x":"y"}}}`:        `{"metadata":{"name":"a","labels":{"x":"y"},"generation":1}}`,
		`{"metadata":{"name":"a","creationTimestamp":"2026-01-02T04:04:05+01:00"}}`: `{"metadata":{"name":"a","creationTimestamp":"2026-01-02T03:04:05Z","generation":1}}`,
		`{"metadata":{"name":"a","more":1}}`:                                        `{"metadata":{"name":"a","generation":1}}`,
		`{"metadata":{"name":"a","generation":"many"}}`:                             `{"metadata":{"name":"a","generation":1}}`,
		`{"metadata":{"name":"a","managedFields":[{"manager":1}],"generation":3}}`:  `{"metadata":{"name":"a","generation":3}}`,
		`{"metadata":{"name":"a","ownerReferences":{"kind":"A"},"generation":3}}`:   `{"metadata":{"name":"a","generation":3}}`,
		`{"metadata":"a"}`: "invalid metadata: expected object, got string",
		`{"metadata":[1]}`: "invalid metadata: expected object, got []interface {}",
	} {
		content, err := quickjson.Read([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		o := FromContent(content)
		if err := o.RepairStored(); err != nil {
			if err.Error() != want {
				t.Errorf("%s: %v, want %s", in, err, want)
			}
			continue
		}
		if got, err := quickjson.Read([]byte(want)); err != nil || !reflect.DeepEqual(o.Object, got) {
			t.Errorf("%s became %v, want %s", in, o.Object, want)
		}
	}
}

func FuzzMetadata(f *testing.F) {
	for _, text := range metadataTexts {
		f.Add([]byte(text))
	}
	f.Fuzz(checkMetadata)
}

func TestSetManagedFields(t *testing.T) {
	now := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC))
	set := &metav1.FieldsV1{Raw: []byte(`{"f:a":{}}`)}
	for _, entries := range [][]metav1.ManagedFieldsEntry{
		nil, {}, {{}}, {{Manager: "m", Time: &now, FieldsV1: set}}, {{Manager: "m", FieldsV1: set}}, {{Time: &now}},
		{{Manager: "m", Operation: "Apply", APIVersion: "v1", FieldsType: "FieldsV1", Subresource: "status", Time: &now, FieldsV1: set}, {Manager: "n"}},
	} {
		for _, content := range []map[string]any{nil, {}, {"metadata": map[string]any{"managedFields": []any{"x"}}}} {
			mine, theirs := FromContent(runtime.DeepCopyJSON(content)), &unstructured.Unstructured{Object: runtime.DeepCopyJSON(content)}
			mine.SetManagedFields(entries)
			theirs.SetManagedFields(entries)
			checkAllForms(t, mine, theirs.Object)
		}
	}
}
