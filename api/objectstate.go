package api

import (
	"encoding/json"

	"github.com/miniapiserver/miniapiserver/request"
)

// ObjectState returns the state of an object of the hub type for the account of a request, which by made. It costs an encoding
// of the object, in protobuf if the type has it; the JSON is made when it is asked for. Obj may change afterwards.
func (r *Resource) ObjectState(by string, obj Object) request.ObjectState {
	if p, ok := obj.(ProtoObject); ok {
		data := make([]byte, p.Size())
		if n, err := p.MarshalToSizedBuffer(data); err == nil && n == len(data) {
			return request.ObjectState{By: by, Data: data, JSON: func() ([]byte, error) {
				decoded := r.New().(ProtoObject)
				if err := decoded.Unmarshal(data); err != nil {
					return nil, err
				}
				return json.Marshal(decoded)
			}}
		}
	}
	data, err := json.Marshal(obj)
	return request.ObjectState{By: by, Data: data, JSON: func() ([]byte, error) { return data, err }}
}
