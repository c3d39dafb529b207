package configfile

import (
	"regexp"
	"strings"
)

// Explain returns the text of an error about a configuration in one line, with the words of users in place of
// those of the libraries that decode YAML and JSON: these name types of Go.
func Explain(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	for _, replaced := range [][2]string{
		{"couldn't get version/kind; json parse error: ", ""}, {"error converting YAML to JSON: ", ""}, {"error unmarshaling JSON: ", ""},
		{"while decoding JSON: ", ""}, {"json: unknown field", "unknown field"},
	} {
		text = strings.ReplaceAll(text, replaced[0], replaced[1])
	}
	text = ofYAML.ReplaceAllString(text, "${1}is not valid YAML: ")
	m := wrongType.FindStringSubmatchIndex(text)
	if m == nil {
		return text
	}
	part := func(i int) string {
		if m[2*i] < 0 {
			return ""
		}
		return text[m[2*i]:m[2*i+1]]
	}
	subject, want := "a value", nameOfGo(part(3), part(1))
	if _, field, ok := strings.Cut(part(2), "."); ok {
		subject = "field " + field
	} else if isStruct(part(3)) {
		subject, want = "the content", "an object in YAML or JSON"
	}
	return text[:m[0]] + subject + " is " + nameOfJSON(part(1)) + " and must be " + want
}

// ofYAML begins an error of the library that decodes YAML. It does not match the end of a file's name.
var ofYAML = regexp.MustCompile(`(^|[:;] )yaml: (?:unmarshal errors:; *)?`)

// wrongType is the error of a value whose type is not that of its field.
var wrongType = regexp.MustCompile(`json: cannot unmarshal (\w+)(?: \S+)? into Go (?:struct field (\S+)|value) of type (.*)`)

// nameOfJSON returns the name of a type of JSON with its article.
func nameOfJSON(name string) string {
	switch name {
	case "string":
		return "a text"
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "bool":
		return "true or false"
	}
	return "a " + name
}

// isStruct reports whether a type of Go may be a struct or a map.
func isStruct(name string) bool {
	return strings.Contains(name, ".") || strings.HasPrefix(name, "struct") || strings.HasPrefix(name, "map[")
}

// nameOfGo returns the name of the type of JSON for a type of Go that a value of JSON does not have.
func nameOfGo(name, value string) string {
	name = strings.TrimLeft(name, "*")
	switch {
	case name == "string":
		return "a text"
	case name == "bool":
		return "true or false"
	case strings.HasPrefix(name, "int"), strings.HasPrefix(name, "uint"):
		return "a whole number"
	case strings.HasPrefix(name, "float"):
		return "a number"
	case strings.HasPrefix(name, "[]"):
		return "a list"
	case strings.HasPrefix(name, "struct"), strings.HasPrefix(name, "map["), value == "string": // no named type of texts
		return "an object"
	}
	return "of another type"
}
