package pod

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// namedSignals are the signals of Linux with a name, except real-time signals.
const namedSignals = "SIGABRT SIGALRM SIGBUS SIGCHLD SIGCLD SIGCONT SIGFPE SIGHUP SIGILL SIGINT SIGIO SIGIOT SIGKILL " +
	"SIGPIPE SIGPOLL SIGPROF SIGPWR SIGQUIT SIGRTMAX SIGRTMIN SIGSEGV SIGSTKFLT SIGSTOP SIGSYS SIGTERM SIGTRAP SIGTSTP " +
	"SIGTTIN SIGTTOU SIGURG SIGUSR1 SIGUSR2 SIGVTALRM SIGWINCH SIGXCPU SIGXFSZ"

// Names of real-time signals count from the lowest or from the highest one.
const (
	lastAboveMin = 15
	lastBelowMax = 14
)

// validSignals returns all valid stop signals in alphabetical order.
func validSignals() []corev1.Signal {
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

func knownSignal(signal corev1.Signal) bool { return slices.Contains(validSignals(), signal) }
