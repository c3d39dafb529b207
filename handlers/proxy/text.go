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

// maxMessage bounds how much of an error's text is passed on.
const maxMessage = 50000

// Open reads what is at a location; errors of there become such as are about the
// object that has it. Redirects are not followed.
func (p *Proxy) Open(ctx context.Context, at *api.Location, about schema.GroupResource, name string) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.URL.String(), nil)
	if err != nil {
		return nil, err
	}
	client := outbound.Client(p.transport(at))
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return errors.New("redirects forbidden") }
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode >= http.StatusOK && answer.StatusCode <= http.StatusPartialContent {
		return answer.Body, nil
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxMessage))
	switch {
	case err != nil:
		return nil, apierrors.NewInternalError(err)
	case answer.StatusCode == http.StatusInternalServerError:
		return nil, apierrors.NewInternalError(fmt.Errorf("%s", text))
	case answer.StatusCode == http.StatusBadRequest:
		return nil, apierrors.NewBadRequest(string(text))
	}
	return nil, apierrors.NewGenericServerResponse(answer.StatusCode, "", about, name, string(text), 0, false)
}

// chunk is how much is passed on at a time.
const chunk = 32 << 10

// Copy writes all that from has, until it ends or write fails.
func Copy(write func([]byte) error, from io.Reader) error {
	buf := make([]byte, chunk)
	for {
		n, err := from.Read(buf)
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
