package kubectl

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func (o *options) install() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "install [--dir DIR]", Short: "Put kubectl-lab into PATH, so that kubectl finds it", Args: cobra.NoArgs,
		Long: `install makes the links kubectl-lab, which kubectl runs for "kubectl lab", and
kubectl_complete-lab, which kubectl runs to complete a command line, in a directory of
PATH. Both lead to this program. Without --dir it takes the first directory of PATH in
your home directory.`,
		Example: `  miniapiserver kubectl-lab install
  miniapiserver kubectl-lab install --dir /usr/local/bin`,
		RunE: func(*cobra.Command, []string) error {
			program, err := o.executable()
			if err != nil {
				return err
			}
			path := filepath.SplitList(o.getenv("PATH"))
			if dir == "" {
				if dir, err = ownDirectory(path, cmp.Or(o.getenv("HOME"), o.getenv("USERPROFILE"))); err != nil {
					return err
				}
			}
			if dir, err = filepath.Abs(dir); err != nil {
				return err
			}
			if err := makeLinks(dir, program); err != nil {
				return err
			}
			fmt.Fprintf(o.stdout, "Linked %s and %s to %s. Try: kubectl lab --help\n", filepath.Join(dir, Name), CompletionName, program)
			if !slices.Contains(path, dir) {
				o.note("%s is not in PATH: export PATH=%s:$PATH", dir, dir)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "Directory for the links.")
	return cmd
}

// ownDirectory returns the first directory of PATH that is in the home directory of the user.
func ownDirectory(path []string, home string) (string, error) {
	const separator = string(filepath.Separator)
	for _, dir := range path {
		if home == "" || !strings.HasPrefix(dir, strings.TrimSuffix(home, separator)+separator) {
			continue
		}
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir, nil
		}
	}
	return "", errors.New("no directory of PATH is in your home directory; name one with --dir, such as --dir /usr/local/bin")
}

// makeLinks makes the links to a program. It replaces symbolic links, and nothing else.
func makeLinks(dir, program string) error {
	for _, name := range []string{Name, CompletionName} {
		link := filepath.Join(dir, name+programSuffix)
		if isSameFile(link, program) {
			continue // called by that name, in that directory, or linked already
		}
		info, err := os.Lstat(link)
		switch {
		case err == nil && info.Mode()&os.ModeSymlink == 0:
			return fmt.Errorf("%s exists and is not a link; remove it first", link)
		case err == nil:
			if err := os.Remove(link); err != nil {
				return err
			}
		case !errors.Is(err, os.ErrNotExist):
			return err
		}
		if err := makeLink(program, link); err != nil {
			return err
		}
	}
	return nil
}

// isSameFile reports whether a path is that of a program or, on Windows, a link to it that is made already.
func isSameFile(link, program string) bool {
	if link == program {
		return true
	}
	old, err := os.Lstat(link)
	if err != nil {
		return false
	}
	own, err := os.Stat(program)
	return err == nil && os.SameFile(old, own)
}
