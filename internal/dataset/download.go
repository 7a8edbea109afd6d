package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

const (
	// maxRetries is how often a request is repeated that failed, or that broke off.
	maxRetries = 4
	// dialTimeout is how long a server may take to answer at all.
	dialTimeout = 10 * time.Second
	// maxRedirects is how often a server may send on to another address.
	maxRedirects = 10
)

// remote is a file on the web, pinned.
type remote struct {
	url    string
	size   int64
	sha256 string
}

var (
	// errBytes says that a server sent other bytes than the pinned ones.
	errBytes = errors.New("other bytes than expected")
	// errBrokeOff says that a server sent less than it was to.
	errBrokeOff = errors.New("broke off")
)

// refused is an answer that would be the same the next time.
type refused struct{ error }

// Unwrap gives errors.Is what was refused.
func (r refused) Unwrap() error { return r.error }

// download brings from to the path file. What breaks off is retried and goes on where it stopped, also in a later call;
// what is complete has the right size and SHA-256, or is removed. The error is ErrUnavailable unless ctx ended or the
// disk is at fault.
func (w web) download(ctx context.Context, from remote, file string) error {
	part := file + ".part"
	resumed, err := w.persist(ctx, from, part)
	if errors.Is(err, errBytes) && resumed {
		// The parts may have been of different files.
		_, err = w.persist(ctx, from, part)
	}
	var disk *fs.PathError
	switch {
	case err == nil:
		return os.Rename(part, file)
	case ctx.Err() != nil:
		return fmt.Errorf("downloading %s: %w", from.url, ctx.Err())
	case errors.As(err, &disk):
		return fmt.Errorf("downloading %s: %w", from.url, err)
	}
	return fmt.Errorf("%s %w: %w", from.url, ErrUnavailable, err)
}

// persist transfers again and again, as long as each time brings some: over a bad line a large file breaks off more often
// than a request is repeated.
func (w web) persist(ctx context.Context, from remote, part string) (resumed bool, err error) {
	for had := int64(0); ; {
		t, err := w.transfer(ctx, from, part)
		if err == nil || !errors.Is(err, errBrokeOff) || ctx.Err() != nil || t.offset < had+from.size/100 {
			return t.resumed, err
		}
		had = t.offset
	}
}

// transfer is one download into the file part.
type transfer struct {
	web
	from    remote
	part    *os.File
	offset  int64 // how much of it is there
	resumed bool  // whether it goes on from an offset, or tried to
	bar     *progressbar.ProgressBar
}

// transfer brings what is missing of part, and checks it. It returns how far it came.
func (w web) transfer(ctx context.Context, from remote, part string) (t transfer, err error) {
	t = transfer{web: w, from: from}
	if t.part, err = os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return t, err
	}
	err = errors.Join(t.run(ctx), t.part.Close())
	if errors.Is(err, errBytes) {
		err = errors.Join(err, os.Remove(part))
	}
	return t, err
}

func (t *transfer) run(ctx context.Context) (err error) {
	if t.offset, err = t.part.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	t.resumed = t.offset > 0
	start, began := t.offset, time.Now()
	if t.offset < t.from.size {
		fmt.Fprintf(t.progress, "downloading %s (%s)\n", t.from.url, megabytes(t.from.size-t.offset))
		t.bar = t.newBar()
		if err := t.request(ctx); err != nil {
			return err
		}
	}
	if err := t.verify(); err != nil {
		return err
	}
	seconds := time.Since(began).Seconds()
	fmt.Fprintf(t.progress, "downloaded %s in %.0f s (%s/s), SHA-256 as expected\n",
		path.Base(t.from.url), seconds, megabytes(int64(float64(t.from.size-start)/seconds)))
	return nil
}

// megabytes is a number of bytes for people.
func megabytes(size int64) string { return fmt.Sprintf("%.1f MB", float64(size)/1e6) }

// newBar is a progress bar, which is seen only where progress is a terminal.
func (t *transfer) newBar() *progressbar.ProgressBar {
	terminal, ok := t.progress.(*os.File)
	return progressbar.NewOptions64(t.from.size, progressbar.OptionSetWriter(t.progress), progressbar.OptionShowBytes(true),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetVisibility(ok && term.IsTerminal(int(terminal.Fd()))))
}

// request asks for what is missing until all of it came, or the server or the retries say no.
func (t *transfer) request(ctx context.Context) error {
	request, err := retryablehttp.NewRequestWithContext(ctx, http.MethodGet, t.from.url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept-Encoding", "identity") // sizes and offsets are those of the file
	t.setRange(request.Request)
	request.SetResponseHandler(t.receive)
	response, err := t.client().Do(request)
	if response != nil {
		err = errors.Join(err, response.Body.Close())
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err // without the address, which download names
	}
	return err
}

// client retries with growing pauses: no connection, errors of the server, and bodies that break off.
func (t *transfer) client() *retryablehttp.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: dialTimeout}).DialContext
	transport.ResponseHeaderTimeout = t.stall

	client := retryablehttp.NewClient()
	client.HTTPClient.Transport = impatient{transport, t.stall}
	client.HTTPClient.CheckRedirect = checkRedirect
	client.Logger = nil
	client.RetryMax = maxRetries
	client.RetryWaitMin, client.RetryWaitMax = t.wait, t.wait<<maxRetries
	client.Backoff = func(shortest, longest time.Duration, attempt int, response *http.Response) time.Duration {
		// A server may ask for a pause (Retry-After), but not for hours of it.
		return min(retryablehttp.DefaultBackoff(shortest, longest, attempt, response), t.stall)
	}
	client.CheckRetry = shouldRetry
	client.ErrorHandler = func(response *http.Response, err error, _ int) (*http.Response, error) {
		if err == nil { // the last of the retries was answered in the same way
			err = fmt.Errorf("the server answered %s", response.Status)
		}
		return response, err
	}
	client.PrepareRetry = func(request *http.Request) error {
		t.setRange(request)
		return nil
	}
	return client
}

// checkRedirect lets a server send on to addresses of the same kind alone: not from https to http, nor to anything else.
func checkRedirect(request *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return refused{fmt.Errorf("more than %d redirects", maxRedirects)}
	}
	if from := via[len(via)-1].URL; request.URL.Scheme != from.Scheme {
		return refused{fmt.Errorf("redirected from %s to %s", from.Scheme, request.URL)}
	}
	return nil
}

// shouldRetry is what is worth another request.
func shouldRetry(ctx context.Context, response *http.Response, err error) (bool, error) {
	var no refused
	var unknownHost *net.DNSError
	var disk *fs.PathError
	// A host that does not answer at all: with retries, each address would cost a minute before the next is asked.
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" && dial.Timeout() {
		return false, err
	}
	if errors.As(err, &no) || errors.As(err, &disk) || errors.As(err, &unknownHost) && unknownHost.IsNotFound {
		return false, err
	}
	return retryablehttp.ErrorPropagatedRetryPolicy(ctx, response, err)
}

// setRange asks for the file from where it broke off.
func (t *transfer) setRange(request *http.Request) {
	request.Header.Del("Range")
	if t.offset > 0 {
		t.resumed = true
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", t.offset))
	}
}

// receive appends the body of a response to the file.
func (t *transfer) receive(response *http.Response) error {
	defer response.Body.Close()
	if err := t.place(response); err != nil {
		return err
	}
	missing := t.from.size - t.offset
	if response.ContentLength >= 0 && response.ContentLength != missing {
		return refused{fmt.Errorf("%w: %d of them, not %d", errBytes, t.offset+response.ContentLength, t.from.size)}
	}
	n, err := io.Copy(io.MultiWriter(t.part, t.bar), io.LimitReader(response.Body, missing))
	t.offset += n
	if err == nil && n < missing {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("%w after %d of %d bytes: %w", errBrokeOff, t.offset, t.from.size, err)
	}
	return nil
}

// place moves to where in the file the body of a response belongs.
func (t *transfer) place(response *http.Response) error {
	switch response.StatusCode {
	case http.StatusPartialContent:
		var first int64
		if _, err := fmt.Sscanf(response.Header.Get("Content-Range"), "bytes %d-", &first); err != nil || first != t.offset {
			return refused{fmt.Errorf("asked for bytes from %d on, the server sent %q", t.offset, response.Header.Get("Content-Range"))}
		}
	case http.StatusOK:
		t.offset = 0 // all of it: the server cannot go on
	case http.StatusRequestedRangeNotSatisfiable:
		return refused{fmt.Errorf("%w: the server has no more than %d of them", errBytes, t.offset)}
	default:
		return refused{fmt.Errorf("the server answered %s", response.Status)}
	}
	if err := t.bar.Set64(t.offset); err != nil {
		return refused{err}
	}
	if err := t.part.Truncate(t.offset); err != nil {
		return err
	}
	_, err := t.part.Seek(t.offset, io.SeekStart)
	return err
}

// verify compares the file with what is pinned.
func (t *transfer) verify() error {
	if _, err := t.part.Seek(0, io.SeekStart); err != nil {
		return err
	}
	hash := sha256.New()
	size, err := io.Copy(hash, t.part)
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(hash.Sum(nil)); size != t.from.size || got != t.from.sha256 {
		return fmt.Errorf("%w: %d of them with SHA-256 %s, not %d with %s", errBytes, size, got, t.from.size, t.from.sha256)
	}
	return nil
}

// impatient gives up bodies that bring nothing for too long, which an open connection can do for ever: those with the file
// and those of errors and redirects.
type impatient struct {
	http.RoundTripper
	stall time.Duration
}

// RoundTrip implements http.RoundTripper.
func (i impatient) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := i.RoundTripper.RoundTrip(request)
	if err == nil {
		response.Body = newStallReader(response.Body, i.stall)
	}
	return response, err
}

// stallReader is a body that is given up when it stalls.
type stallReader struct {
	io.ReadCloser
	limit   time.Duration
	timer   *time.Timer
	stalled atomic.Bool
}

func newStallReader(body io.ReadCloser, limit time.Duration) *stallReader {
	r := &stallReader{ReadCloser: body, limit: limit}
	r.timer = time.AfterFunc(limit, func() {
		r.stalled.Store(true)
		body.Close() // makes Read return
	})
	r.timer.Stop()
	return r
}

// Read implements io.Reader.
func (r *stallReader) Read(p []byte) (int, error) {
	r.timer.Reset(r.limit)
	n, err := r.ReadCloser.Read(p)
	r.timer.Stop()
	if err != nil && r.stalled.Load() {
		err = fmt.Errorf("no data for %v", r.limit)
	}
	return n, err
}
