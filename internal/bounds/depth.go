package bounds

import "github.com/miniapiserver/miniapiserver/internal/jsonscan"

// Depth checks only the nesting of a JSON text, which need not be valid. It is for the answers of other servers,
// which have a limit of their size and contain objects that are checked when they are decoded, in a list or a
// review of a few levels; and for the JSON that an object contains as bytes.
func Depth(text []byte) error {
	const limit = MaxDepth + managedDepth
	if containers, _ := counts(text); containers <= limit {
		return nil // true for nearly all texts, which need no scan
	}
	depth := 0
	for at := 0; at < len(text); at++ {
		switch text[at] {
		case '"':
			at = jsonscan.StringEnd(text, at) - 1
		case '{', '[':
			if depth++; depth > limit {
				return errDepth()
			}
		case '}', ']':
			depth--
		}
	}
	return nil
}
