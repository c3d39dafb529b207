package authn

import (
	"context"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/miniapiserver/miniapiserver/request"
)

// TokenFile is a fixed table of tokens and whose they are.
//
// It is kept by the tokens' SHA-256 sums and not by the tokens, so that the time
// a look-up takes says nothing about how much of a guess was right: whoever
// guesses cannot steer the sum byte by byte.
type TokenFile map[[sha256.Size]byte]*request.User

// Columns of a line of a token file; the groups may be left out.
const (
	columnToken = iota
	columnName
	columnUID
	columnGroups
)

// ReadTokenFile reads a CSV file whose lines are
//
//	token,user name,user uid,"group1,group2"
//
// Unlike kube-apiserver, which skips or overrides such lines with a warning in
// its log, it refuses an empty token, an empty name and a token that is given
// twice. Errors name the file and the line.
func ReadTokenFile(path string) (TokenFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := parseTokens(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

func parseTokens(in io.Reader) (TokenFile, error) {
	t := TokenFile{}
	lines := map[[sha256.Size]byte]int{}
	r := csv.NewReader(in)
	r.FieldsPerRecord = -1
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return nil, csvError(err)
		}
		line, _ := r.FieldPos(0)
		user, err := userOf(record)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		sum := sha256.Sum256([]byte(record[columnToken]))
		if first, ok := lines[sum]; ok {
			return nil, fmt.Errorf("line %d: the token is that of line %d", line, first)
		}
		t[sum], lines[sum] = user, line
	}
}

// Add puts one more token into the table.
func (t TokenFile) Add(token string, user *request.User) {
	t[sha256.Sum256([]byte(token))] = user
}

// AuthenticateToken looks the token up in the table.
func (t TokenFile) AuthenticateToken(_ context.Context, token string) (Identity, bool, error) {
	user, ok := t[sha256.Sum256([]byte(token))]
	if !ok {
		return Identity{}, false, nil
	}
	return Identity{User: user}, true, nil
}

func userOf(record []string) (*request.User, error) {
	if len(record) <= columnUID {
		return nil, fmt.Errorf(`must have at least 3 columns (token,user name,user uid), has %d`, len(record))
	}
	if record[columnToken] == "" {
		return nil, errors.New("the token is empty")
	}
	if record[columnName] == "" {
		return nil, errors.New("the user name is empty")
	}
	user := &request.User{Name: record[columnName], UID: record[columnUID]}
	if len(record) > columnGroups {
		for group := range strings.SplitSeq(record[columnGroups], ",") {
			if group = strings.TrimSpace(group); group != "" {
				user.Groups = append(user.Groups, group)
			}
		}
	}
	return user, nil
}

// csvError says in our words where the file is not CSV.
func csvError(err error) error {
	var bad *csv.ParseError
	if errors.As(err, &bad) {
		return fmt.Errorf("line %d: column %d: %w", bad.Line, bad.Column, bad.Err)
	}
	return err
}
