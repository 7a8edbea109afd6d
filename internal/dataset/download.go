package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"ebsscgo/internal/safefile"
)

// remote is a file to download, with what its bytes must be.
type remote struct {
	url    string
	size   int64
	sha256 string
}

// waits are the pauses before each try. idleTimeout is how long a connection may bring nothing, and
// sayEvery the time between two lines about progress. Variables, so that tests wait less.
var (
	waits       = []time.Duration{0, time.Second / 2, time.Second, 2 * time.Second, 4 * time.Second}
	idleTimeout = 20 * time.Second
	sayEvery    = 10 * time.Second
)

// enough is the number of bytes after which the tries are counted anew.
const enough = 1 << 20

// download returns the bytes of a file, whose size and SHA-256 are as pinned. It keeps what has
// arrived in the file part until all is there: the next try goes on from there, and so does the
// next download after this one failed or was stopped. The error is ErrUnavailable unless ctx ended
// or part cannot be written.
func (r remote) download(ctx context.Context, part string, log io.Writer) ([]byte, error) {
	err := os.MkdirAll(filepath.Dir(part), 0o755)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	t := transfer{remote: r, file: file, at: info.Size(), joined: info.Size() > 0, log: log}
	fmt.Fprintf(log, "downloading %s (%d MB)", r.url, r.size/1e6)
	if t.joined {
		fmt.Fprintf(log, ", of which %d MB are here", t.at/1e6)
	}
	fmt.Fprintln(log)
	again := true
	for try := 0; try < len(waits) && again; try++ {
		select {
		case <-ctx.Done():
		case <-time.After(waits[try]):
		}
		if try > 0 {
			fmt.Fprintf(log, "%v; trying again\n", err)
		}
		before := t.at
		var content []byte
		if content, again, err = t.get(ctx); err == nil {
			return content, os.Remove(part)
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("downloading %s: %w", r.url, ctx.Err())
		}
		if errors.As(err, new(*fs.PathError)) { // of the file
			return nil, err
		}
		if t.at >= before+enough {
			try = 0
		}
	}
	return nil, fmt.Errorf("%s %w: %w", r.url, ErrUnavailable, err)
}

// transfer is a download in progress.
type transfer struct {
	remote
	file   *os.File
	at     int64 // bytes in the file
	joined bool  // from several answers
	log    io.Writer
}

// begin empties the file.
func (t *transfer) begin() error {
	t.at, t.joined = 0, false
	return t.file.Truncate(0)
}

// get asks once for the bytes that are missing, and returns the whole file. On an error, again
// reports whether another try may go better: not without a connection, nor if the server answered
// that it has no such file, or has another one.
func (t *transfer) get(ctx context.Context) (content []byte, again bool, err error) {
	if t.at > t.size {
		if err := t.begin(); err != nil {
			return nil, false, err
		}
	}
	if t.at < t.size {
		if again, err = t.fill(ctx); err != nil {
			return nil, again, err
		}
	}
	content = make([]byte, t.size)
	_, err = t.file.ReadAt(content, 0)
	if sum := safefile.Sum(content); err == nil && sum != t.sha256 {
		again = t.joined // parts of two files give neither
		if err = t.begin(); err == nil {
			err = fmt.Errorf("other bytes than expected: their SHA-256 is %s, not %s", sum, t.sha256)
		}
		return nil, again, err
	}
	return content, false, err
}

// fill asks once for the bytes that are missing, and appends to the file what the answer brings.
func (t *transfer) fill(ctx context.Context) (again bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := func() { cancel(fmt.Errorf("no data for %v", idleTimeout)) }
	idle := time.AfterFunc(idleTimeout, stop)
	defer idle.Stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url, nil)
	if err != nil {
		return false, err
	}
	request.Header.Set("Accept-Encoding", "identity") // sizes are those of the file
	if t.at > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", t.at))
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		failed := new(net.OpError)
		return !errors.As(err, &failed) || failed.Op != "dial", err
	}
	defer response.Body.Close()
	switch code := response.StatusCode; {
	case code == http.StatusPartialContent && t.at > 0:
		rest := fmt.Sprintf("bytes %d-%d/%d", t.at, t.size-1, t.size)
		if got := response.Header.Get("Content-Range"); got != rest {
			return true, errors.Join(t.begin(),
				fmt.Errorf("other bytes than expected: %.60q, not %q", got, rest))
		}
		t.joined = true
	case code == http.StatusRequestedRangeNotSatisfiable && t.at > 0:
		return true, errors.Join(t.begin(), fmt.Errorf("the server answered %s", response.Status))
	case code != http.StatusOK:
		return code >= 500 || code == http.StatusTooManyRequests,
			fmt.Errorf("the server answered %s", response.Status)
	case response.ContentLength >= 0 && response.ContentLength != t.size:
		return false, fmt.Errorf("other bytes than expected: %d, not %d",
			response.ContentLength, t.size)
	default: // the server sends all of it
		if err := t.begin(); err != nil {
			return false, err
		}
	}
	return t.receive(ctx, response.Body, func() { idle.Reset(idleTimeout) })
}

// receive appends a body to the file. It calls arrived whenever bytes came.
func (t *transfer) receive(
	ctx context.Context, body io.Reader, arrived func(),
) (again bool, err error) {
	began, from := time.Now(), t.at
	said, buffer := began, make([]byte, 1<<16)
	for t.at < t.size {
		count, err := body.Read(buffer[:min(int64(len(buffer)), t.size-t.at)])
		if count > 0 {
			arrived()
			if _, err := t.file.WriteAt(buffer[:count], t.at); err != nil {
				return false, err
			}
			t.at += int64(count)
		}
		if err != nil && t.at < t.size {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return true, fmt.Errorf("broke off after %d of %d bytes: %w", t.at, t.size, err)
		}
		if now := time.Now(); now.Sub(said) >= sayEvery {
			said = now
			fmt.Fprintf(t.log, "%d of %d MB (%d %%), %v left\n", t.at/1e6, t.size/1e6,
				100*t.at/t.size, timeLeft(now.Sub(began), t.at-from, t.size-t.at))
		}
	}
	return false, nil
}

// timeLeft returns how long the rest takes if it goes on as what is done did, in whole seconds.
func timeLeft(taken time.Duration, done, rest int64) time.Duration {
	return time.Duration(float64(taken) * float64(rest) / float64(done)).Round(time.Second)
}
