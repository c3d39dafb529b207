package compressed

import (
	"errors"
	"io"
	"sort"
)

// reader reads a sequence of segments and holds one of them at a time.
type reader struct {
	ends []int64 // where each segment ends
	get  func(i int) ([]byte, error)

	at      int64
	have    int // the segment in current; -1 for none
	current []byte
}

func newReader(n int, size func(i int) int64, get func(i int) ([]byte, error)) *reader {
	r := &reader{ends: make([]int64, n), get: get, have: -1}
	var total int64
	for i := range n {
		total += size(i)
		r.ends[i] = total
	}
	return r
}

func (r *reader) size() int64 {
	if len(r.ends) == 0 {
		return 0
	}
	return r.ends[len(r.ends)-1]
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if r.at >= r.size() {
		return 0, io.EOF
	}
	i := r.have
	if i < 0 || r.at >= r.ends[i] || r.at < r.ends[i]-int64(len(r.current)) {
		i = sort.Search(len(r.ends), func(i int) bool { return r.at < r.ends[i] })
		r.have = -1
		current, err := r.get(i)
		if err != nil {
			return 0, err
		}
		r.have, r.current = i, current
	}
	n := copy(p, r.current[int64(len(r.current))-(r.ends[i]-r.at):])
	r.at += int64(n)
	return n, nil
}

// Seek implements io.Seeker.
func (r *reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.size()
	}
	if offset < 0 {
		return 0, errors.New("seek to before the beginning")
	}
	r.at = offset
	return offset, nil
}
