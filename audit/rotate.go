package audit

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/coldsort"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/internal/safefile"
)

// rotatedFile is a log file that is renamed and replaced when it is full. The names of the
// rotated files, NAME-TIME.EXTENSION and NAME-TIME.EXTENSION.gz, are those of
// gopkg.in/natefinch/lumberjack, which kube-apiserver uses. It is not used here because
// its goroutine cannot be ended, it loses lines longer than the maximum size, and it
// replaces a file that was rotated in the same millisecond.
type rotatedFile struct {
	path     string
	maxSize  int64 // in bytes; 0 means no limit
	backups  int
	age      time.Duration
	compress bool
	now      func() time.Time
	faults   *faultLog

	mu   sync.Mutex // guards the fields below, and the order of writes
	file *os.File
	size int64
	// torn is set if the last line was written in part, as happens if the disk is full.
	torn bool

	tidying sync.Mutex     // held while rotated files are deleted and compressed
	wg      sync.WaitGroup // has the goroutines that do that
}

// backupTime is the format of the time in the name of a rotated file.
const backupTime = "2006-01-02T15-04-05.000"

const gzSuffix = ".gz"

// openRotated opens or creates the file.
func openRotated(c *LogConfig, now func() time.Time, faults *faultLog) (*rotatedFile, error) {
	f := &rotatedFile{path: c.Path, maxSize: int64(c.MaxSize) << 20, backups: c.MaxBackups,
		age: time.Duration(c.MaxAge) * 24 * time.Hour, compress: c.Compress, now: now, faults: faults}
	var err error
	if f.file, err = safefile.OpenAppend(f.path); err != nil {
		return nil, err
	}
	info, err := f.file.Stat()
	if err != nil {
		return nil, errors.Join(err, f.file.Close())
	}
	f.size = info.Size()
	return f, nil
}

// Write writes a line. A line that does not fit begins a new file.
func (f *rotatedFile) Write(line []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.maxSize > 0 && f.size > 0 && f.size+int64(len(line)) > f.maxSize {
		if err := f.rotate(); err != nil {
			f.faults.report(nameLog, fmt.Errorf("rotate: %w", err)) // the line still goes to the old file
		}
	}
	if f.torn {
		n, err := f.file.Write([]byte{'\n'})
		if f.size += int64(n); err != nil {
			return 0, err
		}
	}
	n, err := f.file.Write(line)
	f.size += int64(n)
	f.torn = err != nil && (n > 0 || f.torn)
	return n, err
}

// Close closes the file after rotated files are compressed.
func (f *rotatedFile) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wg.Wait()
	return f.file.Close()
}

// rotate renames the file, unless something else has done so, and opens a new one. If it
// fails, the old one stays.
func (f *rotatedFile) rotate() error {
	backup := f.backupPath()
	if err := os.Rename(f.path, backup); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := safefile.OpenAppend(f.path)
	if err != nil {
		return errors.Join(err, os.Rename(backup, f.path))
	}
	old := f.file
	f.file, f.size, f.torn = file, 0, false
	f.wg.Go(func() {
		var err error
		if panicked := recovery.Call(f.faults.logger, "rotating the audit log", func() { err = f.tidy() }); panicked != nil || err != nil {
			f.faults.report(nameLog, fmt.Errorf("rotate: %w", errors.Join(panicked, err)))
		}
	})
	return old.Close()
}

// nameParts returns the parts of the names of rotated files before and after the time.
func (f *rotatedFile) nameParts() (prefix, extension string) {
	name := filepath.Base(f.path)
	extension = filepath.Ext(name)
	return strings.TrimSuffix(name, extension) + "-", extension
}

// backupPath returns a new path for the file.
func (f *rotatedFile) backupPath() string {
	prefix, extension := f.nameParts()
	for t := f.now().UTC(); ; t = t.Add(time.Millisecond) {
		path := filepath.Join(filepath.Dir(f.path), prefix+t.Format(backupTime)+extension)
		if !exists(path) && !exists(path+gzSuffix) {
			return path
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// rotated is a rotated file.
type rotated struct {
	path string
	at   time.Time
}

// tidy deletes and compresses rotated files.
func (f *rotatedFile) tidy() error {
	f.tidying.Lock()
	defer f.tidying.Unlock()
	files, err := f.rotatedFiles()
	if err != nil {
		return err
	}
	var errs []error
	for i, r := range files {
		switch {
		case f.backups > 0 && i >= f.backups, f.age > 0 && f.now().Sub(r.at) > f.age:
			errs = append(errs, os.Remove(r.path))
		case f.compress && !strings.HasSuffix(r.path, gzSuffix):
			errs = append(errs, compressFile(r.path))
		}
	}
	return errors.Join(errs...)
}

// rotatedFiles returns the rotated files from the newest to the oldest.
func (f *rotatedFile) rotatedFiles() (files []rotated, err error) {
	dir := filepath.Dir(f.path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	prefix, extension := f.nameParts()
	for _, e := range entries {
		rest, isOurs := strings.CutPrefix(strings.TrimSuffix(e.Name(), gzSuffix), prefix)
		text, ok := strings.CutSuffix(rest, extension)
		at, err := time.Parse(backupTime, text)
		if isOurs && ok && err == nil && e.Type().IsRegular() {
			files = append(files, rotated{filepath.Join(dir, e.Name()), at})
		}
	}
	coldsort.Func(files, func(a, b rotated) int { return b.at.Compare(a.at) })
	return files, nil
}

// compressFile replaces a file by a compressed one. After a crash either the file or the
// compressed one is complete.
func compressFile(path string) error {
	if err := writeCompressed(path+gzSuffix, path); err != nil {
		return err
	}
	return os.Remove(path)
}

func writeCompressed(to, from string) error {
	in, err := safefile.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := safefile.Create(to)
	if err != nil {
		return err
	}
	defer out.Discard()
	z := gzip.NewWriter(out)
	_, err = io.Copy(z, in)
	if err = errors.Join(err, z.Close()); err != nil {
		return err
	}
	return out.Commit(0o600, true)
}
