package process

import (
	"os"
	"testing"
)

// TestSums checks that the CPU time and the memory of processes are added, and the error for a
// process that does not exist.
func TestSums(t *testing.T) {
	one, two := Self(), Self()
	two.pids = append(two.pids, two.pids...)
	single, err1 := one.RSS()
	double, err2 := two.RSS()
	if err1 != nil || err2 != nil || single < 1<<20 || double < single*3/2 {
		t.Errorf("memory %d of one process, %d of two: %v %v", single, double, err1, err2)
	}
	if _, err := one.CPU(); err != nil {
		t.Error(err)
	}
	read, _, err1 := one.Transferred()
	if _, err := os.ReadFile("/proc/self/stat"); err != nil {
		t.Fatal(err)
	}
	later, _, err2 := one.Transferred()
	if err1 != nil || err2 != nil || later <= read {
		t.Errorf("read %d bytes, and %d after another file: %v %v", read, later, err1, err2)
	}
	if _, err := Attach("0"); err == nil {
		t.Error("no error for a process that does not exist")
	}
}

// TestStartServer checks the error for a program that ends before it is ready.
func TestStartServer(t *testing.T) {
	if _, _, err := StartServer(t.Context(), "true"); err == nil {
		t.Error("no error for a program that is no server")
	}
}
