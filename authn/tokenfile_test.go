package authn

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/request"
)

func writeFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadTokenFile(t *testing.T) {
	path := writeFile(t, "admin-token,admin,admin-uid,\"system:masters\"\n\nalice-token,alice,alice-uid,\"dev, qa,\"\nbob-token,bob,\n")
	table, err := ReadTokenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]*request.User{
		"admin-token": {Name: "admin", UID: "admin-uid", Groups: []string{"system:masters"}},
		"alice-token": {Name: "alice", UID: "alice-uid", Groups: []string{"dev", "qa"}},
		"bob-token":   {Name: "bob"},
	}
	for token, user := range want {
		id, ok, err := table.AuthenticateToken(t.Context(), token)
		if !ok || err != nil || !reflect.DeepEqual(id.User, user) {
			t.Errorf("%s: got %+v, %v, %v; want %+v", token, id, ok, err, user)
		}
	}
	for _, token := range []string{"", "admin", "admin-toke", "admin-token ", "alice-uid"} {
		if _, ok, _ := table.AuthenticateToken(t.Context(), token); ok {
			t.Errorf("%q is nobody's token and was accepted", token)
		}
	}
}

func TestReadTokenFileErrors(t *testing.T) {
	cases := []struct{ name, content, want string }{
		{"columns", "a,b,c\nt,u\n", "line 2: must have at least 3 columns (token,user name,user uid), has 2"},
		{"token", "a,b,c\n\n,u,i\n", "line 3: the token is empty"},
		{"user", "t,,i\n", "line 1: the user name is empty"},
		{"twice", "t,a,i\nu,b,i\nt,c,i\n", "line 3: the token is the same as in line 1"},
		{"quote", "t,a,i\nt2,a,i,\"x\n", "line 2: column 11: extraneous"},
		{"bare quote", "t,a\"b,i\n", "line 1: column 4: bare"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			path := writeFile(t, c.content)
			_, err := ReadTokenFile(path)
			if err == nil || !strings.HasPrefix(err.Error(), path+": "+c.want) {
				t.Errorf("got %v\nwant %s: %s...", err, path, c.want)
			}
		})
	}
	if _, err := ReadTokenFile(filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) {
		t.Errorf("missing file: got %v", err)
	}
}

func FuzzParseTokens(f *testing.F) {
	f.Add("admin-token,admin,admin-uid,\"system:masters\"\n")
	f.Add("a,b,c,\"x\ny,z\"\n,,,\n")
	f.Fuzz(func(t *testing.T, content string) {
		table, err := parseTokens(strings.NewReader(content))
		if err != nil {
			return
		}
		if _, ok, _ := table.AuthenticateToken(t.Context(), ""); ok {
			t.Error("the empty token was accepted")
		}
		for _, user := range table {
			if user.Name == "" {
				t.Error("a token without a user was accepted")
			}
		}
	})
}
