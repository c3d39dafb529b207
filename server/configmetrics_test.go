package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/configmetrics"
)

// TestConfigurationMetrics checks that /metrics has the hashes of the configurations of
// authentication and authorization, and the reloads of both files.
func TestConfigurationMetrics(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const (
		header = "apiVersion: apiserver.config.k8s.io/v1\nkind: "
		who    = header + "AuthenticationConfiguration\njwt: []\n"
		may    = header + "AuthorizationConfiguration\nauthorizers:\n- {type: AlwaysAllow, name: all}\n"
	)
	s := run(t, Options{
		Authentication: Authentication{ConfigFile: write("authentication", who)},
		Authorization:  Authorization{ConfigFile: write("authorization", may)},
	})
	me := `apiserver_id_hash="` + configmetrics.Hash(s.serverID) + `"`
	shows := func(configurations map[string]string, reloads string) func(map[string]string) bool {
		return func(all map[string]string) bool {
			for subject, content := range configurations {
				prefix := "apiserver_" + subject + "_config_controller_"
				if all[prefix+"last_config_info{"+me+`,hash="`+configmetrics.Hash(content)+`"}`] != "1" ||
					all[prefix+"automatic_reloads_total{"+me+`,status="success"}`] != reloads {
					return false
				}
			}
			return true
		}
	}
	await := func(condition func(map[string]string) bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			all := series(t, s)
			if condition(all) {
				return
			}
			if time.Now().After(deadline) {
				for name, value := range all {
					if strings.Contains(name, "_config_controller_") {
						t.Log(name, value)
					}
				}
				t.Fatal("the metrics are not as expected")
			}
		}
	}
	await(shows(map[string]string{"authentication": who, "authorization": may}, ""))
	write("authentication", who+"# changed\n")
	write("authorization", may+"# changed\n")
	await(shows(map[string]string{"authentication": who + "# changed\n", "authorization": may + "# changed\n"}, "1"))
}
