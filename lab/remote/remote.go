// Package remote is the lab of a server in another process, for programs that start as a fork of it: its checkpoints and their
// snapshots. Package server uses it for --fork-of.
package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// Lab is the lab of a server in another process.
type Lab struct {
	client *http.Client
	base   *url.URL
}

// checkpoints is the resource of Checkpoints.
const checkpoints = "checkpoints"

// ErrNoLab means that a server does not serve the group of the lab.
var ErrNoLab = errors.New("the server has no lab; start it with --lab")

// New returns the lab of the server that a client configuration names. It sends no request.
func New(config *rest.Config) (*Lab, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	return &Lab{client, base.JoinPath("apis", v1alpha1.GroupVersion.Group, v1alpha1.GroupVersion.Version)}, nil
}

// CreateCheckpoint creates a Checkpoint with a generated name, which it returns.
func (r *Lab) CreateCheckpoint(ctx context.Context) (name string, err error) {
	body, err := json.Marshal(&v1alpha1.Checkpoint{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Checkpoint"},
		ObjectMeta: metav1.ObjectMeta{GenerateName: "checkpoint-"},
	})
	if err != nil {
		return "", err
	}
	response, err := r.do(ctx, http.MethodPost, body, checkpoints)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var created v1alpha1.Checkpoint
	if err := json.NewDecoder(response.Body).Decode(&created); err != nil {
		return "", fmt.Errorf("reading the created checkpoint: %w", err)
	}
	return created.Name, nil
}

// DeleteCheckpoint deletes a Checkpoint.
func (r *Lab) DeleteCheckpoint(ctx context.Context, name string) error {
	response, err := r.do(ctx, http.MethodDelete, nil, checkpoints, name)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// Snapshot writes the state of a Checkpoint as an etcd snapshot.
func (r *Lab) Snapshot(ctx context.Context, name string, w io.Writer) error {
	response, err := r.do(ctx, http.MethodGet, nil, checkpoints, name, "snapshot")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(w, response.Body)
	return err
}

// maxStatus is the maximum size of the Status of a refused request, in bytes.
const maxStatus = 1 << 20

// do sends a request to a path below the group, and returns its response if that is a success.
func (r *Lab) do(ctx context.Context, method string, body []byte, path ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, r.base.JoinPath(path...).String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	response, err := r.client.Do(req)
	if err != nil || response.StatusCode < http.StatusBadRequest {
		return response, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxStatus))
	var status metav1.Status
	if err == nil && json.Unmarshal(text, &status) == nil && status.Kind == "Status" {
		return nil, &apierrors.StatusError{ErrStatus: status}
	}
	if response.StatusCode == http.StatusNotFound {
		return nil, ErrNoLab
	}
	return nil, errors.Join(err, errors.New(response.Status))
}
