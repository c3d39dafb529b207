package main

import (
	"crypto/tls"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestMany checks that the command says how to reach its servers, that they start, and that it leaves nothing behind.
func TestMany(t *testing.T) {
	p, said := start(t, "many", "--count", "1000", "--secure-port", "0")
	url := regexp.MustCompile(`https://\S+/servers/1000`).FindString(said)
	if url == "" {
		t.Fatalf("no URL in %s", said)
	}
	waitWith(t, p, &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}, url+"/readyz")
	file := regexp.MustCompile(`--kubeconfig (\S+)`).FindStringSubmatch(said)[1]
	config, err := os.ReadFile(file)
	if err != nil || strings.Count(string(config), "server: https://") != 1000 {
		t.Errorf("%s: %v", config, err)
	}
	logs, err := filepath.Glob(filepath.Join(filepath.Dir(file), "servers", "1000", "etcd", "member", "wal", "*"))
	if err != nil || len(logs) == 0 {
		t.Errorf("no log: %v", err)
	}
	for _, log := range logs {
		if info, err := os.Stat(log); err != nil || info.Size() > 4<<20 {
			t.Errorf("%s: %v, %v", log, info, err)
		}
	}
	if code := stop(t, p, syscall.SIGTERM); code != 0 {
		t.Errorf("status %d: %s", code, p.stderr.String())
	}
	if _, err := os.Stat(filepath.Dir(file)); !os.IsNotExist(err) {
		t.Errorf("the directory is left: %v", err)
	}
}
