package safefile

import (
	"fmt"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/windows"
)

// openItself opens a file and not the target of a link. Windows has no flag for that, so the file is looked at first.
func openItself(path string, flags int, mode os.FileMode) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink != 0 {
		return nil, &os.PathError{Op: "open", Path: path, Err: syscall.ELOOP}
	}
	return os.OpenFile(path, flags, mode)
}

// The users who may always change a file: the system, and the group of administrators, which owns what a process with
// their rights creates.
const (
	system         = "S-1-5-18"
	administrators = "S-1-5-32-544"
)

// makePrivate gives this user, the system and administrators all rights to a file or a directory and what is created
// in it, and nobody else any. Windows ignores the mode with which a file is created.
func makePrivate(path string) error {
	user, err := currentUser()
	if err != nil {
		return err
	}
	rights := "D:P"
	for _, sid := range []string{user, system, administrators} {
		rights += "(A;OICI;FA;;;" + sid + ")"
	}
	descriptor, err := windows.SecurityDescriptorFromString(rights)
	if err != nil {
		return fmt.Errorf("the rights to %s: %w", path, err)
	}
	list, _, err := descriptor.DACL()
	if err == nil {
		err = windows.SetNamedSecurityInfo(path, windows.SE_FILE_OBJECT,
			windows.DACL_SECURITY_INFORMATION|windows.PROTECTED_DACL_SECURITY_INFORMATION, nil, nil, list, nil)
	}
	if err != nil {
		return fmt.Errorf("the rights to %s: %w", path, err)
	}
	return nil
}

// checkOwner returns an error unless this user, the system or the administrators own a file or a directory. It does
// not look at the rights of others: a directory has those of the one above it unless makePrivate made it.
func checkOwner(path string, _ os.FileInfo) error {
	owner, err := ownerOf(path)
	if err != nil {
		return err
	}
	user, err := currentUser()
	if err != nil {
		return err
	}
	if !slices.Contains([]string{user, system, administrators}, owner) {
		return fmt.Errorf("%s belongs to user %s, and this process runs as user %s: use one of your own, or change its owner", path, owner, user)
	}
	return nil
}

// isOwn reports whether the process's user owns a file.
func isOwn(path string, info os.FileInfo) bool { return checkOwner(path, info) == nil }

// ownerOf returns the security identifier of the owner of a file.
func ownerOf(path string) (string, error) {
	descriptor, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return "", fmt.Errorf("the owner of %s: %w", path, err)
	}
	owner, _, err := descriptor.Owner()
	if err != nil {
		return "", fmt.Errorf("the owner of %s: %w", path, err)
	}
	return owner.String(), nil
}

// currentUser returns the security identifier of the user of this process.
func currentUser() (string, error) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return "", fmt.Errorf("the user of this process: %w", err)
	}
	return user.User.Sid.String(), nil
}

// syncDir does nothing: Windows has no call that makes the names in a directory durable.
func syncDir(string) error { return nil }
