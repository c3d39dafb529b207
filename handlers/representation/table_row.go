package representation

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/internal/quickjson"
)

// The cells of a table row are cached with their item as JSON with gaps for elapsed times. The
// cached form is
//
//	number of gaps, then for each gap: its position in the JSON, its time (0: unknown)
//	JSON
//
// with numbers as varints. A gap is inside a string, so that its text needs no quotes.

// encodeCells returns the cached form of a row's cells, and of its conditions, which follow
// the cells.
func encodeCells(cells []any, conditions []metav1.TableRowCondition) ([]byte, error) {
	var headSpace [32]byte
	var textSpace [256]byte // on the stack, as the row is copied at the end
	head, text := headSpace[:0], append(textSpace[:0], '[')
	gaps := 0
	for i, cell := range cells {
		if i > 0 {
			text = append(text, ',')
		}
		e, ok := cell.(table.Elapsed)
		if !ok {
			var err error
			if text, err = appendCell(text, cell); err != nil {
				return nil, err
			}
			continue
		}
		text = quickjson.AppendContent(append(text, '"'), e.Before)
		head = binary.AppendUvarint(head, uint64(len(text)))
		head = binary.AppendVarint(head, sinceNanos(e.Since))
		gaps++
		text = append(quickjson.AppendContent(text, e.After), '"')
	}
	text = append(text, ']')
	if len(conditions) > 0 {
		value, err := json.Marshal(conditions)
		if err != nil {
			return nil, fmt.Errorf("encode conditions of a table row: %w", err)
		}
		text = append(append(text, `,"conditions":`...), value...)
	}
	out := binary.AppendUvarint(make([]byte, 0, len(head)+len(text)+binary.MaxVarintLen64), uint64(gaps))
	return append(append(out, head...), text...), nil
}

// appendCell appends the JSON of a cell.
func appendCell(b []byte, cell any) ([]byte, error) {
	switch v := cell.(type) {
	case string:
		return quickjson.AppendString(b, v), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	}
	value, err := json.Marshal(cell)
	if err != nil {
		return b, fmt.Errorf("encode table cell: %w", err)
	}
	return append(b, value...), nil
}

// sinceNanos returns a time in nanoseconds; 0 for the zero time.
func sinceNanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// appendCells appends the JSON of cached cells to dst, with the times that have elapsed until
// now.
func appendCells(dst, cached []byte, now time.Time) []byte {
	count, n := binary.Uvarint(cached)
	cached = cached[n:]
	type gap struct {
		position int
		since    int64
	}
	var buffer [4]gap
	gaps := buffer[:0]
	for range count {
		position, n := binary.Uvarint(cached)
		since, m := binary.Varint(cached[n:])
		cached = cached[n+m:]
		gaps = append(gaps, gap{int(position), since})
	}
	done := 0
	for _, h := range gaps {
		dst = append(dst, cached[done:h.position]...)
		var e table.Elapsed
		if h.since != 0 {
			e.Since = time.Unix(0, h.since)
		}
		dst = append(dst, e.Text(now)...)
		done = h.position
	}
	return append(dst, cached[done:]...)
}

// partial returns an object's metadata as PartialObjectMetadata.
func partial(obj api.Object) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: obj.GetName(), GenerateName: obj.GetGenerateName(), Namespace: obj.GetNamespace(), SelfLink: obj.GetSelfLink(),
		UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(), Generation: obj.GetGeneration(),
		CreationTimestamp: obj.GetCreationTimestamp(), DeletionTimestamp: obj.GetDeletionTimestamp(),
		DeletionGracePeriodSeconds: obj.GetDeletionGracePeriodSeconds(), Labels: obj.GetLabels(), Annotations: obj.GetAnnotations(),
		OwnerReferences: obj.GetOwnerReferences(), Finalizers: obj.GetFinalizers(), ManagedFields: obj.GetManagedFields(),
	}}
}
