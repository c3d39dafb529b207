package celbounds

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apiserver/pkg/cel/mutation"
	"k8s.io/apiserver/pkg/cel/mutation/dynamic"
)

// CheckSize returns an error if a value is larger than limit bytes as JSON. A value that is in another one
// several times is counted each time, as in JSON.
func CheckSize(v ref.Val, limit int) error {
	s := sizer{limit: int64(limit)}
	s.add(v, 0)
	switch {
	case s.tooDeep:
		return fmt.Errorf("the value is nested more than %d levels deep", maxDepth)
	case s.full():
		return fmt.Errorf("the value is larger than %d bytes", limit)
	}
	return nil
}

// measure returns the number of values in v, itself included, and the length of their texts, and counts them as
// steps.
func (m *Meter) measure(v ref.Val) (values, bytes int64) {
	if !composite(v) {
		return 1, textLength(v)
	}
	const perValue = 4
	s := sizer{limit: perValue * maxCallSteps}
	s.add(v, 0)
	if s.full() {
		stop("a value is too large with everything in it")
	}
	m.work(s.values)
	return s.values, s.bytes
}

// sizer adds up the size of a value.
type sizer struct {
	// bytes is the approximate length of the JSON, with a few bytes for each value.
	values, bytes, limit int64
	tooDeep              bool
}

func (s *sizer) full() bool { return s.bytes > s.limit || s.tooDeep }

// add adds a value that is in depth others.
func (s *sizer) add(v ref.Val, depth int) {
	const punctuation = 4
	s.values++
	s.bytes += punctuation + textLength(v)
	if s.tooDeep = s.tooDeep || depth > maxDepth; s.full() || !composite(v) {
		return
	}
	switch v := v.(type) {
	case *dynamic.ObjectVal:
		for name, field := range fieldsOf(v) {
			s.bytes += int64(len(name))
			s.add(field, depth+1)
		}
	case *mutation.JSONPatchVal:
		s.bytes += int64(len(v.Op) + len(v.From) + len(v.Path))
		if v.Val != nil {
			s.add(v.Val, depth+1)
		}
	case *types.Optional:
		if v.HasValue() {
			s.add(v.GetValue(), depth+1)
		}
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True && !s.full(); {
			s.add(it.Next(), depth+1)
		}
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True && !s.full(); {
			key := it.Next()
			s.add(key, depth+1)
			if value, found := v.Find(key); found {
				s.add(value, depth+1)
			}
		}
	}
}

// composite reports whether a value can contain others.
func composite(v ref.Val) bool {
	switch v.(type) {
	case types.String, types.Int, types.Bool, types.Double, types.Uint, types.Bytes, types.Null:
		return false
	case traits.Lister, traits.Mapper, *dynamic.ObjectVal, *mutation.JSONPatchVal, *types.Optional:
		return true
	}
	return false
}

// textLength returns the length of a string or of bytes.
func textLength(v ref.Val) int64 {
	switch v := v.(type) {
	case types.String:
		return int64(len(v))
	case types.Bytes:
		return int64(len(v))
	}
	return 0
}

// fieldsOf returns the fields of an object. The library has no other way to them than a conversion, which copies
// everything that is in them.
func fieldsOf(v *dynamic.ObjectVal) map[string]ref.Val {
	f := reflect.ValueOf(v).Elem().FieldByName("fields")
	if !f.IsValid() || f.Type() != reflect.TypeFor[map[string]ref.Val]() {
		return nil // TestCheckSize fails then
	}
	return *(*map[string]ref.Val)(unsafe.Pointer(f.UnsafeAddr()))
}
