package bounds

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/miniapiserver/miniapiserver/internal/gotype"
)

// A quantity such as 1e-2147483648 is a short text, but its parser computes a number of
// two billion digits. Quantities are therefore checked in the text of an object before it
// is decoded. A scan finds the few texts that contain anything like such a number; only
// these are walked along the Go type that they will be decoded into.

// Bounds of a quantity. The largest and the smallest one have 19 digits.
const (
	maxQuantityText     = 1000
	maxQuantityExponent = 999
)

// Quantity checks the text of a quantity before it is parsed.
func Quantity(text string) error {
	if len(text) > maxQuantityText {
		return &Error{"quantity is too long"}
	}
	_, exponent, ok := strings.Cut(strings.ToLower(text), "e")
	if !ok || exponent == "" {
		return nil
	}
	n, err := strconv.ParseInt(exponent, 10, 64)
	if errors.Is(err, strconv.ErrRange) || err == nil && (n > maxQuantityExponent || n < -maxQuantityExponent) {
		return &Error{"unable to parse quantity's suffix: the exponent is out of range"}
	}
	return nil // or not a number, which the parser finds out
}

// quantities checks the quantities in a JSON text that is to be decoded into a value of the
// type of into. The text must have passed JSON.
func quantities(text []byte, into any) error {
	if !strangeNumber(text, true) {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	w := quantityWalk{known: map[reflect.Type]bool{}}
	err := w.json(d, gotype.Deref(reflect.TypeOf(into)))
	if limit := (*Error)(nil); errors.As(err, &limit) {
		return err
	}
	return nil // the decoder of the object reports other errors
}

// protoQuantities is quantities for a protobuf message.
func protoQuantities(message []byte, into any) error {
	if !strangeNumber(message, false) {
		return nil
	}
	w := quantityWalk{known: map[reflect.Type]bool{}}
	return w.proto(message, gotype.Deref(reflect.TypeOf(into)))
}

// strangeNumber reports whether a text may contain a number that Quantity refuses. In JSON,
// delimiters surround such a number; without this condition many UIDs would look like one.
func strangeNumber(text []byte, delimited bool) bool {
	for i := 0; i < len(text); i++ {
		if !digitOrDot(text[i]) {
			continue
		}
		start := i
		for i < len(text) && digitOrDot(text[i]) {
			i++
		}
		if i-start > maxQuantityText/4 {
			return true
		}
		if i == len(text) || text[i]|0x20 != 'e' || delimited && !startsNumber(text, start) {
			continue
		}
		end := i + 1
		if end < len(text) && (text[end] == '+' || text[end] == '-') {
			end++
		}
		digits := end
		for end < len(text) && '0' <= text[end] && text[end] <= '9' {
			end++
		}
		if end-digits > 3 && (!delimited || end == len(text) || delimits(text[end])) {
			return true
		}
		i = digits - 1
	}
	return false
}

func digitOrDot(b byte) bool { return '0' <= b && b <= '9' || b == '.' }

// startsNumber reports whether a number can start at an offset, after its sign.
func startsNumber(text []byte, at int) bool {
	if at > 0 && (text[at-1] == '+' || text[at-1] == '-') {
		at--
	}
	return at == 0 || delimits(text[at-1])
}

func delimits(b byte) bool { return b <= ' ' || strings.IndexByte(`":,[]{}`, b) >= 0 }

// quantityWalk checks the quantities in a text along a Go type.
type quantityWalk struct {
	known map[reflect.Type]bool // whether values of the type may hold a quantity
}

var quantityType = reflect.TypeFor[resource.Quantity]()

// holds reports whether values of a type may hold a quantity.
func (w *quantityWalk) holds(rt reflect.Type) bool {
	rt = gotype.Deref(rt)
	if rt == quantityType {
		return true
	}
	if holds, ok := w.known[rt]; ok {
		return holds
	}
	w.known[rt] = false // for a recursive type, the other fields decide
	holds := false
	switch rt.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		holds = w.holds(rt.Elem())
	case reflect.Struct:
		for _, f := range gotype.Fields(rt) {
			holds = holds || w.holds(f.Type)
		}
	}
	w.known[rt] = holds
	return holds
}

// json checks the next value, which will be decoded into the type.
func (w *quantityWalk) json(d *json.Decoder, rt reflect.Type) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch x := token.(type) {
	case string:
		if rt == quantityType {
			return Quantity(strings.TrimSpace(x))
		}
	case json.Number:
		if rt == quantityType {
			return Quantity(x.String())
		}
	case json.Delim:
		return w.composite(d, rt, x)
	}
	return nil
}

func (w *quantityWalk) composite(d *json.Decoder, rt reflect.Type, open json.Delim) error {
	for d.More() {
		of := reflect.TypeFor[any]()
		if open == '{' {
			name, err := d.Token()
			if err != nil {
				return err
			}
			if text, ok := name.(string); ok {
				of = w.member(rt, text)
			}
		} else if rt.Kind() == reflect.Slice || rt.Kind() == reflect.Array {
			of = gotype.Deref(rt.Elem())
		}
		if err := w.json(d, of); err != nil {
			return err
		}
	}
	_, err := d.Token() // the end
	return err
}

// member returns the type of a member of an object, or the type any if it cannot hold a
// quantity.
func (w *quantityWalk) member(rt reflect.Type, name string) reflect.Type {
	none := reflect.TypeFor[any]()
	switch rt.Kind() {
	case reflect.Map:
		return gotype.Deref(rt.Elem())
	case reflect.Struct:
		if !w.holds(rt) {
			return none
		}
	default:
		return none
	}
	for _, f := range gotype.Members(rt) {
		if strings.EqualFold(f.Name, name) && w.holds(f.Type) {
			return gotype.Deref(f.Type)
		}
	}
	return none
}

// proto checks a message, which will be decoded into the type.
func (w *quantityWalk) proto(message []byte, rt reflect.Type) error {
	if rt == quantityType {
		return w.protoQuantity(message)
	}
	if rt.Kind() != reflect.Struct || !w.holds(rt) {
		return nil
	}
	types := map[uint64]reflect.Type{}
	for _, f := range gotype.Fields(rt) {
		if f.Number > 0 && w.holds(f.Type) {
			types[uint64(f.Number)] = gotype.Deref(f.Type)
		}
	}
	return eachField(message, func(number uint64, value []byte) error {
		switch of := types[number]; {
		case of == nil:
			return nil
		case of.Kind() == reflect.Map:
			return eachField(value, func(n uint64, value []byte) error {
				if n != 2 {
					return nil
				}
				return w.proto(value, gotype.Deref(of.Elem()))
			})
		case of.Kind() == reflect.Slice:
			return w.proto(value, gotype.Deref(of.Elem()))
		default:
			return w.proto(value, of)
		}
	})
}

func (w *quantityWalk) protoQuantity(message []byte) error {
	return eachField(message, func(n uint64, value []byte) error {
		if n != 1 {
			return nil
		}
		return Quantity(string(value))
	})
}

// eachField calls f with the length-delimited fields of a message. It stops at an error in
// the message, which the decoder reports.
func eachField(message []byte, f func(number uint64, value []byte) error) error {
	for at := 0; at < len(message); {
		tag, _, ok := varint(message, at)
		if !ok {
			return nil
		}
		value, next, nested, ok := field(message, at)
		if !ok {
			return nil
		}
		if nested {
			if err := f(tag>>3, message[value:next]); err != nil {
				return err
			}
		}
		at = next
	}
	return nil
}
