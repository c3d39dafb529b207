package api

import (
	"encoding/json"
	"slices"

	"github.com/miniapiserver/miniapiserver/request"
)

// RecordState adds the state of an object of the hub type to the account of a request, which by made. It costs an encoding of
// the object, in protobuf if the type has it; the JSON is made when it is asked for. Obj may change afterwards.
func (r *Resource) RecordState(account *request.Account, by string, obj Object) {
	if p, ok := obj.(ProtoObject); ok {
		account.NewState(r, by, func(b []byte) ([]byte, error) {
			size := p.Size()
			b = slices.Grow(b, size)[:size]
			_, err := p.MarshalToSizedBuffer(b)
			return b, err
		}, func(data []byte) ([]byte, error) {
			decoded := r.New().(ProtoObject)
			if err := decoded.Unmarshal(data); err != nil {
				return nil, err
			}
			return json.Marshal(decoded)
		})
		return
	}
	account.NewState(r, by, func([]byte) ([]byte, error) { return json.Marshal(obj) }, func(data []byte) ([]byte, error) { return data, nil })
}
