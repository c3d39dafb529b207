package authn

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/miniapiserver/miniapiserver/internal/configfile"
	"github.com/miniapiserver/miniapiserver/request"
)

// TokenFile is a static table of tokens and their users. Its keys are the SHA-256 sums of the
// tokens, so that the time of a lookup reveals nothing about how much of a guessed token is right.
type TokenFile map[[sha256.Size]byte]*request.User

// Columns of a token file; groups are optional.
const (
	columnToken = iota
	columnName
	columnUID
	columnGroups
)

// ReadTokenFile reads a CSV file with lines of the form
//
//	token,user name,user uid,"group1,group2"
//
// It rejects an empty token, an empty name and a duplicate token, for which kube-apiserver only
// logs a warning. Errors contain the file and the line.
func ReadTokenFile(path string) (TokenFile, error) {
	data, err := configfile.Read(path)
	if err != nil {
		return nil, err
	}
	t, err := parseTokens(bytes.NewReader(data))
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
		user, err := parseUser(record)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		sum := sha256.Sum256([]byte(record[columnToken]))
		if firstHeader, ok := lines[sum]; ok {
			return nil, fmt.Errorf("line %d: the token is the same as in line %d", line, firstHeader)
		}
		t[sum], lines[sum] = user, line
	}
}

// Add adds a token to the table.
func (t TokenFile) Add(token string, user *request.User) {
	t[sha256.Sum256([]byte(token))] = user
}

// AuthenticateToken implements Token.
func (t TokenFile) AuthenticateToken(_ context.Context, token string) (Identity, bool, error) {
	user, ok := t[sha256.Sum256([]byte(token))]
	if !ok {
		return Identity{}, false, nil
	}
	return Identity{Method: "token file", User: user}, true, nil
}

func parseUser(record []string) (*request.User, error) {
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

// csvError formats a CSV error like the other errors of this file.
func csvError(err error) error {
	var bad *csv.ParseError
	if errors.As(err, &bad) {
		return fmt.Errorf("line %d: column %d: %w", bad.Line, bad.Column, bad.Err)
	}
	return err
}
