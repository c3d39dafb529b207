package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// TestOutputJSON checks that one line of JSON leads programs to the server, and that the server
// stops when its standard input ends.
func TestOutputJSON(t *testing.T) {
	p := command(t, "--ephemeral", "--secure-port=0", "--insecure-port=-1", "--lab", "--output=json", "--stdin-lifetime")
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	p.stdout = bufio.NewReader(out)
	line, err := p.stdout.ReadBytes('\n')
	if err != nil {
		t.Fatalf("%v; stderr: %s", err, p.stderr.String())
	}
	var ready struct {
		URL, InsecureURL, CA, Token, Kubeconfig, LabPage string
		PID                                              int
	}
	if err := json.Unmarshal(line, &ready); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	if ready.PID != p.Process.Pid {
		t.Errorf("the pid is %d, want %d", ready.PID, p.Process.Pid)
	}
	file, err := clientcmd.BuildConfigFromFlags("", ready.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	token := &rest.Config{Host: ready.URL, BearerToken: ready.Token, TLSClientConfig: rest.TLSClientConfig{CAData: []byte(ready.CA)}}
	if !strings.HasPrefix(ready.LabPage, "http://127.0.0.1:") {
		t.Errorf("the page of the lab is at %q", ready.LabPage)
	}
	plain := &rest.Config{Host: ready.InsecureURL}
	for name, config := range map[string]*rest.Config{"kubeconfig": file, "url, ca and token": token, "insecureURL": plain} {
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
			t.Errorf("with %s: %v", name, err)
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if rest, err := p.stdout.ReadString('\n'); rest != "" || err == nil {
		t.Errorf("there is more than one line: %q", rest)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("the server ends with %v; stderr: %s", err, p.stderr.String())
	}
	if _, err := os.Stat(ready.Kubeconfig); !os.IsNotExist(err) {
		t.Errorf("the server left %s: %v", ready.Kubeconfig, err)
	}
}

// TestContentionProfiling checks that the block profile has samples with --contention-profiling
// alone.
func TestContentionProfiling(t *testing.T) {
	for _, wanted := range []bool{false, true} {
		p := command(t, "--ephemeral", "--secure-port=0", "--output=json", "--stdin-lifetime", fmt.Sprintf("--contention-profiling=%v", wanted))
		in, err := p.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		out, err := p.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		launch(t, p)
		var ready struct{ URL, CA, Token string }
		if err := json.NewDecoder(out).Decode(&ready); err != nil {
			t.Fatal(err)
		}
		client, err := kubernetes.NewForConfig(&rest.Config{Host: ready.URL, BearerToken: ready.Token, TLSClientConfig: rest.TLSClientConfig{CAData: []byte(ready.CA)}})
		if err != nil {
			t.Fatal(err)
		}
		profile, err := client.Discovery().RESTClient().Get().AbsPath("/debug/pprof/block").Param("debug", "1").DoRaw(t.Context())
		if err != nil || !strings.HasPrefix(string(profile), "--- contention:") {
			t.Fatalf("%s, %v", profile, err)
		}
		if has := strings.Contains(string(profile), " @ 0x"); has != wanted {
			t.Errorf("--contention-profiling=%v: %s", wanted, profile)
		}
	}
}
