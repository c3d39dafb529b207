package declarative

import (
	"reflect"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

// TestEveryFieldIsChecked finds, for each field with a rule that is enforced, a value or a change of
// the value that is refused with an error at that field.
func TestEveryFieldIsChecked(t *testing.T) {
	checked := 0
	for _, obj := range []any{
		&admissionregistrationv1.ValidatingAdmissionPolicyBinding{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}, &autoscalingv1.HorizontalPodAutoscaler{},
		&autoscalingv2.HorizontalPodAutoscaler{}, &batchv1.Job{}, &batchv1.CronJob{}, &certificatesv1.CertificateSigningRequest{}, &corev1.Node{},
		&corev1.Pod{}, &corev1.ReplicationController{}, &discoveryv1.EndpointSlice{}, &flowcontrolv1.PriorityLevelConfiguration{}, &networkingv1.NetworkPolicy{},
		&networkingv1.IPAddress{}, &nodev1.RuntimeClass{}, &rbacv1.Role{}, &rbacv1.ClusterRoleBinding{}, &resourcev1.DeviceClass{}, &resourcev1.ResourceClaim{},
		&resourcev1.ResourceClaimTemplate{}, &resourcev1.ResourceSlice{}, &schedulingv1.PriorityClass{}, &schedulingv1alpha3.PodGroup{},
		&schedulingv1alpha3.Workload{}, &storagev1.StorageClass{}, &storagev1.VolumeAttachment{},
	} {
		typ := reflect.TypeOf(obj)
		t.Run(typ.Elem().String(), func(t *testing.T) {
			program := compile(t, typ, Config{Release: kubeversion.MustParse("1.37"), Enabled: func(string) bool { return true }})
			if program == nil {
				return
			}
			s := &search{t: t, program: program, typ: typ.Elem()}
			s.visit(program.root, place{get: func(root reflect.Value) reflect.Value { return root }}, 0)
			checked += s.checked
		})
	}
	if checked < 150 {
		t.Errorf("only %d fields have rules", checked)
	}
}

// search looks for values that are refused.
type search struct {
	t       *testing.T
	program *Program
	typ     reflect.Type
	checked int
}

// place is a field of an object, with a function that makes the field in an object.
type place struct {
	path string
	get  func(root reflect.Value) reflect.Value
}

func (p place) field(f *fieldNode) place {
	path := p.path
	if f.name != "" {
		path = strings.TrimPrefix(path+"."+f.name, ".")
	}
	return place{path, func(root reflect.Value) reflect.Value { return p.get(root).FieldByIndex(f.index) }}
}

// element returns the place of the value of a field, or of the first element of a list.
func (p place) element(kind reflect.Kind) place {
	e := place{p.path, func(root reflect.Value) reflect.Value { return made(p.get(root)) }}
	if kind == reflect.Slice {
		e.path += "[0]"
		e.get = func(root reflect.Value) reflect.Value {
			list := p.get(root)
			if list.Len() == 0 {
				list.Set(reflect.MakeSlice(list.Type(), 1, 1))
			}
			return made(list.Index(0))
		}
	}
	return e
}

// made returns the value of a pointer, which it sets if it is nil.
func made(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		v = v.Elem()
	}
	return v
}

func (s *search) visit(n *node, p place, depth int) {
	if depth > 12 {
		return // a type that contains itself
	}
	for i := range n.fields {
		f := &n.fields[i]
		at := p.field(f)
		if f.reports() && at.path != "status.conditions" { // whose rule is about two particular elements
			s.check(at)
		}
		if f.value != nil && f.kind != reflect.Map {
			s.visit(f.value, at.element(f.kind), depth+1)
		}
	}
}

// reports reports whether a rule of the field itself can have an error.
func (n *fieldNode) reports() bool {
	own := *n
	own.value, own.key = nil, nil
	return own.complete() != nil
}

// check tries values of a field until one of them, or a change between two, is refused.
func (s *search) check(p place) {
	s.checked++
	typ := p.get(reflect.New(s.typ).Elem()).Type()
	values := candidates(typ)
	for _, v := range values {
		if s.refuses(p, v, reflect.Value{}) {
			return
		}
		for _, old := range values {
			if s.refuses(p, v, old) {
				return
			}
		}
	}
	s.t.Errorf("%s: no value is refused", p.path)
}

func (s *search) refuses(p place, v, old reflect.Value) bool {
	obj, stored := reflect.New(s.typ), any(nil)
	p.get(obj.Elem()).Set(v)
	if old.IsValid() {
		before := reflect.New(s.typ)
		p.get(before.Elem()).Set(old)
		stored = before.Interface()
	}
	for _, err := range s.program.Validate(obj.Interface(), stored) {
		if rest, ok := strings.CutPrefix(err.Field, p.path); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// candidates returns values of a type that one rule or another refuses.
func candidates(t reflect.Type) []reflect.Value {
	values := []reflect.Value{reflect.Zero(t)}
	add := func(set func(v reflect.Value)) {
		v := reflect.New(t).Elem()
		set(v)
		values = append(values, v)
	}
	switch t.Kind() {
	case reflect.String:
		for _, text := range []string{"A b!", "a", strings.Repeat("x", 100_000)} {
			add(func(v reflect.Value) { v.SetString(text) })
		}
	case reflect.Int32, reflect.Int64:
		for _, n := range []int64{-1 << 31, 1, 1<<31 - 1} {
			add(func(v reflect.Value) { v.SetInt(n) })
		}
	case reflect.Bool:
		add(func(v reflect.Value) { v.SetBool(true) })
	case reflect.Slice:
		for _, element := range candidates(t.Elem()) {
			for _, n := range []int{1, 2, 1000} {
				add(func(v reflect.Value) {
					v.Set(reflect.MakeSlice(t, n, n))
					for i := range min(n, 2) {
						v.Index(i).Set(element)
					}
				})
			}
		}
	case reflect.Map:
		for _, key := range candidates(t.Key()) {
			add(func(v reflect.Value) {
				v.Set(reflect.MakeMap(t))
				v.SetMapIndex(key, reflect.Zero(t.Elem()))
			})
		}
	case reflect.Pointer:
		for _, value := range candidates(t.Elem()) {
			add(func(v reflect.Value) {
				v.Set(reflect.New(t.Elem()))
				v.Elem().Set(value)
			})
		}
	case reflect.Struct:
		add(func(v reflect.Value) {
			for i := range v.NumField() {
				switch f := v.Field(i); {
				case !f.CanSet():
				case f.Kind() == reflect.String:
					f.SetString("A b!")
				case f.Kind() == reflect.Slice:
					f.Set(reflect.MakeSlice(f.Type(), 1, 1))
				case f.Kind() == reflect.Struct:
					all := candidates(f.Type())
					f.Set(all[len(all)-1])
				}
			}
		})
	}
	return values
}
