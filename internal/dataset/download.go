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
	"os"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

const (
	// maxRetries is how often a failed download is repeated, from its start.
	maxRetries = 4
	// dialTimeout is how long connecting to a server may take.
	dialTimeout = 10 * time.Second
	// maxRedirects is how many redirects are followed.
	maxRedirects = 10
)

// remote is a pinned file on the web.
type remote struct {
	url    string
	size   int64
	sha256 string
}

// errBytes says that a server sent other bytes than the pinned ones.
var errBytes = errors.New("other bytes than expected")

// permanent marks an error that another try would repeat.
type permanent struct{ error }

// Unwrap returns the marked error.
func (p permanent) Unwrap() error { return p.error }

// download returns the bytes of a file, whose size and SHA-256 are as pinned. The error is ErrUnavailable unless ctx ended.
func (w web) download(ctx context.Context, from remote) ([]byte, error) {
	fmt.Fprintf(w.log, "downloading %s (%.1f MB)\n", from.url, float64(from.size)/1e6)
	content, err := w.get(ctx, from)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("downloading %s: %w", from.url, ctx.Err())
	}
	if err != nil {
		return nil, fmt.Errorf("%s %w: %w", from.url, ErrUnavailable, err)
	}
	return content, nil
}

// get requests a file until all of it has arrived, or until an answer or the number of tries rules that out.
func (w web) get(ctx context.Context, from remote) (content []byte, err error) {
	request, err := retryablehttp.NewRequestWithContext(ctx, http.MethodGet, from.url, nil)
	if err != nil {
		return nil, err
	}
	request.SetResponseHandler(func(response *http.Response) (err error) {
		content, err = w.receive(response, from)
		return err
	})
	response, err := w.client().Do(request)
	if response != nil {
		response.Body.Close()
	}
	var wrapped *url.Error
	switch {
	case errors.As(err, &wrapped):
		return nil, wrapped.Err // without the address, which download names
	case err == nil && content == nil:
		return nil, fmt.Errorf("the server answered %s", response.Status)
	}
	return content, err
}

// receive reads the body of a response and verifies it. For an answer other than 200 OK it returns nil.
func (w web) receive(response *http.Response, from remote) ([]byte, error) {
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, nil
	}
	if length := response.ContentLength; length >= 0 && length != from.size {
		return nil, permanent{fmt.Errorf("%w: %d, not %d", errBytes, length, from.size)}
	}
	content := make([]byte, from.size)
	body := progressbar.NewReader(response.Body, w.bar(from.size))
	if n, err := io.ReadFull(&body, content); err != nil {
		return nil, fmt.Errorf("broke off after %d of %d bytes: %w", n, from.size, err)
	}
	sum := sha256.Sum256(content)
	if got := hex.EncodeToString(sum[:]); got != from.sha256 {
		return nil, permanent{fmt.Errorf("%w: their SHA-256 is %s, not %s", errBytes, got, from.sha256)}
	}
	return content, nil
}

// bar returns a progress bar, visible only if the log is a terminal.
func (w web) bar(size int64) *progressbar.ProgressBar {
	terminal, ok := w.log.(interface{ Fd() uintptr })
	return progressbar.NewOptions64(size, progressbar.OptionSetWriter(w.log), progressbar.OptionShowBytes(true),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetVisibility(ok && term.IsTerminal(int(terminal.Fd()))))
}

// client returns a client that retries with growing pauses: lost connections, errors of the server, bodies that break off
// or stall.
func (w web) client() *retryablehttp.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true // sizes are those of the file
	transport.DisableKeepAlives = true  // each request has a connection, and its idle timeout, to itself
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return idleConn{conn, w.idleTimeout}, nil
	}
	client := retryablehttp.NewClient()
	client.HTTPClient = &http.Client{Transport: transport, CheckRedirect: checkRedirect}
	client.Logger = nil
	client.RetryMax = maxRetries
	client.RetryWaitMin, client.RetryWaitMax = w.wait, w.wait<<maxRetries
	client.Backoff = func(shortest, longest time.Duration, attempt int, response *http.Response) time.Duration {
		// A server may ask for a pause (Retry-After), but not for one of hours.
		return min(retryablehttp.DefaultBackoff(shortest, longest, attempt, response), w.idleTimeout)
	}
	client.CheckRetry = shouldRetry
	client.ErrorHandler = retryablehttp.PassthroughErrorHandler
	return client
}

// checkRedirect refuses redirects to another scheme: from https to http, to files, to ftp.
func checkRedirect(request *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return permanent{fmt.Errorf("more than %d redirects", maxRedirects)}
	}
	if from := via[len(via)-1].URL; request.URL.Scheme != from.Scheme {
		return permanent{fmt.Errorf("redirected from %s to %s", from.Scheme, request.URL)}
	}
	return nil
}

// shouldRetry says whether another try may succeed. An unknown or silent host is not tried again, so that the next address
// comes sooner.
func shouldRetry(ctx context.Context, response *http.Response, err error) (bool, error) {
	var never permanent
	var dns *net.DNSError
	var dial *net.OpError
	if errors.As(err, &never) ||
		errors.As(err, &dns) && dns.IsNotFound ||
		errors.As(err, &dial) && dial.Op == "dial" && dial.Timeout() {
		return false, err
	}
	return retryablehttp.DefaultRetryPolicy(ctx, response, err)
}

// idleConn is a connection that fails when no data arrives for the length of its timeout.
type idleConn struct {
	net.Conn
	timeout time.Duration
}

// Read implements net.Conn.
func (c idleConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("no data for %v", c.timeout)
	}
	return n, err
}
