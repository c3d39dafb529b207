package api

import (
	"encoding/json"
	"slices"

	"github.com/miniapiserver/miniapiserver/request"
)

// RecordState adds the state of an object of the hub type to the account of a request, which by made. It costs an encoding of
// the object, in protobuf if the type has it; the JSON is made when it is asked for. Obj may change afterwards.
func (r *Resource) RecordState(account *request.Account, by string, obj Object) {
	account.NewState(r, by, obj)
}

// AppendState implements request.StateKind for objects of the hub type.
func (r *Resource) AppendState(b []byte, obj any) ([]byte, error) {
	p, ok := obj.(ProtoObject)
	if !ok {
		return json.Marshal(obj)
	}
	size := p.Size()
	b = slices.Grow(b, size)[:size]
	_, err := p.MarshalToSizedBuffer(b)
	return b, err
}

// DecodeState implements request.StateKind.
func (r *Resource) DecodeState(data []byte) ([]byte, error) {
	decoded, ok := r.New().(ProtoObject)
	if !ok {
		return data, nil
	}
	if err := decoded.Unmarshal(data); err != nil {
		return nil, err
	}
	return json.Marshal(decoded)
}
