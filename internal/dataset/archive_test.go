package dataset

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/cache"
)

// entry is one of an archive; its content is zeros.
type entry struct {
	name string
	kind byte
	size int64
}

// officialEntries are those of the official archive.
func officialEntries() []entry {
	entries := []entry{{cifarFolder + "/", tar.TypeDir, 0}}
	for _, name := range cifarFiles {
		entries = append(entries, entry{cifarFolder + "/" + name, tar.TypeReg, cifarBytes})
	}
	return append(entries, entry{cifarFolder + "/readme.html", tar.TypeReg, 88}, entry{cifarFolder + "/batches.meta.txt", tar.TypeReg, 61})
}

// packed is a gzipped tar of entries.
func packed(entries []entry) []byte {
	var zipped bytes.Buffer
	w := must(gzip.NewWriterLevel(&zipped, gzip.BestSpeed))
	tarred(w, entries)
	must(0, w.Close())
	return zipped.Bytes()
}

// tarred writes a tar of entries.
func tarred(w io.Writer, entries []entry) {
	archive := tar.NewWriter(w)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Typeflag: e.kind, Size: e.size, Mode: 0o644}
		if e.kind == tar.TypeSymlink || e.kind == tar.TypeLink {
			header.Linkname = "/etc/passwd"
		}
		must(0, archive.WriteHeader(header))
		must(io.CopyN(archive, zeros{}, e.size))
	}
	must(0, archive.Close())
}

// must is for what writes to memory.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// officialArchive has what the official archive has, in black.
var officialArchive = sync.OnceValue(func() []byte { return packed(officialEntries()) })

// zeros reads as zeros for ever.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestArchive(t *testing.T) {
	folder := t.TempDir()
	archive := filepath.Join(folder, cifarArchive)
	packed := officialArchive()
	require.NoError(t, os.WriteFile(archive, packed, 0o644))
	for _, place := range []string{folder, archive} {
		set, err := readCIFAR10(place)
		require.NoError(t, err)
		require.Equal(t, CIFAR10UnknownName, set.Name)
		require.Equal(t, blackSHA256, set.SHA256)
	}

	for name, broken := range map[string][]byte{
		"empty":            {},
		"not gzip":         []byte("<html>not found</html>"),
		"cut":              packed[:len(packed)/2],
		"cut at the end":   packed[:len(packed)-4],
		"a changed sum":    changed(packed, len(packed)-6, packed[len(packed)-6]^1),
		"a changed middle": changed(packed, len(packed)/2, packed[len(packed)/2]^1),
	} {
		require.NoError(t, os.WriteFile(archive, broken, 0o644))
		_, err := readCIFAR10(folder)
		require.Error(t, err, name)
		requireOneLine(t, err, archive, "download it again")
	}
	resize(t, archive, 1<<40)
	_, err := readCIFAR10(folder)
	requireOneLine(t, err, archive, "oversized", "download it again")
}

// An archive that should not be is refused, and nothing of it is anywhere afterwards, though its hash is right.
func TestArchiveRefuses(t *testing.T) {
	official := officialEntries()
	first := official[1].name
	for name, c := range map[string]struct {
		entries []entry
		says    string
	}{
		"a link":               {[]entry{{first, tar.TypeSymlink, 0}}, "no data_batch_1.bin"},
		"a device":             {[]entry{{first, tar.TypeChar, 0}}, "no data_batch_1.bin"},
		"a short file":         {[]entry{{first, tar.TypeReg, cifarBytes - 1}}, "truncated"},
		"a long file":          {[]entry{{first, tar.TypeReg, cifarBytes + 1}}, "oversized"},
		"a file twice":         {[]entry{official[1], official[1]}, "two files are named"},
		"a file in two places": {[]entry{official[1], {"data_batch_1.bin", tar.TypeReg, cifarBytes}}, "two files are named"},
		"a missing file":       {slices.Delete(officialEntries(), 6, 7), "no test_batch.bin"},
		"nothing":              {nil, "no data_batch_1.bin"},
		"a bomb":               {[]entry{{"bomb", tar.TypeReg, maxUnpacked + 1}}, "unpacks to more"},
		"a bomb at the end":    {append(officialEntries(), entry{"bomb", tar.TypeReg, 2 << 20}), "unpacks to more"},
	} {
		t.Run(name, func(t *testing.T) {
			outside := t.TempDir()
			t.Setenv(cache.EnvVar, filepath.Join(outside, "cache"))
			t.Chdir(outside)
			t.Setenv(EnvVar, "")
			s := cifarFrom(t, sending(packed(c.entries)))
			_, err := s.find(t.Context(), "", io.Discard)
			requireOneLine(t, err, c.says, cifarArchive, "download it again")
			require.Equal(t, []string{"cache/locks/data-cifar10.lock"}, filesBelow(t, outside))
		})
	}
}

// countingReader counts what is read of it.
type countingReader struct {
	io.Reader
	read int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read += int64(n)
	return n, err
}

// endlessZip is a gzip file that goes on for ever, after the start of a tar with a file that has no end.
func endlessZip(t *testing.T) *countingReader {
	r, w := io.Pipe()
	t.Cleanup(func() { r.Close() })
	go func() {
		zipped := must(gzip.NewWriterLevel(w, gzip.BestSpeed))
		must(0, tar.NewWriter(zipped).WriteHeader(&tar.Header{Name: "bomb", Typeflag: tar.TypeReg, Size: 1 << 50}))
		io.Copy(zipped, zeros{}) // ends with the test, which closes the pipe
	}()
	return &countingReader{Reader: r}
}

func TestBombsAreReadNoFurtherThanNeedBe(t *testing.T) {
	bomb := endlessZip(t)
	_, err := unpackCIFAR10(bomb, "archive")
	requireOneLine(t, err, "unpacks to more")
	require.Less(t, bomb.read, int64(maxUnpacked/50))

	bomb = endlessZip(t)
	content, err := unzip(bomb, 100000)
	require.NoError(t, err)
	require.Len(t, content, 100001, "which the caller refuses")
	require.Less(t, bomb.read, int64(100000))
}

// FuzzArchive reads anything as an archive, and as what is in one, which a fuzzer hardly gets to past gzip's checksums.
func FuzzArchive(f *testing.F) {
	unzipped := func(entries ...entry) []byte {
		var content bytes.Buffer
		tarred(&content, entries)
		return content.Bytes()
	}
	f.Add(packed(officialEntries()[:1]))
	f.Add(packed([]entry{{cifarFolder + "/data_batch_1.bin", tar.TypeReg, 100}, {"readme.html", tar.TypeReg, 100}}))
	f.Add(unzipped(entry{"readme.html", tar.TypeReg, 3}, entry{cifarFolder + "/data_batch_1.bin", tar.TypeReg, 100}))
	f.Add(unzipped(entry{"../x", tar.TypeReg, 3}))
	f.Add(unzipped(entry{"link", tar.TypeSymlink, 0}))
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, unpack := range []func(io.Reader, string) ([]dataFile, error){unpackCIFAR10, untarCIFAR10} {
			files, err := unpack(bytes.NewReader(content), "archive")
			if err != nil {
				require.NotContains(t, err.Error(), "\n")
				continue
			}
			require.Len(t, files, len(cifarFiles))
			for _, file := range files {
				require.Len(t, file.bytes, cifarBytes)
			}
		}
	})
}

// FuzzUnzip unzips anything, up to a size.
func FuzzUnzip(f *testing.F) {
	const size = 1000
	for _, length := range []int64{0, 1, size, size + 1, 1 << 20} {
		var zipped bytes.Buffer
		w := gzip.NewWriter(&zipped)
		must(io.CopyN(w, zeros{}, length))
		must(0, w.Close())
		f.Add(zipped.Bytes())
		f.Add(zipped.Bytes()[:zipped.Len()-1])
		f.Add(slices.Concat(zipped.Bytes(), zipped.Bytes()))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		unzipped, err := unzip(bytes.NewReader(content), size)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			require.Empty(t, unzipped)
		}
		require.LessOrEqual(t, len(unzipped), size+1)
	})
}
