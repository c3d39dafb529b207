package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/goleak"

	"github.com/miniapiserver/miniapiserver/server"
)

// Processes that the tests kill are copies of the test binary; an environment variable selects
// their role.
const (
	roleEnv   = "FAULTS_ROLE"
	configEnv = "FAULTS_CONFIG"

	roleMember = "member"
	roleServer = "server"
	// roleSlowServer is a server whose disk can be slow.
	roleSlowServer = "slow server"
	// roleClockServer is a server whose wall clock can jump.
	roleClockServer = "clock server"
)

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleEnv); role {
	case "":
		goleak.VerifyTestMain(m)
	case roleMember:
		exit(runMember([]byte(os.Getenv(configEnv))))
	case roleServer:
		exit(runServer([]byte(os.Getenv(configEnv))))
	case roleSlowServer:
		exit(runAdjustable([]byte(os.Getenv(configEnv)), newSlowSyncs))
	case roleClockServer:
		exit(runAdjustable([]byte(os.Getenv(configEnv)), newClock))
	default:
		exit(fmt.Errorf("no role %s", role))
	}
}

// exit exits a process that should have run until it was killed.
func exit(err error) {
	fmt.Fprintln(os.Stderr, "ended:", err)
	os.Exit(1)
}

// child returns a process with a role.
func child(t *testing.T, role string, config any) *exec.Cmd {
	t.Helper()
	data, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), roleEnv+"="+role, configEnv+"="+string(data))
	cmd.Stderr = os.Stderr
	return cmd
}

// memberConfig is the configuration of an etcd member.
type memberConfig struct {
	Name, Dir, ClientURL, PeerURL, Cluster string
	Quota                                  int64
}

func runMember(data []byte) error {
	var c memberConfig
	if err := json.Unmarshal(data, &c); err != nil {
		return err
	}
	clientURL, err := url.Parse(c.ClientURL)
	if err != nil {
		return err
	}
	peerURL, err := url.Parse(c.PeerURL)
	if err != nil {
		return err
	}
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir, cfg.InitialCluster = c.Name, c.Dir, c.Cluster
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{*clientURL}, []url.URL{*clientURL}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{*peerURL}, []url.URL{*peerURL}
	cfg.LogLevel, cfg.UnsafeNoFsync = "panic", true
	cfg.QuotaBackendBytes = c.Quota
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	return <-e.Err()
}

// runServer runs an API server on a directory, prints its address, and runs until it is killed.
func runServer(data []byte) error {
	var o server.Options
	if err := json.Unmarshal(data, &o); err != nil {
		return err
	}
	s, err := server.Start(context.Background(), o)
	if err != nil {
		return err
	}
	fmt.Println("ready", s.URL, s.Token)
	<-s.Done()
	return s.Err()
}

// factor returns FAULTS_FACTOR.
func factor() int {
	if n, err := strconv.Atoi(os.Getenv("FAULTS_FACTOR")); err == nil && n > 0 {
		return n
	}
	return 1
}

// patience is the time limit of waits.
const patience = 30 * time.Second
