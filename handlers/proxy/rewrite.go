package proxy

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"

	"golang.org/x/net/html"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// rewrite changes redirects and links of HTML pages to paths of the backend, so that clients
// reach them through the proxy.
func rewrite(response *http.Response, r *http.Request, prefix string) error {
	links := links{prefix: prefix, target: response.Request.URL.Host, requested: r.Host}
	if to := response.Header.Get("Location"); to != "" {
		parsed, err := url.Parse(to)
		if err != nil {
			return apierrors.NewInternalError(fmt.Errorf("error trying to parse Location header: %v", err))
		}
		response.Header.Set("Location", links.rewrite(parsed))
		return nil
	}
	kind, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";")
	if strings.TrimSpace(kind) != "text/html" || r.Method == http.MethodHead {
		return nil
	}
	p := &page{links: links, from: response.Body}
	switch response.Header.Get("Content-Encoding") {
	case "":
		p.tokens, p.to = html.NewTokenizer(response.Body), nopCloser{&p.ready}
	case "gzip":
		decompressed, err := gzip.NewReader(response.Body)
		if err != nil {
			return fmt.Errorf("errorf making gzip reader: %v", err)
		}
		p.tokens, p.to = html.NewTokenizer(decompressed), gzip.NewWriter(&p.ready)
	case "deflate":
		compressor, err := flate.NewWriter(&p.ready, flate.BestCompression)
		if err != nil {
			return err
		}
		p.tokens, p.to = html.NewTokenizer(flate.NewReader(response.Body)), compressor
	default:
		return nil // an unknown encoding is left unchanged
	}
	p.tokens.SetMaxBuf(maxToken)
	response.Body, response.ContentLength = p, -1
	response.Header.Del("Content-Length")
	return nil
}

// maxToken bounds the part of a page that is in memory at a time.
const maxToken = 1 << 20

// links rewrites the links of a page. The client requested it at one host, below a prefix, and
// it came from the target host.
type links struct{ prefix, target, requested string }

func (l links) rewrite(u *url.URL) string {
	elsewhere := u.Host != "" && u.Host != l.target && u.Host != l.requested
	if elsewhere || !strings.HasPrefix(u.Path, "/") {
		return u.String()
	}
	if u.Host != l.requested {
		u.Scheme, u.Host = "", ""
	}
	if strings.HasPrefix(u.Path, l.prefix) {
		return u.String()
	}
	slash := strings.HasSuffix(u.Path, "/")
	if u.Path, u.RawPath = path.Join(l.prefix, u.Path), ""; slash {
		u.Path += "/"
	}
	return u.String()
}

// page is the body of a response, rewritten while it is read.
type page struct {
	links  links
	from   io.Closer
	tokens *html.Tokenizer
	// to encodes rewritten tokens into ready.
	to    io.WriteCloser
	ready bytes.Buffer
	err   error
}

// Read implements io.Reader.
func (p *page) Read(b []byte) (int, error) {
	for p.ready.Len() == 0 {
		if p.err != nil {
			return 0, p.err
		}
		p.err = p.next()
	}
	return p.ready.Read(b)
}

// Close implements io.Closer.
func (p *page) Close() error { return p.from.Close() }

// next rewrites one token.
func (p *page) next() error {
	var err error
	switch p.tokens.Next() {
	case html.ErrorToken:
		err = p.tokens.Err()
		if closed := p.to.Close(); err == io.EOF && closed != nil {
			err = closed
		}
	case html.StartTagToken, html.SelfClosingTagToken:
		token := p.tokens.Token()
		for i := range token.Attr {
			a := &token.Attr[i]
			if !isLink(token.Data, a.Key) {
				continue
			}
			if u, err := url.Parse(a.Val); err == nil {
				a.Val = p.links.rewrite(u)
			}
		}
		_, err = io.WriteString(p.to, token.String())
	default:
		_, err = p.to.Write(p.tokens.Raw())
	}
	return err
}

// isLink reports whether an attribute of an element is a URL.
func isLink(element, attribute string) bool {
	switch attribute {
	case "href":
		return element == "a" || element == "area" || element == "base" || element == "link"
	case "src":
		switch element {
		case "audio", "embed", "frame", "iframe", "img", "input", "script", "source", "video":
			return true
		}
	case "cite":
		return element == "blockquote" || element == "del" || element == "ins" || element == "q"
	case "longdesc":
		return element == "frame" || element == "iframe" || element == "img"
	case "usemap":
		return element == "img" || element == "input" || element == "object"
	case "action":
		return element == "form"
	case "formaction":
		return element == "button" || element == "input"
	case "poster":
		return element == "video"
	case "background":
		return element == "body"
	case "icon":
		return element == "command"
	case "manifest":
		return element == "html"
	case "profile":
		return element == "head"
	case "classid", "codebase", "data":
		return element == "object" || element == "applet" && attribute == "codebase"
	}
	return false
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
