package dataset

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gomlx/compute"
	"github.com/google/renameio/v2"

	"ebsscgo/internal/cache"
)

// whiteningVersion is raised by every change after which the same images give another whitening.
const whiteningVersion = 1

// fitCached is fit with the cache in front of it. Several processes at once fit once.
func fitCached(ctx context.Context, backend compute.Backend, train Images, bias float64) (*Whitening, error) {
	if train.Len() == 0 {
		return nil, errors.New("no images to fit a whitening on")
	}
	dir, err := cachePath("whitening")
	if err != nil {
		return nil, err
	}
	key := whiteningKey(backend, train, bias)
	file := filepath.Join(dir, key)
	if w, err := loadWhitening(file, train); w != nil || err != nil {
		return w, err
	}
	unlock, err := cache.Lock(ctx, "whitening-"+key)
	if err != nil {
		return nil, fmt.Errorf("the whitening is not in the cache: %w", err)
	}
	w, err := fitInto(ctx, file, backend, train, bias)
	if err := errors.Join(err, unlock()); err != nil {
		return nil, cache.Explain(err)
	}
	return w, nil
}

// fitInto fits and writes the result to file, unless another process just did.
func fitInto(ctx context.Context, file string, backend compute.Backend, train Images, bias float64) (*Whitening, error) {
	if w, err := loadWhitening(file, train); w != nil || err != nil {
		return w, err
	}
	w, err := fit(ctx, backend, train, bias)
	if err != nil {
		return nil, err
	}
	return w, w.save(file)
}

// whiteningKey is the hash of everything that decides a whitening.
func whiteningKey(backend compute.Backend, train Images, bias float64) string {
	hash := sha256.New()
	fmt.Fprintf(hash, "version %d, images %d×%d×%d×%d, norm %v, bias %v, backend %s\n",
		whiteningVersion, train.Len(), train.Height, train.Width, train.Channels, ContrastNorm, bias, backend.Name())
	hash.Write(train.Pixels)
	return hex.EncodeToString(hash.Sum(nil))
}

// save writes a whitening: the SHA-256 of what follows, then the mean and the matrix in little-endian.
func (w *Whitening) save(file string) error {
	var content bytes.Buffer
	content.Write(make([]byte, sha256.Size))
	for _, part := range [][]float32{w.mean, w.matrix} {
		if err := binary.Write(&content, binary.LittleEndian, part); err != nil {
			return err
		}
	}
	sum := sha256.Sum256(content.Bytes()[sha256.Size:])
	copy(content.Bytes(), sum[:])
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return renameio.WriteFile(file, content.Bytes(), 0o644)
}

// loadWhitening reads what save wrote for images of the size of train's. It is nil without an error if there is no such
// file, or one that is damaged: then it is fitted anew.
func loadWhitening(file string, train Images) (*Whitening, error) {
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	size := train.Size()
	if len(content) != sha256.Size+4*(size+size*size) {
		return nil, nil
	}
	sum := sha256.Sum256(content[sha256.Size:])
	if !bytes.Equal(sum[:], content[:sha256.Size]) {
		return nil, nil
	}
	w := &Whitening{
		height: train.Height, width: train.Width, channels: train.Channels,
		mean: make([]float32, size), matrix: make([]float32, size*size),
	}
	values := bytes.NewReader(content[sha256.Size:])
	return w, errors.Join(binary.Read(values, binary.LittleEndian, w.mean), binary.Read(values, binary.LittleEndian, w.matrix))
}
