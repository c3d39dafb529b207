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

// rewrite makes an answer lead through here where it leads to another path of
// the same host: a redirect, or the links of a page.
func rewrite(answer *http.Response, asked *http.Request, prefix string) error {
	links := links{prefix: prefix, target: answer.Request.URL.Host, asked: asked.Host}
	if to := answer.Header.Get("Location"); to != "" {
		parsed, err := url.Parse(to)
		if err != nil {
			return apierrors.NewInternalError(fmt.Errorf("error trying to parse Location header: %v", err))
		}
		answer.Header.Set("Location", links.rewrite(parsed))
		return nil
	}
	kind, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	if strings.TrimSpace(kind) != "text/html" || asked.Method == http.MethodHead {
		return nil
	}
	p := &page{links: links, from: answer.Body}
	switch answer.Header.Get("Content-Encoding") {
	case "":
		p.tokens, p.to = html.NewTokenizer(answer.Body), nopCloser{&p.ready}
	case "gzip":
		unzipped, err := gzip.NewReader(answer.Body)
		if err != nil {
			return fmt.Errorf("errorf making gzip reader: %v", err)
		}
		p.tokens, p.to = html.NewTokenizer(unzipped), gzip.NewWriter(&p.ready)
	case "deflate":
		deflated, err := flate.NewWriter(&p.ready, flate.BestCompression)
		if err != nil {
			return err
		}
		p.tokens, p.to = html.NewTokenizer(flate.NewReader(answer.Body)), deflated
	default:
		return nil // not understood, so left as it is
	}
	p.tokens.SetMaxBuf(maxToken)
	answer.Body, answer.ContentLength = p, -1
	answer.Header.Del("Content-Length")
	return nil
}

// maxToken bounds what of a page is held at a time.
const maxToken = 1 << 20

// links are rewritten for a page that was asked for at one host and came from
// another.
type links struct{ prefix, target, asked string }

func (l links) rewrite(u *url.URL) string {
	elsewhere := u.Host != "" && u.Host != l.target && u.Host != l.asked
	if elsewhere || !strings.HasPrefix(u.Path, "/") {
		return u.String()
	}
	if u.Host != l.asked {
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

// page is the body of an answer, rewritten while it is read.
type page struct {
	links  links
	from   io.Closer
	tokens *html.Tokenizer
	// to makes of what is rewritten what is ready to be read.
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

// isLink tells whether an attribute of an element is a URL.
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
