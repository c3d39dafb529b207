package pod

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// namedSignals are those that Linux has a name for, besides the real-time ones.
const namedSignals = "SIGABRT SIGALRM SIGBUS SIGCHLD SIGCLD SIGCONT SIGFPE SIGHUP SIGILL SIGINT SIGIO SIGIOT SIGKILL " +
	"SIGPIPE SIGPOLL SIGPROF SIGPWR SIGQUIT SIGRTMAX SIGRTMIN SIGSEGV SIGSTKFLT SIGSTOP SIGSYS SIGTERM SIGTRAP SIGTSTP " +
	"SIGTTIN SIGTTOU SIGURG SIGUSR1 SIGUSR2 SIGVTALRM SIGWINCH SIGXCPU SIGXFSZ"

// Real-time signals are counted from both ends.
const (
	lastAboveMin = 15
	lastBelowMax = 14
)

// signals are all that a container can be stopped with, in alphabetical order.
func signals() []corev1.Signal {
	var all []corev1.Signal
	for _, name := range strings.Fields(namedSignals) {
		all = append(all, corev1.Signal(name))
	}
	for i := 1; i <= lastAboveMin; i++ {
		all = append(all, corev1.SIGRTMIN+corev1.Signal("+"+strconv.Itoa(i)))
	}
	for i := 1; i <= lastBelowMax; i++ {
		all = append(all, corev1.SIGRTMAX+corev1.Signal("-"+strconv.Itoa(i)))
	}
	slices.Sort(all)
	return all
}

func knownSignal(signal corev1.Signal) bool { return slices.Contains(signals(), signal) }
