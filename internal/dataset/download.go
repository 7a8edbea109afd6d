package dataset

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// remote is a pinned file on the web.
type remote struct {
	url    string
	size   int64
	sha256 string
}

// waits are the pauses before each try. idleTimeout is how long a connection may bring nothing. Tests wait less.
var (
	waits       = []time.Duration{0, time.Second / 2, time.Second, 2 * time.Second, 4 * time.Second}
	idleTimeout = 30 * time.Second
)

// client gives up soon on a host that does not answer, so that what replaces the file comes sooner.
var client = func() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	return &http.Client{Transport: transport}
}()

// download returns the bytes of a file, whose size and SHA-256 are as pinned. The error is ErrUnavailable unless ctx ended.
func (r remote) download(ctx context.Context, log io.Writer) (content []byte, err error) {
	fmt.Fprintf(log, "downloading %s (%.1f MB)\n", r.url, float64(r.size)/1e6)
	for _, wait := range waits {
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		if content, err = r.get(ctx, log); err == nil {
			return content, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("downloading %s: %w", r.url, ctx.Err())
		}
		if failed := new(net.OpError); errors.As(err, &failed) && failed.Op == "dial" {
			break // without a connection another try would find none
		}
	}
	return nil, fmt.Errorf("%s %w: %w", r.url, ErrUnavailable, err)
}

func (r remote) get(ctx context.Context, log io.Writer) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(idleTimeout, func() { cancel(fmt.Errorf("no data for %v", idleTimeout)) })
	defer idle.Stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept-Encoding", "identity") // sizes are those of the file
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answered %s", response.Status)
	}
	if response.ContentLength >= 0 && response.ContentLength != r.size {
		return nil, fmt.Errorf("other bytes than expected: %d, not %d", response.ContentLength, r.size)
	}
	content := make([]byte, r.size)
	for n := 0; n < len(content); {
		count, err := response.Body.Read(content[n:])
		idle.Reset(idleTimeout)
		if n += count; err != nil && n < len(content) {
			return nil, fmt.Errorf("broke off after %d of %d bytes: %w", n, r.size, err)
		}
		if quarter := 4 * n / len(content); quarter > 4*(n-count)/len(content) {
			fmt.Fprintf(log, "  %d %%\n", 25*quarter)
		}
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256(content)); sum != r.sha256 {
		return nil, fmt.Errorf("other bytes than expected: their SHA-256 is %s, not %s", sum, r.sha256)
	}
	return content, nil
}
