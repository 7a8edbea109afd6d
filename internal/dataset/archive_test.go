package dataset

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
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
	return append(entries, entry{cifarFolder + "/readme.html", tar.TypeReg, 88})
}

// tarred is a tar of entries.
func tarred(entries ...entry) []byte {
	var tarred bytes.Buffer
	archive := tar.NewWriter(&tarred)
	for _, e := range entries {
		must(0, archive.WriteHeader(&tar.Header{Name: e.name, Typeflag: e.kind, Size: e.size, Linkname: "/etc/passwd"}))
		must(archive.Write(make([]byte, e.size)))
	}
	must(0, archive.Close())
	return tarred.Bytes()
}

// zip is a gzip file.
func zip(content []byte) []byte {
	var zipped bytes.Buffer
	w := must(gzip.NewWriterLevel(&zipped, gzip.BestSpeed))
	must(w.Write(content))
	must(0, w.Close())
	return zipped.Bytes()
}

// must is for what writes to memory.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// officialArchive has what the official archive has, in black.
var officialArchive = sync.OnceValue(func() []byte { return zip(tarred(officialEntries()...)) })

// An archive that should not be is refused.
func TestArchiveRefuses(t *testing.T) {
	official := officialEntries()
	first := official[1].name
	packed := officialArchive()
	for name, c := range map[string]struct {
		packed []byte
		says   string
	}{
		"empty":            {nil, "not a gzip file"},
		"not gzip":         {[]byte("<html>not found</html>"), "not a gzip file"},
		"cut":              {packed[:len(packed)-4], "truncated"},
		"a changed sum":    {changed(packed, len(packed)-6, packed[len(packed)-6]^1), "damaged"},
		"a changed middle": {changed(packed, len(packed)/2, packed[len(packed)/2]^1), "damaged"},
		"no tar":           {zip(make([]byte, 1000)), "unexpected EOF"},
		"a link":           {zip(tarred(entry{first, tar.TypeSymlink, 0})), "data_batch_1.bin: 0 bytes"},
		"a short file":     {zip(tarred(entry{first, tar.TypeReg, cifarBytes - 1})), "30729999 bytes, not 30730000"},
		"a long file":      {zip(tarred(entry{first, tar.TypeReg, cifarBytes + 9})), "30730001 bytes, not 30730000"},
		"a bomb":           {zip(make([]byte, maxUnpacked+1)), "unpacks to more"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			archive := filepath.Join(folder, cifarArchive)
			require.NoError(t, os.WriteFile(archive, c.packed, 0o644))
			_, err := sources[experiments.CIFAR10].open(folder)
			requireOneLine(t, err, archive, c.says, "download it again")
		})
	}
}

// FuzzArchive reads anything as an unzipped archive.
func FuzzArchive(f *testing.F) {
	f.Add(tarred(entry{"readme.html", tar.TypeReg, 3}, entry{cifarFolder + "/data_batch_1.bin", tar.TypeReg, 100}))
	f.Add(tarred(entry{"../x", tar.TypeReg, 3}, entry{"link", tar.TypeSymlink, 0}))
	f.Fuzz(func(t *testing.T, content []byte) {
		files, err := unpackCIFAR10(content, "archive")
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		require.Len(t, files, len(cifarFiles))
		for _, file := range files {
			require.LessOrEqual(t, len(file.bytes), cifarBytes+1)
		}
	})
}

// FuzzUnzip unzips anything, up to a size.
func FuzzUnzip(f *testing.F) {
	const size = 1000
	for _, length := range []int{0, 1, size, size + 1, 1 << 20} {
		zipped := zip(make([]byte, length))
		f.Add(zipped)
		f.Add(zipped[:len(zipped)-1])
		f.Add(append(bytes.Clone(zipped), zipped...))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(path, content, 0o600))
		unzipped, err := readZipped(path, size)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			require.Empty(t, unzipped)
		}
		require.LessOrEqual(t, len(unzipped), size)
	})
}
