package authn

import (
	"fmt"
	"io"
	"net/http"
)

// maxIssuerDocument bounds the discovery document and the keys of an issuer, in bytes.
// Those of real issuers have a few kilobytes.
const maxIssuerDocument = 1 << 20

// limitedAnswers is a transport whose answers fail to be read beyond
// maxIssuerDocument. The library that reads them has no limit of its own.
type limitedAnswers struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t limitedAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Body = &limitedBody{ReadCloser: resp.Body, left: maxIssuerDocument}
	return resp, nil
}

type limitedBody struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (b *limitedBody) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1] // one more byte than allowed shows that there are more
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("the answer has more than %d bytes", maxIssuerDocument)
	}
	return n, err
}
