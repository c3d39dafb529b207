package random

import "fmt"

// names are expressions of each type that CEL expressions in a story are made of.
type names struct {
	strings, numbers, booleans, lists, maps, others []string
}

// expressions makes random CEL expressions. Few of them are wrong.
type expressions struct {
	*story
	names
}

// wrong reports whether an operand has another type than it should have.
func (e expressions) wrong() bool { return e.chance(3) }

// any returns an expression of any type.
func (e expressions) any(depth int) string {
	return pick(e.story, e.boolean, e.text, e.number, e.list, e.other)(depth)
}

// boolean returns a boolean expression.
func (e expressions) boolean(depth int) string {
	if e.wrong() {
		return e.any(depth)
	}
	if depth <= 0 || e.chance(15) {
		return pick(e.story, append(e.booleans, "true", "false", "true")...)
	}
	d := depth - 1
	switch e.IntN(24) {
	case 0, 1:
		return fmt.Sprintf("%s && %s", e.boolean(d), e.boolean(d))
	case 2:
		return fmt.Sprintf("%s || %s", e.boolean(d), e.boolean(d))
	case 3:
		return "!(" + e.boolean(d) + ")"
	case 4:
		return fmt.Sprintf("(%s ? %s : %s)", e.boolean(d), e.boolean(d), e.boolean(d))
	case 5, 6:
		return fmt.Sprintf("%s %s %s", e.number(d), pick(e.story, "<", "<=", "==", "!=", ">", ">="), e.number(d))
	case 7, 8:
		return fmt.Sprintf("%s %s %s", e.text(d), pick(e.story, "==", "!=", "<"), e.text(d))
	case 9:
		return fmt.Sprintf("%s.%s(%s)", e.text(d), pick(e.story, "startsWith", "endsWith", "contains", "matches"), pick(e.story, "'a'", "'^[a-z]+$'", "'['", "''", e.text(d)))
	case 10, 11:
		return fmt.Sprintf("%s.%s(%s, %s)", e.list(d), pick(e.story, "all", "exists", "exists_one"), pick(e.story, "x", "y"), pick(e.story, "true", "x == 'a'", "x != y", "size(x) > 0", "x.name == 'a'", "x > 1", "has(x.name)"))
	case 12:
		return fmt.Sprintf("%s in %s", pick(e.story, e.text(d), e.number(d)), pick(e.story, e.list(d), e.mapping()))
	case 13, 14:
		return "has(" + pick(e.story, append(e.others, e.strings...)...) + ")"
	case 15:
		return fmt.Sprintf("%s == %s", e.other(d), pick(e.story, e.other(d), "null", "1", "'a'"))
	case 16:
		return pick(e.story, "isURL('https://a')", "isIP('1.2.3.4')", "isCIDR('10.0.0.0/8')", "isQuantity('1Gi')", "ip('1.2.3.4').isLoopback()", "cidr('10.0.0.0/8').containsIP('10.1.1.1')", "quantity('1Gi').isGreaterThan(quantity('1'))", "url('https://a/b').getHost() == 'a'", "ip('x').family() == 4", "quantity('x').isInteger()",
			"cidr('10.0.0.0/8').prefixLength() == 8", "isSemver('1.2.3')", "semver('1.2.3').isLessThan(semver('2.0.0'))", "!format.dns1123Label().validate('A').hasValue()", "format.named('dns1123Label').hasValue()", "format.named('none').hasValue()", "url('::').getPort() == ''")
	case 17:
		return fmt.Sprintf("%s.%s(%s)", e.list(d), pick(e.story, "isSorted", "sum", "min", "max", "indexOf"), pick(e.story, "", "", "'a'"))
	case 18:
		return fmt.Sprintf("sets.%s(%s, %s)", pick(e.story, "contains", "equivalent", "intersects"), e.list(d), e.list(d))
	case 19:
		return fmt.Sprintf("type(%s) == %s", e.any(d), pick(e.story, "string", "int", "bool", "list", "map", "null_type", "double"))
	case 20:
		return fmt.Sprintf("size(%s) %s %d", pick(e.story, e.text(d), e.list(d), e.mapping()), pick(e.story, ">", "==", "<"), e.IntN(3))
	case 21:
		return pick(e.story, "timestamp('2026-01-02T03:04:05Z').getFullYear() == 2026", "duration('1h') > duration('1m')", "timestamp('x') == timestamp('y')", "duration('1x') == duration('1s')", "timestamp('2026-01-02T03:04:05Z') + duration('1h') > timestamp('2026-01-02T03:04:05Z')")
	case 22:
		return pick(e.story, append(e.others, e.lists...)...) + pick(e.story, ".?a.orValue(1) == 1", ".?name.hasValue()", "[?'a'].hasValue()", "[?0].orValue('x') == 'x'", ".?a.?b.optMap(x, x).hasValue()")
	}
	return fmt.Sprintf("%s.%s(k, v, %s)", pick(e.story, e.mapping(), e.list(d)), pick(e.story, "all", "exists"), pick(e.story, "k == 'a'", "v == 'a'", "true", "k != v"))
}

// text returns an expression of type string.
func (e expressions) text(depth int) string {
	if e.wrong() {
		return e.any(depth)
	}
	if depth <= 0 || e.chance(40) {
		return pick(e.story, append(e.strings, "'a'", "''", "'x y'", `"é"`)...)
	}
	d := depth - 1
	switch e.IntN(10) {
	case 0:
		return fmt.Sprintf("%s + %s", e.text(d), e.text(d))
	case 1:
		return fmt.Sprintf("string(%s)", pick(e.story, e.number(d), e.boolean(d), e.text(d)))
	case 2:
		return fmt.Sprintf("%s.%s()", e.text(d), pick(e.story, "lowerAscii", "upperAscii", "trim", "reverse"))
	case 3:
		return fmt.Sprintf("%s.substring(%d)", e.text(d), e.IntN(3))
	case 4:
		return fmt.Sprintf("%s.replace('a', 'b')", e.text(d))
	case 5:
		return fmt.Sprintf("%s.join(%s)", e.list(d), pick(e.story, "','", ""))
	case 6:
		return fmt.Sprintf("'%%s and %%d'.format([%s, %s])", e.any(d), e.number(d))
	case 7:
		return fmt.Sprintf("%s.find('[a-z]')", e.text(d))
	case 8:
		return fmt.Sprintf("(%s ? %s : %s)", e.boolean(d), e.text(d), e.text(d))
	}
	return fmt.Sprintf("%s.charAt(%d)", e.text(d), e.IntN(3))
}

// number returns an expression of type int.
func (e expressions) number(depth int) string {
	if e.wrong() {
		return e.any(depth)
	}
	if depth <= 0 || e.chance(40) {
		return pick(e.story, append(e.numbers, "0", "1", "2", "-1", "9223372036854775807")...)
	}
	d := depth - 1
	switch e.IntN(6) {
	case 0, 1:
		return fmt.Sprintf("%s %s %s", e.number(d), pick(e.story, "+", "-", "*", "/", "%"), e.number(d))
	case 2:
		return fmt.Sprintf("size(%s)", pick(e.story, e.text(d), e.list(d), e.mapping()))
	case 3:
		return fmt.Sprintf("int(%s)", pick(e.story, "'1'", "'x'", "1.5", e.text(d)))
	case 4:
		return fmt.Sprintf("%s.indexOf('a')", e.text(d))
	}
	return fmt.Sprintf("(%s ? %s : %s)", e.boolean(d), e.number(d), e.number(d))
}

// list returns an expression of a list type.
func (e expressions) list(depth int) string {
	if e.wrong() {
		return e.any(depth)
	}
	if depth <= 0 || e.chance(50) {
		return pick(e.story, append(e.lists, "['a', 'b']", "[1, 2]", "[]", "[1, 'a']")...)
	}
	d := depth - 1
	switch e.IntN(6) {
	case 0:
		return fmt.Sprintf("%s.filter(x, %s)", e.list(d), pick(e.story, "x == 'a'", "true", "x > 1", "x.name == 'a'"))
	case 1:
		return fmt.Sprintf("%s.map(x, %s)", e.list(d), pick(e.story, "x", "x.name", "x + 1", "{'a': x}"))
	case 2:
		return fmt.Sprintf("%s.split(',')", e.text(d))
	case 3:
		return fmt.Sprintf("%s + %s", e.list(d), e.list(d))
	case 4:
		return fmt.Sprintf("%s.%s()", e.list(d), pick(e.story, "distinct", "sort", "reverse", "flatten"))
	}
	return fmt.Sprintf("%s.slice(0, %d)", e.list(d), e.IntN(3))
}

func (e expressions) mapping() string {
	return pick(e.story, append(e.maps, "{'a': 1}", "{}", "{'a': 'b', 'c': 'd'}")...)
}

// other returns an expression whose type is of no interest.
func (e expressions) other(depth int) string {
	if depth > 0 && e.chance(20) {
		return fmt.Sprintf("%s[%s]", pick(e.story, e.list(depth-1), e.mapping()), pick(e.story, "0", "'a'", "5", "'none'"))
	}
	return pick(e.story, append(e.others, "null", "1.5", "b'a'", "[1]", "{'a': 1}", "dyn(1)")...)
}

// broken returns an expression that mostly does not compile.
func (e expressions) broken() string {
	return pick(e.story, "", " ", "a b", "1 +", "object.", "nothing.a == 1", "'a", "true;", "(true", "x.y.z()", "has(1)", "[1, 2", "{'a' 1}", "size()", "true && 1", "if a then b", "object == ", "1 == 'a'", "string.matches()", "self", "\n", "true\n// comment", "a ? b", "self.all(x, y)", "timestamp(1, 2)", "@", "'\\q'", "b'\\xff' == b''", "0x1F == 31", "1u == 1", "1e400 > 1.0", "99999999999999999999 > 1", "true ? 1 : 'a'")
}
