package data

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
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

// pack makes a gzipped tar of entries.
func pack(t testing.TB, entries []entry) []byte {
	t.Helper()
	var packed bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	require.NoError(t, err)
	archive := tar.NewWriter(zipped)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Typeflag: e.kind, Size: e.size, Mode: 0o644}
		if e.kind == tar.TypeSymlink || e.kind == tar.TypeLink {
			header.Linkname = "/etc/passwd"
		}
		require.NoError(t, archive.WriteHeader(header))
		_, err := io.CopyN(archive, zeros{}, e.size)
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	require.NoError(t, zipped.Close())
	return packed.Bytes()
}

// zeros reads as zeros for ever.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestArchive(t *testing.T) {
	folder := t.TempDir()
	archive := filepath.Join(folder, cifarArchive)
	packed := pack(t, officialEntries())
	require.NoError(t, os.WriteFile(archive, packed, 0o644))
	for _, place := range []string{folder, archive} {
		set, err := CIFAR10(t.Context(), place, io.Discard)
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
		_, err := CIFAR10(t.Context(), folder, io.Discard)
		require.Error(t, err, name)
		requireOneLine(t, err, archive)
	}
}

func TestArchiveRefuses(t *testing.T) {
	official := officialEntries()
	first := official[1].name
	for name, c := range map[string]struct {
		entries []entry
		says    string
	}{
		"a link":               {[]entry{{first, tar.TypeSymlink, 0}}, first},
		"a hard link":          {[]entry{{first, tar.TypeLink, 0}}, first},
		"a device":             {[]entry{{first, tar.TypeChar, 0}}, first},
		"a pipe":               {[]entry{{first, tar.TypeFifo, 0}}, first},
		"a parent":             {[]entry{{"../data_batch_1.bin", tar.TypeReg, cifarBytes}}, "leads out"},
		"a parent in between":  {[]entry{{cifarFolder + "/../../data_batch_1.bin", tar.TypeReg, cifarBytes}}, "leads out"},
		"an absolute path":     {[]entry{{"/data_batch_1.bin", tar.TypeReg, cifarBytes}}, "leads out"},
		"a parent passed over": {[]entry{{"../../.bashrc", tar.TypeReg, 5}}, "leads out"},
		"a short file":         {[]entry{{first, tar.TypeReg, cifarBytes - 1}}, "truncated"},
		"a long file":          {[]entry{{first, tar.TypeReg, cifarBytes + 1}}, "oversized"},
		"a file twice":         {[]entry{official[1], official[1]}, "two files"},
		"a missing file":       {slices.Delete(officialEntries(), 6, 7), "no test_batch.bin"},
		"nothing":              {nil, "no data_batch_1.bin"},
		"a bomb":               {[]entry{{"bomb", tar.TypeReg, maxUnpacked + 1}}, "unpacks to more"},
		"a bomb at the end":    {append(officialEntries(), entry{"bomb", tar.TypeReg, 1 << 30}), "unpacks to more"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := unpackCIFAR10(bytes.NewReader(pack(t, c.entries)))
			requireOneLine(t, err, c.says)
		})
	}
}

func FuzzArchive(f *testing.F) {
	f.Add(pack(f, officialEntries()[:1]))
	f.Add(pack(f, []entry{{cifarFolder + "/data_batch_1.bin", tar.TypeReg, 100}, {"readme.html", tar.TypeReg, 100}}))
	f.Fuzz(func(t *testing.T, packed []byte) {
		files, err := unpackCIFAR10(bytes.NewReader(packed))
		if err == nil {
			require.Len(t, files, len(cifarFiles))
		}
	})
}
