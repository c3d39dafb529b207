package main

import (
	"fmt"
	"os"
	"strings"
	"text/template"
)

// formula is the formula of Homebrew for the archives of a release.
var formula = template.Must(template.New("formula").Parse(`class Miniapiserver < Formula
  desc "Kubernetes API server in one binary, with etcd inside"
  homepage "https://github.com/miniapiserver/miniapiserver"
  version "{{.Version}}"
  license "Apache-2.0"
{{range .Systems}}
  on_{{.Name}} do
{{- range .Archives}}
    on_{{.CPU}} do
      url "{{.URL}}"
      sha256 "{{.SHA256}}"
    end
{{- end}}
  end
{{end}}
  def install
    bin.install "miniapiserver"
    man1.install "miniapiserver.1"
    bash_completion.install "completions/miniapiserver.bash" => "miniapiserver"
    zsh_completion.install "completions/miniapiserver.zsh" => "_miniapiserver"
    fish_completion.install "completions/miniapiserver.fish"
  end

  test do
    assert_match "Kubernetes", shell_output("#{bin}/miniapiserver version")
  end
end
`))

// formulaSystem is a system with its archives.
type formulaSystem struct {
	Name     string
	Archives []formulaArchive
}

type formulaArchive struct{ CPU, URL, SHA256 string }

// writeFormula writes the formula for the archives that are to be at a URL.
func writeFormula(to, url string, r *release) error {
	names := map[string]string{"darwin": "macos", "linux": "linux", "amd64": "intel", "arm64": "arm"}
	systems := []formulaSystem{{Name: "macos"}, {Name: "linux"}}
	for _, p := range r.programs {
		sum, err := p.archiveSum(r.dir)
		if err != nil {
			return err
		}
		for i := range systems {
			if systems[i].Name == names[p.goos] {
				systems[i].Archives = append(systems[i].Archives, formulaArchive{names[p.goarch], url + "/" + p.archive(), sum})
			}
		}
	}
	var b strings.Builder
	if err := formula.Execute(&b, map[string]any{"Version": r.version, "Systems": systems}); err != nil {
		return fmt.Errorf("the formula: %w", err)
	}
	return os.WriteFile(to, []byte(b.String()), 0o644)
}
