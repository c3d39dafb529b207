package authn

import (
	"fmt"
	"io"
	"net/http"
)

// maxIssuerDocument is the maximum size of an issuer's discovery document and key set, in bytes.
// Those of real issuers have a few kilobytes.
const maxIssuerDocument = 1 << 20

// limitedResponses is a transport that fails reads beyond maxIssuerDocument, because the OIDC
// library reads responses without a limit.
type limitedResponses struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t limitedResponses) RoundTrip(r *http.Request) (*http.Response, error) {
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
		p = p[:b.left+1] // the extra byte detects that the limit is exceeded
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("the response has more than %d bytes", maxIssuerDocument)
	}
	return n, err
}
