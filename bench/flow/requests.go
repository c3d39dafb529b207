package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
)

// request is a measured request.
type request struct {
	name string
	// stays is the maximum number of stays in files.
	stays int
	// send sends the request and returns when the response is read. n is different in each
	// call.
	send func(ctx context.Context, s *running, n int) error
}

const (
	configMaps  = "/api/v1/namespaces/default/configmaps"
	deployments = "/apis/apps/v1/namespaces/default/deployments"

	mediaJSON  = "application/json"
	mediaApply = "application/apply-patch+yaml"
)

// requests returns the measured requests. The account of a request (package request), which a server with a lab keeps, is asked in
// every layer, and each cache whether a late view of it is wanted; without a lab both are nil, and the stays in their files end at once.
func requests() []request {
	return []request{
		{"GET", 72, func(ctx context.Context, s *running, _ int) error {
			return s.do(ctx, http.MethodGet, configMaps+"/read", "", "")
		}},
		{"LIST", 97, func(ctx context.Context, s *running, _ int) error {
			return s.do(ctx, http.MethodGet, configMaps, "", "")
		}},
		{"WATCH", 116, watchOne},
		{"CREATE", 173, func(ctx context.Context, s *running, n int) error {
			return s.do(ctx, http.MethodPost, configMaps, mediaJSON, configMap(fmt.Sprintf("created-%d", n), n))
		}},
		{"APPLY", 191, func(ctx context.Context, s *running, n int) error {
			return s.do(ctx, http.MethodPatch, configMaps+"/applied?fieldManager=flow", mediaApply, configMap("applied", n))
		}},
		{"APPLY (other fields)", 206, func(ctx context.Context, s *running, n int) error {
			return s.do(ctx, http.MethodPatch, configMaps+"/changing?fieldManager=flow", mediaApply, otherFields("changing", n))
		}},
		{"APPLY (Deployment)", 218, func(ctx context.Context, s *running, n int) error {
			return s.do(ctx, http.MethodPatch, deployments+"/applied?fieldManager=flow", mediaApply, deployment("applied", n))
		}},
	}
}

// prepare creates the object that is read.
func prepare(ctx context.Context, s *running) error {
	return s.do(ctx, http.MethodPost, configMaps, mediaJSON, configMap("read", 0))
}

// watchOne starts a watch, and ends it after its first event.
func watchOne(ctx context.Context, s *running, _ int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := s.send(ctx, http.MethodGet, configMaps+"?watch=1&resourceVersion=0", "", "")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = bufio.NewReader(resp.Body).ReadString('\n')
	return err
}

func configMap(name string, n int) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":{"n":"%d"}}`, name, n)
}

// otherFields is a ConfigMap with a field that it had for no other n.
func otherFields(name string, n int) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":{"n%d":"1"}}`, name, n)
}

func deployment(name string, n int) string {
	return fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%q},"spec":{"replicas":%d,
	"selector":{"matchLabels":{"app":"a"}},"template":{"metadata":{"labels":{"app":"a"}},
	"spec":{"containers":[{"name":"c","image":"image"}]}}}}`, name, n)
}
