package transport

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// OriginPatterns compiles the expressions of --cors-allowed-origins. It refuses an
// expression without anchors, which would also match origins such as
// https://example.com.attacker.example.
func OriginPatterns(expressions []string) ([]*regexp.Regexp, error) {
	var patterns []*regexp.Regexp
	var errs []error
	for _, text := range expressions {
		pattern, err := regexp.Compile(text)
		switch {
		case text == "":
			err = errors.New("an expression is empty")
		case err != nil:
			err = fmt.Errorf("%q is not a regular expression: %w", text, err)
		case !strings.Contains(text, "^") && !strings.Contains(text, "//"), !strings.Contains(text, "$") && !strings.Contains(text, ":"):
			err = fmt.Errorf("%q is not anchored to the start and the end of the host, as //example.com(:|$) is", text)
		}
		if err != nil {
			errs = append(errs, err)
		}
		patterns = append(patterns, pattern)
	}
	return patterns, errors.Join(errs...)
}
