package faults

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// clockShift is added to the wall clock of the process in seconds, once newClock has returned.
var clockShift atomic.Int64

// newClock changes how the process reads its clocks, and returns the function that sets the
// difference between its wall clock and the machine's. Programs read the clocks in a library that
// the kernel maps into each process, whose pages are private. The function clock_gettime in it
// is replaced by one that calls the kernel, and adds clockShift to the wall clock.
func newClock() (set func(time.Duration), err error) {
	library, err := mappedLibrary()
	if err != nil {
		return nil, err
	}
	file, err := elf.NewFile(bytes.NewReader(library))
	if err != nil {
		return nil, err
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return nil, err
	}
	find := func(name string) elf.Symbol {
		at := slices.IndexFunc(symbols, func(s elf.Symbol) bool { return s.Name == name })
		if at < 0 {
			return elf.Symbol{}
		}
		return symbols[at]
	}
	// The new function takes the place of one that Go does not call, so that threads that are in the
	// old one may leave it.
	from, to := find("__vdso_clock_gettime"), find("__vdso_gettimeofday")
	code := []byte{
		0xb8, unix.SYS_CLOCK_GETTIME, 0, 0, 0, // mov eax, SYS_clock_gettime
		0x0f, 0x05, // syscall
		0x85, 0xff, // test edi, edi; CLOCK_REALTIME is 0
		0x75, 0x10, // jnz the last instruction
		0x48, 0xb9, // mov rcx, the address of clockShift
	}
	code = binary.LittleEndian.AppendUint64(code, uint64(uintptr(unsafe.Pointer(&clockShift))))
	code = append(code,
		0x48, 0x8b, 0x09, // mov rcx, [rcx]
		0x48, 0x01, 0x0e, // add [rsi], rcx; the seconds
		0xc3) // ret
	jump := int64(to.Value) - int64(from.Value) - 5
	if from.Size < 8 || from.Value%8 != 0 || to.Size < uint64(len(code)) || jump != int64(int32(jump)) {
		return nil, fmt.Errorf("%w: the library is unknown", errors.ErrUnsupported)
	}
	if err := unix.Mprotect(library, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC); err != nil {
		return nil, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	copy(library[to.Value:], code)
	// jmp to the new function, in one store
	start := (*uint64)(unsafe.Pointer(&library[from.Value]))
	const instruction = 5
	text := binary.LittleEndian.AppendUint32([]byte{0xe9}, uint32(int32(jump)))
	text = append(text, library[from.Value+instruction:from.Value+8]...)
	atomic.StoreUint64(start, binary.LittleEndian.Uint64(text))
	return func(shift time.Duration) { clockShift.Store(int64(shift / time.Second)) }, nil
}

// mappedLibrary returns the library of the kernel in the memory of the process.
func mappedLibrary() ([]byte, error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(maps)); lines.Scan(); {
		if !strings.HasSuffix(lines.Text(), "[vdso]") {
			continue
		}
		var from, to uintptr
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x", &from, &to); err != nil || to-from > math.MaxUint16 {
			return nil, fmt.Errorf("%w: %q, %w", errors.ErrUnsupported, lines.Text(), err)
		}
		start := *(*unsafe.Pointer)(unsafe.Pointer(&from))
		return unsafe.Slice((*byte)(start), to-from), nil
	}
	return nil, fmt.Errorf("%w: the kernel maps no library", errors.ErrUnsupported)
}
