package encryption

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"google.golang.org/protobuf/encoding/protowire"
)

// envelope is the protobuf message of a value that was encrypted with the help of a KMS v2
// plugin: the encrypted data, and the encrypted seed of its key, which the plugin decrypts.
type envelope struct {
	data        []byte
	keyID       string
	seed        []byte
	annotations map[string][]byte
	source      int32
}

// Fields of the message.
const (
	envelopeData        = 1
	envelopeKeyID       = 2
	envelopeSeed        = 3
	envelopeAnnotations = 4
	envelopeSource      = 5
	entryKey            = 1 // of an annotation
	entryValue          = 2
)

// Values of envelope.source: whether the plugin decrypts the key of the data itself or a seed
// from which HKDF derives it.
const (
	sourceKey  = 0
	sourceSeed = 1
)

// Limits of the parts of an envelope, in bytes.
const (
	maxKeyID         = 1 << 10
	maxEncryptedSeed = 1 << 10
	maxAnnotations   = 32 << 10
)

// parseEnvelope decodes an envelope. Its data shares memory with b.
func parseEnvelope(b []byte) (*envelope, error) {
	e := &envelope{}
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		b = b[n:]
		var err error
		switch {
		case kind == protowire.BytesType && number <= envelopeAnnotations:
			var field []byte
			if field, n = protowire.ConsumeBytes(b); n >= 0 {
				err = e.setField(number, field)
			}
		case kind == protowire.VarintType && number == envelopeSource:
			var v uint64
			v, n = protowire.ConsumeVarint(b)
			e.source = int32(v)
		default: // a field of a later version
			n = protowire.ConsumeFieldValue(number, kind, b)
		}
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		if err != nil {
			return nil, err
		}
		b = b[n:]
	}
	return e, e.validate()
}

// setField sets a field of type bytes, string or message.
func (e *envelope) setField(number protowire.Number, field []byte) error {
	switch number {
	case envelopeData:
		e.data = field
	case envelopeSeed:
		e.seed = field
	case envelopeKeyID:
		if !utf8.Valid(field) {
			return errNotUTF8
		}
		e.keyID = string(field)
	case envelopeAnnotations:
		key, value, err := parseEntry(field)
		if err != nil {
			return err
		}
		if e.annotations == nil {
			e.annotations = map[string][]byte{}
		}
		e.annotations[key] = value
	}
	return nil
}

var errNotUTF8 = errors.New("a string of the envelope is not UTF-8")

// parseEntry decodes an annotation.
func parseEntry(b []byte) (key string, value []byte, err error) {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return "", nil, protowire.ParseError(n)
		}
		b = b[n:]
		if kind == protowire.BytesType && (number == entryKey || number == entryValue) {
			field, size := protowire.ConsumeBytes(b)
			switch n = size; {
			case n < 0:
			case number == entryValue:
				value = slices.Clone(field)
			case !utf8.Valid(field):
				return "", nil, errNotUTF8
			default:
				key = string(field)
			}
		} else {
			n = protowire.ConsumeFieldValue(number, kind, b)
		}
		if n < 0 {
			return "", nil, protowire.ParseError(n)
		}
		b = b[n:]
	}
	return key, value, nil
}

// appendTail appends the fields after the data, in the order of their numbers.
func (e *envelope) appendTail(b []byte) []byte {
	b = protowire.AppendTag(b, envelopeKeyID, protowire.BytesType)
	b = protowire.AppendString(b, e.keyID)
	b = protowire.AppendTag(b, envelopeSeed, protowire.BytesType)
	b = protowire.AppendBytes(b, e.seed)
	for _, key := range slices.Sorted(maps.Keys(e.annotations)) {
		entry := protowire.AppendTag(nil, entryKey, protowire.BytesType)
		entry = protowire.AppendString(entry, key)
		entry = protowire.AppendTag(entry, entryValue, protowire.BytesType)
		entry = protowire.AppendBytes(entry, e.annotations[key])
		b = protowire.AppendTag(b, envelopeAnnotations, protowire.BytesType)
		b = protowire.AppendBytes(b, entry)
	}
	if e.source != 0 {
		b = protowire.AppendTag(b, envelopeSource, protowire.VarintType)
		b = protowire.AppendVarint(b, uint64(e.source))
	}
	return b
}

// validate checks the limits of all parts, with kube-apiserver's texts.
func (e *envelope) validate() error {
	if e.source != sourceKey && e.source != sourceSeed {
		return fmt.Errorf("unknown encryptedDEKSourceType: %d", e.source)
	}
	if len(e.data) == 0 {
		return errors.New("encrypted data is empty")
	}
	return e.validateKey()
}

// validateKey checks the parts that a plugin returned.
func (e *envelope) validateKey() error {
	switch {
	case len(e.seed) == 0:
		return errors.New("failed to validate encrypted DEK source: encrypted DEK source is empty")
	case len(e.seed) > maxEncryptedSeed:
		return fmt.Errorf("failed to validate encrypted DEK source: encrypted DEK source is %d bytes, which exceeds the max size of %d",
			len(e.seed), maxEncryptedSeed)
	}
	if _, err := validateKeyID(e.keyID); err != nil {
		return fmt.Errorf("failed to validate key id: %w", err)
	}
	if err := validateAnnotations(e.annotations); err != nil {
		return fmt.Errorf("failed to validate annotations: %w", err)
	}
	return nil
}

// validateKeyID checks a key id. label is the fault as a metric names it.
func validateKeyID(id string) (label string, err error) {
	switch {
	case id == "":
		return "empty", errors.New("keyID is empty")
	case len(id) > maxKeyID:
		return "too_long", fmt.Errorf("keyID is %d bytes, which exceeds the max size of %d", len(id), maxKeyID)
	}
	return "ok", nil
}

func validateAnnotations(annotations map[string][]byte) error {
	var errs []error
	size := 0
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if faults := validation.IsFullyQualifiedDomainName(field.NewPath("annotations"), key); faults != nil {
			errs = append(errs, faults.ToAggregate())
		}
		size += len(key) + len(annotations[key])
	}
	if size > maxAnnotations {
		errs = append(errs, fmt.Errorf("total size of annotations is %d, which exceeds the max size of %d", size, maxAnnotations))
	}
	return utilerrors.NewAggregate(errs)
}

// seedID identifies an encrypted seed.
type seedID [sha256.Size]byte

// seedID returns the identity of the seed: a hash of everything that the plugin needs to decrypt
// it.
func (e *envelope) seedID() seedID {
	h := sha256.New()
	part := func(b []byte) {
		var size [4]byte
		binary.BigEndian.PutUint32(size[:], uint32(len(b)))
		_, _ = h.Write(size[:]) // a hash never fails
		_, _ = h.Write(b)
	}
	_, _ = h.Write([]byte{byte(e.source)})
	part(e.seed)
	part([]byte(e.keyID))
	for _, key := range slices.Sorted(maps.Keys(e.annotations)) {
		part([]byte(key))
		part(e.annotations[key])
	}
	return seedID(h.Sum(nil))
}
