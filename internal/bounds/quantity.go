package bounds

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

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
	err := jsonQuantities(d, gotype.Deref(reflect.TypeOf(into)))
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
	return messageQuantities(message, gotype.Deref(reflect.TypeOf(into)))
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

var quantityType = reflect.TypeFor[resource.Quantity]()

// Results about Go types, which are few: those of the kinds and of their fields.
var (
	holders      sync.Map // reflect.Type -> bool: whether its values may hold a quantity
	holderFields sync.Map // reflect.Type -> map[uint64]reflect.Type: the fields that may, by protobuf number
)

// holdsQuantity reports whether values of a type may hold a quantity.
func holdsQuantity(rt reflect.Type) bool {
	if holds, ok := holders.Load(rt); ok {
		return holds.(bool)
	}
	holds := reachesQuantity(rt, map[reflect.Type]bool{})
	holders.Store(rt, holds)
	return holds
}

// reachesQuantity is holdsQuantity for types other than the seen ones.
func reachesQuantity(rt reflect.Type, seen map[reflect.Type]bool) bool {
	rt = gotype.Deref(rt)
	if rt == quantityType || seen[rt] {
		return rt == quantityType
	}
	seen[rt] = true
	switch rt.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return reachesQuantity(rt.Elem(), seen)
	case reflect.Struct:
		return slices.ContainsFunc(gotype.Fields(rt), func(f gotype.Field) bool { return reachesQuantity(f.Type, seen) })
	}
	return false
}

// quantityFields returns the fields of a struct that may hold a quantity, by their protobuf numbers.
func quantityFields(rt reflect.Type) map[uint64]reflect.Type {
	if fields, ok := holderFields.Load(rt); ok {
		return fields.(map[uint64]reflect.Type)
	}
	fields := map[uint64]reflect.Type{}
	for _, f := range gotype.Fields(rt) {
		if f.Number > 0 && holdsQuantity(f.Type) {
			fields[uint64(f.Number)] = gotype.Deref(f.Type)
		}
	}
	holderFields.Store(rt, fields)
	return fields
}

// jsonQuantities checks the next value, which will be decoded into the type.
func jsonQuantities(d *json.Decoder, rt reflect.Type) error {
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
		return compositeQuantities(d, rt, x)
	}
	return nil
}

func compositeQuantities(d *json.Decoder, rt reflect.Type, open json.Delim) error {
	for d.More() {
		of := reflect.TypeFor[any]()
		if open == '{' {
			name, err := d.Token()
			if err != nil {
				return err
			}
			if text, ok := name.(string); ok {
				of = memberType(rt, text)
			}
		} else if rt.Kind() == reflect.Slice || rt.Kind() == reflect.Array {
			of = gotype.Deref(rt.Elem())
		}
		if err := jsonQuantities(d, of); err != nil {
			return err
		}
	}
	_, err := d.Token() // the end
	return err
}

// memberType returns the type of a member of an object, or the type any if it cannot hold a
// quantity.
func memberType(rt reflect.Type, name string) reflect.Type {
	none := reflect.TypeFor[any]()
	switch rt.Kind() {
	case reflect.Map:
		return gotype.Deref(rt.Elem())
	case reflect.Struct:
		if !holdsQuantity(rt) {
			return none
		}
	default:
		return none
	}
	for _, f := range gotype.Members(rt) {
		if strings.EqualFold(f.Name, name) && holdsQuantity(f.Type) {
			return gotype.Deref(f.Type)
		}
	}
	return none
}

// messageQuantities checks a message, which will be decoded into the type.
func messageQuantities(message []byte, rt reflect.Type) error {
	if rt == quantityType {
		return quantityMessage(message)
	}
	if rt.Kind() != reflect.Struct {
		return nil
	}
	types := quantityFields(rt)
	if len(types) == 0 {
		return nil
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
				return messageQuantities(value, gotype.Deref(of.Elem()))
			})
		case of.Kind() == reflect.Slice:
			return messageQuantities(value, gotype.Deref(of.Elem()))
		default:
			return messageQuantities(value, of)
		}
	})
}

func quantityMessage(message []byte) error {
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
