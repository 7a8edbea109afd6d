package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// remote is a pinned file on the web.
type remote struct {
	url    string
	size   int64
	sha256 string
}

// tries is how often a download is begun.
const tries = 5

// firstWait is the pause before the second try; it doubles with each. idleTimeout is how long a connection may bring nothing. Tests wait less.
var firstWait, idleTimeout = 500 * time.Millisecond, 30 * time.Second

// client gives up soon on a host that does not answer, so that what replaces the file comes sooner.
var client = func() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	return &http.Client{Transport: transport}
}()

// download returns the bytes of a file, whose size and SHA-256 are as pinned. The error is ErrUnavailable unless ctx ended.
func (r remote) download(ctx context.Context, log io.Writer) (content []byte, err error) {
	fmt.Fprintf(log, "downloading %s (%.1f MB)\n", r.url, float64(r.size)/1e6)
	for try, again := 0, true; again && try < tries; try++ {
		if try > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(firstWait << (try - 1)):
			}
		}
		content, again, err = r.get(ctx, log)
		if err == nil {
			return content, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("downloading %s: %w", r.url, ctx.Err())
		}
	}
	return nil, fmt.Errorf("%s %w: %w", r.url, ErrUnavailable, err)
}

// get requests the file once, and verifies it; again says whether another try may succeed.
func (r remote) get(ctx context.Context, log io.Writer) (content []byte, again bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(idleTimeout, func() { cancel(fmt.Errorf("no data for %v", idleTimeout)) })
	defer idle.Stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url, nil)
	if err != nil {
		return nil, false, err
	}
	request.Header.Set("Accept-Encoding", "identity") // sizes are those of the file
	response, err := client.Do(request)
	if err != nil {
		dial, wrapped := new(net.OpError), new(url.Error)
		again = !errors.As(err, &dial) || dial.Op != "dial" // without a connection another try would find none
		if errors.As(err, &wrapped) {
			err = wrapped.Err // without the address, which download names
		}
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, again, err
	}
	defer response.Body.Close()
	switch code := response.StatusCode; {
	case code != http.StatusOK:
		return nil, code >= 500 || code == http.StatusTooManyRequests, fmt.Errorf("the server answered %s", response.Status)
	case response.ContentLength >= 0 && response.ContentLength != r.size:
		return nil, false, fmt.Errorf("other bytes than expected: %d, not %d", response.ContentLength, r.size)
	}
	content = make([]byte, r.size)
	for n := 0; n < len(content); {
		count, err := response.Body.Read(content[n:])
		idle.Reset(idleTimeout)
		if n += count; err != nil && n < len(content) {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return nil, true, fmt.Errorf("broke off after %d of %d bytes: %w", n, r.size, err)
		}
		if quarter := 4 * n / len(content); quarter > 4*(n-count)/len(content) {
			fmt.Fprintf(log, "  %d %%\n", 25*quarter)
		}
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != r.sha256 {
		return nil, false, fmt.Errorf("other bytes than expected: their SHA-256 is %x, not %s", sum, r.sha256)
	}
	return content, false, nil
}
