package jsonscan

import "bytes"

// Tokens reads the structure of a text: its objects and arrays and, optionally, the strings
// in them. It does not validate the text, which must be valid or be refused by a decoder
// later.
type Tokens struct {
	Text []byte
	// Kinds selects the tokens at which Next stops.
	Kinds *Kinds
	// From and To are the offsets of the start and the end of the current token. The last
	// string of an invalid text may end with the text.
	From, To int
}

// Kinds is a set of tokens by their first bytes. The quote is always in it.
type Kinds [256]kind

type kind uint8

const (
	isSkipped kind = iota // no token, or one at which Next does not stop
	isWanted
	isString
	isWantedString
)

// Sets of tokens.
var (
	// Containers are the starts and ends of objects and arrays.
	Containers = &Kinds{'"': isString, '{': isWanted, '}': isWanted, '[': isWanted, ']': isWanted}
	// ContainersAndStrings are Containers and all strings, names included.
	ContainersAndStrings = &Kinds{'"': isWantedString, '{': isWanted, '}': isWanted, '[': isWanted, ']': isWanted}
)

// Next goes to the next token and returns its first byte, or 0 at the end of the text.
func (t *Tokens) Next() byte {
	text, kinds := t.Text, t.Kinds
	for at := t.To; at < len(text); at++ {
		b := text[at]
		switch kinds[b] {
		case isWanted:
			t.From, t.To = at, at+1
			return b
		case isWantedString:
			t.From, t.To = at, StringEnd(text, at)
			return b
		case isString:
			at = StringEnd(text, at) - 1
		}
	}
	t.From, t.To = len(text), len(text)
	return 0
}

// StringEnd returns the offset at which the string ends whose first quote stands at an
// offset: behind its last quote, or at the end of the text.
func StringEnd(text []byte, quote int) int {
	for from := quote + 1; ; {
		n := bytes.IndexByte(text[from:], '"')
		if n < 0 {
			return len(text)
		}
		end := from + n
		backslashes := 0
		for text[end-1-backslashes] == '\\' {
			backslashes++
		}
		if backslashes%2 == 0 {
			return end + 1
		}
		from = end + 1
	}
}

// ContainerEnd returns the offset at which the object or array ends that starts at an
// offset, or -1 if the text ends before it.
func ContainerEnd(text []byte, start int) int {
	t := Tokens{Text: text, Kinds: Containers, To: start}
	for depth := 0; ; {
		switch t.Next() {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return t.To
			}
		case 0:
			return -1
		}
	}
}
