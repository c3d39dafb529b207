package handlers

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/miniapiserver/miniapiserver/request"
)

// runningFaults reports the long-running requests that it attends.
type runningFaults chan *request.Running

func (runningFaults) For(*http.Request, *request.Scope) *request.Fault { return nil }

func (f runningFaults) Attend(_ *http.Request, s *request.Scope) (*request.Fault, func()) {
	f <- s.Running
	return nil, func() {}
}

// TestFaultsCutConnections checks that a fault breaks off a followed log and an upgraded connection that are idle.
func TestFaultsCutConnections(t *testing.T) {
	running := make(runningFaults, 1)
	backend := func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/exec") {
			upgrade(w, r)
		} else {
			echo(w, r)
		}
	}
	_, front := newCluster(t, backend, func(c *Config) { c.Faults = running })
	fault := &request.Fault{Name: "cut", LosesRequest: true}

	response, err := front.Client().Get(front.URL + "/api/v1/namespaces/ns/pods/p/log?follow=1")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	in := bufio.NewReader(response.Body)
	if line, err := in.ReadString('\n'); line != "first\n" {
		t.Fatalf("%q (%v)", line, err)
	}
	(<-running).Meet([]*request.Fault{fault})
	if _, err := in.ReadByte(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the log ended with %v", err)
	}

	conn, err := net.Dial("tcp", front.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST /api/v1/namespaces/ns/pods/p/exec?command=ls&stdout=1 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
	in = bufio.NewReader(conn)
	if response, err := http.ReadResponse(in, nil); err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(response, err)
	}
	(<-running).Meet([]*request.Fault{fault})
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := in.ReadByte(); err == nil || errors.Is(err, net.ErrClosed) || isTimeout(err) {
		t.Errorf("the upgraded connection ended with %v", err)
	}

	socket, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(front.URL, "http")+"/api/v1/namespaces/ns/pods/p/log?follow=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	(<-running).Meet([]*request.Fault{fault})
	_ = socket.SetReadDeadline(time.Now().Add(10 * time.Second))
	for err == nil {
		_, _, err = socket.ReadMessage()
	}
	if isTimeout(err) {
		t.Errorf("the log over a WebSocket ended with %v", err)
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
