package client

import (
	"context"
	"encoding/json"
	"io"

	"k8s.io/client-go/rest"
)

// Config returns the configuration of the client. It may be changed.
func (c *Client) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Patch sends a JSON merge patch, and decodes the answer.
func (c *Client) Patch(ctx context.Context, t Target, patch, into any) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	data, err := do(ctx, c.rest.Patch("application/merge-patch+json").RequestURI(t.Path()).Body(body))
	if err != nil {
		return t.wrap("patch", err)
	}
	return decode(data, into)
}

// Update replaces an object, or a subresource of it, and decodes the answer into it.
func (c *Client) Update(ctx context.Context, t Target, subresource string, object any) error {
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	path := t.Path()
	if subresource != "" {
		path += "/" + subresource
	}
	data, err := do(ctx, c.rest.Put().RequestURI(path).SetHeader("Content-Type", "application/json").Body(body))
	if err != nil {
		return t.wrap("update", err)
	}
	return decode(data, object)
}

// Delete deletes an object.
func (c *Client) Delete(ctx context.Context, t Target) error {
	_, err := do(ctx, c.rest.Delete().RequestURI(t.Path()))
	return t.wrap("delete", err)
}

// Download writes what a subresource streams, and returns its size.
func (c *Client) Download(ctx context.Context, t Target, subresource string, to io.Writer) (int64, error) {
	return c.DownloadAs(ctx, t, subresource, "", to)
}

// DownloadAs writes what a subresource streams in a format, and returns its size. The format is empty for a subresource that has one.
func (c *Client) DownloadAs(ctx context.Context, t Target, subresource, format string, to io.Writer) (int64, error) {
	r := c.rest.Get().RequestURI(t.Path() + "/" + subresource)
	if format != "" {
		r.Param("format", format)
	}
	body, err := r.Stream(ctx)
	if err != nil {
		t.Resource += "/" + subresource
		return 0, t.wrap("get", err)
	}
	defer body.Close()
	return io.Copy(to, body)
}
