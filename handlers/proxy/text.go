package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/outbound"
)

// maxMessage bounds the text of a backend's error.
const maxMessage = 50000

// Open returns the body of a GET of a location. Error responses become errors about the object
// with the given resource and name. Redirects are not followed.
func (p *Proxy) Open(ctx context.Context, loc *api.Location, resource schema.GroupResource, name string) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, loc.URL.String(), nil)
	if err != nil {
		return nil, err
	}
	mark(r.Header, loc)
	client := outbound.Client(p.transport(loc, false))
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return errors.New("redirects forbidden") }
	response, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusOK && response.StatusCode <= http.StatusPartialContent {
		return response.Body, nil
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxMessage))
	switch {
	case err != nil:
		return nil, apierrors.NewInternalError(err)
	case response.StatusCode == http.StatusInternalServerError:
		return nil, apierrors.NewInternalError(fmt.Errorf("%s", text))
	case response.StatusCode == http.StatusBadRequest:
		return nil, apierrors.NewBadRequest(string(text))
	}
	return nil, apierrors.NewGenericServerResponse(response.StatusCode, "", resource, name, string(text), 0, false)
}

// chunk is the size of the buffer of Copy.
const chunk = 32 << 10

// Copy calls write with each chunk that it reads, until the reader ends or write fails.
func Copy(write func([]byte) error, r io.Reader) error {
	buf := make([]byte, chunk)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if err := write(buf[:n]); err != nil {
				return err
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}
