package faults

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A disk is made slow by a filter of system calls: the kernel asks a supervisor before each call
// that writes a file to the disk, and the call waits until the supervisor continues it. That needs
// no privileges. The supervisor is a part of the supervised process.

// notification is the question of the kernel to a supervisor, struct seccomp_notif.
type notification struct {
	id         uint64
	pid, flags uint32
	call       struct {
		number  int32
		arch    uint32
		pointer uint64
		args    [6]uint64
	}
}

// verdict is the answer of a supervisor, struct seccomp_notif_resp.
type verdict struct {
	id    uint64
	value int64
	err   int32
	flags uint32
}

// superviseSyncs makes all threads of the process ask a supervisor before they write a file to
// the disk. It returns the file descriptor of the supervisor.
func superviseSyncs() (int, error) {
	calls := []uint32{unix.SYS_FSYNC, unix.SYS_FDATASYNC}
	// The number of the call is at the start of struct seccomp_data.
	program := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}}
	for i, call := range calls {
		program = append(program, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: uint8(len(calls) - i), K: call})
	}
	program = append(program,
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF})
	runtime.LockOSThread() // the filter is passed on to the other threads
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	const flags = unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH | unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&filter)))
	if errno != 0 {
		return 0, fmt.Errorf("seccomp: %w", errno)
	}
	return int(fd), nil
}

// slowSyncs delays the calls that write files to the disk.
type slowSyncs struct {
	fd int

	mu      sync.Mutex // guards the fields below
	delay   time.Duration
	changed chan struct{} // closed when delay changes
}

// newSlowSyncs supervises the process, and returns the function that sets the delay.
func newSlowSyncs() (set func(time.Duration), err error) {
	fd, err := superviseSyncs()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	s := &slowSyncs{fd: fd, changed: make(chan struct{})}
	go s.supervise()
	return s.set, nil
}

// set changes the delay of the calls. Calls that wait for the previous delay continue.
func (s *slowSyncs) set(delay time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.delay, s.changed = delay, make(chan struct{})
}

// supervise answers the questions of the kernel as long as the process runs.
func (s *slowSyncs) supervise() {
	for {
		var n notification
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(s.fd), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n)))
		switch errno {
		case 0:
			go s.answer(n.id)
		case unix.EINTR, unix.ENOENT: // a signal interrupted one of both sides
		default:
			fmt.Fprintln(os.Stderr, "supervise:", errno)
			os.Exit(1)
		}
	}
}

func (s *slowSyncs) answer(id uint64) {
	s.mu.Lock()
	delay, changed := s.delay, s.changed
	s.mu.Unlock()
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-changed:
		}
	}
	v := verdict{id: id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(s.fd), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&v)))
	if errno != 0 && errno != unix.ENOENT { // a call that a signal interrupted asks again
		fmt.Fprintln(os.Stderr, "supervise:", errno)
		os.Exit(1)
	}
}
