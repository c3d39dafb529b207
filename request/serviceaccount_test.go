package request

import "testing"

func TestSplitServiceAccountName(t *testing.T) {
	for user, want := range map[string][2]string{
		"system:serviceaccount:ns:robot":   {"ns", "robot"},
		"system:serviceaccount:ns:ro.bot":  {"ns", "ro.bot"},
		"system:serviceaccount:ns":         {},
		"system:serviceaccount:ns:":        {},
		"system:serviceaccount::robot":     {},
		"system:serviceaccount:n.s:robot":  {},
		"system:serviceaccount:ns:robot:x": {},
		"system:serviceaccounts:ns:robot":  {},
		" system:serviceaccount:ns:robot":  {},
		"":                                 {},
	} {
		namespace, name, ok := SplitServiceAccountName(user)
		if ok != (want[0] != "") || ok && (namespace != want[0] || name != want[1]) {
			t.Errorf("%q: got %q, %q, %t", user, namespace, name, ok)
		}
		if ok && ServiceAccountName(namespace, name) != user {
			t.Errorf("%q: does not come back", user)
		}
	}
}

func TestSplitNodeName(t *testing.T) {
	for user, want := range map[string]string{"system:node:n1": "n1", "system:node:n1.example.org": "n1.example.org", "system:node:": "", "system:node:N": "", "system:nodes:n": "", "n1": ""} {
		if node, ok := SplitNodeName(user); node != want && ok || ok != (want != "") {
			t.Errorf("%q: got %q, %t", user, node, ok)
		}
	}
}
