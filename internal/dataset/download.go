package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"ebsscgo/internal/safefile"
)

type remote struct {
	url    string
	size   int64
	sha256 string
}

// waits are the pauses before each try. idleTimeout is how long a connection may bring nothing. Tests wait less.
var (
	waits       = []time.Duration{0, time.Second / 2, time.Second, 2 * time.Second, 4 * time.Second}
	idleTimeout = 20 * time.Second
)

// download returns the bytes of a file, whose size and SHA-256 are as pinned. The error is ErrUnavailable unless ctx ended.
func (r remote) download(ctx context.Context, log io.Writer) (content []byte, err error) {
	fmt.Fprintf(log, "downloading %s (%d MB)\n", r.url, r.size/1e6)
	again := true
	for try := 0; try < len(waits) && again; try++ {
		select {
		case <-ctx.Done():
		case <-time.After(waits[try]):
		}
		if content, again, err = r.get(ctx); err == nil {
			return content, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("downloading %s: %w", r.url, ctx.Err())
		}
	}
	return nil, fmt.Errorf("%s %w: %w", r.url, ErrUnavailable, err)
}

// get asks for the file once. On an error, again says whether another try may go better: not without a connection, nor if the server has
// answered that it has no such file, or has another one.
func (r remote) get(ctx context.Context) (content []byte, again bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(idleTimeout, func() { cancel(fmt.Errorf("no data for %v", idleTimeout)) })
	defer idle.Stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url, nil)
	if err != nil {
		return nil, false, err
	}
	request.Header.Set("Accept-Encoding", "identity") // sizes are those of the file
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		failed := new(net.OpError)
		return nil, !errors.As(err, &failed) || failed.Op != "dial", err
	}
	defer response.Body.Close()
	if code := response.StatusCode; code != http.StatusOK {
		return nil, code >= 500 || code == http.StatusTooManyRequests, fmt.Errorf("the server answered %s", response.Status)
	}
	if response.ContentLength >= 0 && response.ContentLength != r.size {
		return nil, false, fmt.Errorf("other bytes than expected: %d, not %d", response.ContentLength, r.size)
	}
	content = make([]byte, r.size)
	for n := 0; n < len(content); idle.Reset(idleTimeout) {
		count, err := response.Body.Read(content[n:])
		if n += count; err != nil && n < len(content) {
			return nil, true, fmt.Errorf("broke off after %d of %d bytes: %w", n, r.size, err)
		}
	}
	if sum := safefile.Sum(content); sum != r.sha256 {
		return nil, false, fmt.Errorf("other bytes than expected: their SHA-256 is %s, not %s", sum, r.sha256)
	}
	return content, false, nil
}
