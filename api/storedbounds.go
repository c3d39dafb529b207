package api

import (
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/internal/cbor"
	"github.com/miniapiserver/miniapiserver/proto"
)

// DefaultMaxObjectBytes is the limit of a Resource whose MaxObjectBytes is 0: three times the size
// of a request that etcd accepts by default.
const DefaultMaxObjectBytes = bounds.MaxObject

// ObjectLimit returns the maximum size of an object in bytes.
func (r *Resource) ObjectLimit() int {
	if r.MaxObjectBytes > 0 {
		return r.MaxObjectBytes
	}
	return DefaultMaxObjectBytes
}

// ObjectSizeError is the error of an object that exceeds Resource.ObjectLimit, or another bound of
// stored values.
type ObjectSizeError struct{ err error }

// Error implements error.
func (e *ObjectSizeError) Error() string { return e.err.Error() }

// Unwrap returns the error of package bounds.
func (e *ObjectSizeError) Unwrap() error { return e.err }

// DefaultSchema sets the defaults of the schema of an untyped object. The error is an ObjectSizeError; nil
// for an object with a Go type, whose defaults Default sets.
func (r *Resource) DefaultSchema(obj Object) error {
	if r.DefaultUntyped == nil {
		return nil
	}
	if err := r.DefaultUntyped(obj); err != nil {
		return &ObjectSizeError{err}
	}
	return nil
}

// CheckStored returns an error if a value from etcd exceeds the bounds of package bounds, which
// also apply to requests. Another program may have stored it: Go ends the process when the decoder
// of a deeply nested value overflows the stack, and a quantity such as 1e2000000000 takes hours to
// compare. DecodeStored must not be called with a value that another program stored unless
// CheckStored accepts it. It accepts values that DecodeStored refuses.
func (r *Resource) CheckStored(value []byte) error {
	if limit := r.ObjectLimit(); len(value) > limit {
		return fmt.Errorf("value of %d bytes exceeds max object size of %d", len(value), limit)
	}
	switch {
	case proto.Is(value):
		return r.checkStoredProto(value)
	case r.Untyped && cbor.Is(value):
		text, ok, err := bounds.CBOR(value)
		if err != nil || !ok {
			return err
		}
		return bounds.JSON(text)
	case !isJSONObject(value) && !r.Untyped:
		if err := bounds.YAML(value); err != nil {
			return err
		}
		converted, err := yaml.YAMLToJSON(value)
		if err != nil {
			return nil
		}
		value = converted
	}
	if err := bounds.JSON(value); err != nil || r.Untyped {
		return err
	}
	return bounds.JSONInto(value, r.New())
}

// checkEncoded returns an ObjectSizeError if DecodeStored could not read a value back because of the
// bounds. Admission may have made it of an object that was within them. Short values are.
func (r *Resource) checkEncoded(value []byte) error {
	const short = 48 << 10
	if len(value) <= min(short, r.ObjectLimit()) {
		return nil
	}
	if err := r.CheckStored(value); err != nil {
		return &ObjectSizeError{err}
	}
	return nil
}

func (r *Resource) checkStoredProto(value []byte) error {
	e, err := proto.Decode(value)
	if err != nil {
		return nil
	}
	v, err := r.writtenAs(e.APIVersion, e.Kind)
	if err != nil {
		return nil
	}
	if err := bounds.Proto(e.Raw); err != nil {
		return err
	}
	return bounds.ProtoInto(e.Raw, r.NewOf(v))
}
