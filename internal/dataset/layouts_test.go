package dataset

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/filetest"
)

// The files in testdata/layouts were written by NumPy, Pillow and Hugging Face's datasets: see
// make.py there.
const (
	written    = "testdata/layouts"
	digitTrain = "huggingface/mnist/train-00000-of-00001.parquet"
	digitTest  = "huggingface/mnist/test-00000-of-00001.parquet"
	colorTrain = "huggingface/plain_text/train-00000-of-00001.parquet"
	colorTest  = "huggingface/plain_text/test-00000-of-00001.parquet"
)

// layoutFile returns a file of testdata/layouts.
func layoutFile(t require.TestingT, name string) []byte {
	return []byte(filetest.Read(t, filepath.Join(written, name)))
}

// madeParts returns count images that make.py makes, from number first on, of size values each.
func madeParts(first, count, size int) *labelled {
	part := &labelled{}
	for image := first; image < first+count; image++ {
		part.labels = append(part.labels, byte(image*3%10))
		for at := range size {
			part.planes = append(part.planes, byte((image*31+at*at/7)%251))
		}
	}
	return part
}

// requireParts requires that images were read as they were made.
func requireParts(t *testing.T, made, read *labelled) {
	t.Helper()
	require.NotNil(t, read)
	require.Equal(t, made.labels, read.labels)
	require.True(t, bytes.Equal(made.planes, read.planes), "other pixels")
}

// Pickles of Python 2, as the official ones are, and those of Python 3 give the images that they
// were written from.
func TestPickles(t *testing.T) {
	for _, name := range []string{"python2", "protocol2", "protocol3", "protocol4", "protocol5"} {
		content := layoutFile(t, name)
		part, err := readBatch(dataFile{place: name, bytes: content}, 4)
		require.NoError(t, err, name)
		requireParts(t, madeParts(0, 4, cifarImage), part)
		_, err = readBatch(dataFile{place: name, bytes: content}, 5)
		requireOneLine(t, err, "labels of 5 images")
	}
}

// A pickle that would call something is not obeyed: it is refused by the name of what it calls,
// also where it hides it in an array's place.
func TestPicklesAreNotRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ran")
	call := "cos\nsystem\n(U" + string(rune(len("touch "+path))) + "touch " + path + "tR"
	labels := "U\x06labels](K\x01e"
	for says, content := range map[string]string{
		"has not the labels":  call + ".",
		`it calls "os.system`: "}(" + labels + "U\x04data" + call + "u.",
		"opcode":              "}(" + labels + "U\x04data(i__builtin__\neval\n.",
		"mark is missing":     "t.",
		"value is missing":    "h\x05.",
		"ends too early":      "T\xff\xff\xff\xff",
		"too many values":     strings.Repeat("(", maxValues+2),
		"where a":             "]K\x01K\x02s.",
	} {
		_, err := readBatch(dataFile{bytes: []byte(content)}, 1)
		requireOneLine(t, err, says)
	}
	require.NoFileExists(t, path)
}

// Arrays of another shape or type are not taken for images.
func TestPickledArraysAreChecked(t *testing.T) {
	content := layoutFile(t, "python2")
	for says, change := range map[string][2]string{
		"not one of 4 images":      {"K\x04M\x00\x0c\x86", "K\x04M\x01\x0c\x86"},
		"not one of bytes":         {"U\x02u1", "U\x02i4"},
		"no array of images":       {"U\x04data", "U\x04dat_"},
		"has not the labels":       {"U\x06labels", "U\x06label_"},
		`it calls "numpy.core.mul`: {"_reconstruct", "_reconstruck"},
	} {
		require.Contains(t, string(content), change[0], says)
		other := bytes.Replace(content, []byte(change[0]), []byte(change[1]), 1)
		_, err := readBatch(dataFile{bytes: other}, 4)
		requireOneLine(t, err, says)
	}
	short := pickled(&labelled{labels: []byte{1, 2}, planes: make([]byte, 2*cifarImage-1)})
	_, err := readBatch(dataFile{bytes: short}, 2)
	requireOneLine(t, err, "not the 6144 bytes")
}

// pickled returns a pickle of images, as short as one can be.
func pickled(part *labelled) []byte {
	number := func(value int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(value)) }
	labels := []byte("}(U\x06labels](")
	for _, label := range part.labels {
		labels = append(labels, 'K', label)
	}
	return slices.Concat(labels, []byte("eU\x04datacnumpy.core.multiarray\n_reconstruct\n(tR(K\x01J"),
		number(len(part.labels)), []byte("M\x00\x0c\x86cnumpy\ndtype\n(U\x02u1tR\x89T"),
		number(len(part.planes)), part.planes, []byte("tbu."))
}

// FuzzPickle reads anything as a pickle: it ends, with a value or one line.
func FuzzPickle(f *testing.F) {
	for _, name := range []string{"python2", "protocol2", "protocol4", "protocol5"} {
		f.Add(layoutFile(f, name))
	}
	f.Add([]byte("}(U\x06labels](K\x01eU\x04datacos\nsystem\n(tRu."))
	f.Fuzz(func(t *testing.T, content []byte) {
		part, err := readBatch(dataFile{bytes: content}, 4)
		if err != nil {
			requireOneLine(t, err)
			return
		}
		require.Len(t, part.planes, 4*cifarImage)
	})
}

// pythonCIFAR10 writes pickles with 10,000 images a file to a folder, of pixels and labels that
// follow from the numbers of the images.
func pythonCIFAR10(t *testing.T, folder string) (official []dataFile) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	for file, name := range pythonFiles {
		part := &labelled{labels: make([]byte, cifarRecords)}
		part.planes = make([]byte, cifarRecords*cifarImage)
		for i := range part.labels {
			part.labels[i] = byte(random.IntN(10))
			part.planes[i*cifarImage+random.IntN(cifarImage)] = byte(i)
		}
		filetest.Write(t, filepath.Join(folder, name), pickled(part))
		official = append(official, dataFile{cifarFiles[file], "", part.records()})
	}
	return official
}

// CIFAR-10's Python version is found where torchvision and Keras put it, as a folder or an archive,
// and has the fingerprint of the binary version with these images.
func TestPythonFolders(t *testing.T) {
	folder := filepath.Join(t.TempDir(), pythonFolders[1])
	official := pythonCIFAR10(t, folder)
	keras := filepath.Join(folder, "..")
	for _, place := range []string{folder, keras, filepath.Join(keras, "..")} {
		set, err := Local(experiments.CIFAR10, place)
		require.NoError(t, err)
		require.Equal(t, CIFAR10UnknownName, set.Name)
		require.Equal(t, fingerprint(official), set.SHA256)
	}
	binary := t.TempDir()
	for _, file := range official {
		filetest.Write(t, filepath.Join(binary, file.name), file.bytes)
	}
	set, err := Local(experiments.CIFAR10, binary)
	require.NoError(t, err)
	require.Equal(t, fingerprint(official), set.SHA256)

	path := filepath.Join(folder, pythonFiles[2])
	require.NoError(t, os.Truncate(path, 1000))
	_, err = Local(experiments.CIFAR10, folder)
	requireOneLine(t, err, path, "ends too early", "download it again")
	require.NoError(t, os.Remove(path))
	_, err = Local(experiments.CIFAR10, folder)
	requireOneLine(t, err, path, "no such file")
	for _, name := range pythonArchives {
		archive := filepath.Join(t.TempDir(), name)
		packed := gzipped(tarred(entry{"cifar-10-batches-py/" + pythonFiles[0], '0', 10}))
		filetest.Write(t, archive, packed)
		_, err = Local(experiments.CIFAR10, filepath.Dir(archive))
		requireOneLine(t, err, archive+":"+pythonFiles[0], "not a pickle", "download it again")
	}
}

// The files of Keras and of Hugging Face give the images that they were written from, with the
// fingerprint of the official files of these.
func TestDigitsInOtherLayouts(t *testing.T) {
	official, err := mnistOf([]*labelled{madeParts(0, 4, mnistImage), madeParts(4, 4, mnistImage)})
	require.NoError(t, err)
	train, test := digitTrain, digitTest
	for name, files := range map[string]map[string]string{
		"Keras": {"mnist.npz": "mnist.npz"},
		"a configuration": {
			"mnist/train-00000-of-00001.parquet": train,
			"mnist/test-00000-of-00001.parquet":  test,
		},
		"the folder itself": {"mnist-train.parquet": train, "mnist-test.parquet": test},
		"a cache": {
			"snapshots/77f3279/mnist/train-00000-of-00001.parquet": train,
			"snapshots/77f3279/mnist/test-00000-of-00001.parquet":  test,
		},
		"folders of splits": {"mnist/train/0000.parquet": train, "mnist/test/0000.parquet": test},
		"beside CIFAR-10": {"data/Train.parquet": train, "data/Test.parquet": test,
			"plain_text/train.parquet": colorTrain},
	} {
		folder := t.TempDir()
		for to, from := range files {
			filetest.Copy(t, filepath.Join(written, from), filepath.Join(folder, to))
		}
		set, err := Local(experiments.MNIST, folder)
		require.NoError(t, err, name)
		require.Equal(t, MNISTUnknownName, set.Name, name)
		require.Equal(t, fingerprint(official), set.SHA256, name)
		require.Equal(t, []int{4, 4}, []int{set.Train.Len(), set.Test.Len()}, name)
		require.Equal(t, madeParts(4, 4, mnistImage).planes, set.Test.Pixels)
	}
}

// Hugging Face's colour pictures come as planes, in several files in the order of their names.
func TestParquetOfCIFAR10(t *testing.T) {
	folder := t.TempDir()
	put(t, folder, map[string][]byte{
		"train-00000-of-00002.parquet": layoutFile(t, colorTrain),
		"train-00001-of-00002.parquet": layoutFile(t, colorTest),
		"test-00000-of-00001.parquet":  layoutFile(t, colorTest),
	})
	other := filepath.Join(folder, "train-of-another-set.parquet") // too large for CIFAR-10
	filetest.Write(t, other, "")
	require.NoError(t, os.Truncate(other, maxParquetBytes+1))
	parts, err := readParquet(folder, cifarSide, 3)
	require.NoError(t, err)
	require.Len(t, parts, 2)
	requireParts(t, madeParts(0, 24, cifarImage), parts[0])
	requireParts(t, madeParts(20, 4, cifarImage), parts[1])
	_, err = Local(experiments.CIFAR10, folder)
	requireOneLine(t, err, folder, "24 training images of CIFAR-10, not 50000")

	files, err := cifarOf([]*labelled{
		{labels: make([]byte, 50000), planes: make([]byte, 50000*cifarImage)},
		{labels: make([]byte, 10000), planes: make([]byte, 10000*cifarImage)},
	})
	require.NoError(t, err)
	require.Equal(t, blackSHA256, fingerprint(files))
}

// What is no Parquet file of the data set is passed over or refused in one line; which of two data
// sets is meant nobody guesses.
func TestParquetRefuses(t *testing.T) {
	good := layoutFile(t, digitTrain)
	var lz4 bytes.Buffer
	rows, err := parquet.ReadFile[parquetRow](filepath.Join(written, digitTrain))
	require.NoError(t, err)
	require.NoError(t, parquet.Write(&lz4, rows, parquet.Compression(&parquet.Lz4Raw)))
	type decimal struct {
		Image parquetPicture `parquet:"image"`
		Label [9]byte        `parquet:"label"`
	}
	var decimals bytes.Buffer
	five := decimal{Image: rows[0].Image, Label: [9]byte{8: 5}}
	require.NoError(t, parquet.Write(&decimals, []decimal{five}))
	end := len(good) - 8 // of the description, behind which its length stands
	begin := end - int(binary.LittleEndian.Uint32(good[end:]))
	var description format.FileMetaData
	require.NoError(t, thrift.Unmarshal(new(thrift.CompactProtocol), good[begin:end], &description))
	description.RowGroups[0].TotalByteSize = maxParquetBytes + 1
	swollen, err := thrift.Marshal(new(thrift.CompactProtocol), description)
	require.NoError(t, err)
	large := slices.Concat(good[:begin], swollen,
		binary.LittleEndian.AppendUint32(nil, uint32(len(swollen))), []byte("PAR1"))
	type made = map[string][]byte
	for name, c := range map[string]struct {
		files made
		says  string
	}{
		"colours":   {nil, "found no MNIST"},
		"one split": {made{"train.parquet": good}, `has the split "test"`},
		"too large": {made{"train.parquet": large}, "found no MNIST"},
		"a copy": {made{"train-00000-of-00001.parquet": good, "train-00000-of-00001 (1).parquet": good,
			"test.parquet": good}, "remove the copy"},
		"a part missing": {made{"train.parquet": good, "test-00001-of-00002.parquet": good},
			`"test" has 1 files, and their names say 2: download what is missing`},
		"a copy for a part": {made{"train-00000-of-00002.parquet": good,
			"train-00000-of-00002 (1).parquet": good, "test.parquet": good}, "remove the copy"},
		"two data sets":   {made{"a/train.parquet": good, "b/test.parquet": good}, "both have"},
		"no split":        {made{"all.parquet": good, "validation.parquet": good}, "found no"},
		"no word of it":   {made{"latest/0000.parquet": good}, "found no"},
		"too deep":        {made{"a/b/c/d/train.parquet": good}, "found no MNIST"},
		"no Parquet file": {made{"train.parquet": []byte("PAR1")}, "not a Parquet file"},
		"cut":             {made{"train.parquet": good[:len(good)-20]}, "not a Parquet file"},
		"LZ4":             {made{"train.parquet": lz4.Bytes()}, "compressed with LZ4, which is not read: write it with Snappy or Zstandard"},
		"decimals":        {made{"train.parquet": decimals.Bytes()}, "no integers: write them as such"},
		"a changed pixel": {made{"train.parquet": changed(good, 300, good[300]^1)}, "again"},
	} {
		folder := t.TempDir()
		filetest.Write(t, filepath.Join(folder, "train-cifar.parquet"), layoutFile(t, colorTrain))
		put(t, folder, c.files)
		_, err := Local(experiments.MNIST, folder)
		require.Error(t, err, name)
		requireOneLine(t, err, folder, c.says)
	}
}

// FuzzParquet reads anything as a Parquet file of digits.
func FuzzParquet(f *testing.F) {
	content := layoutFile(f, digitTrain)
	f.Add(content)
	f.Add(content[:len(content)-9])
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "train.parquet")
		filetest.Write(t, path, content)
		part, err := readParquetFile(path, mnistSide, 1)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		if part != nil {
			require.Len(t, part.planes, len(part.labels)*mnistImage)
		}
	})
}

// npz returns Keras's file with other arrays in the place of some.
func npz(t testing.TB, changed map[string][]byte) []byte {
	content := layoutFile(t, npzFile)
	arrays, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	require.NoError(t, err)
	var made bytes.Buffer
	to := zip.NewWriter(&made)
	for _, file := range arrays.File {
		array, replaced := changed[file.Name]
		if !replaced {
			from := must(file.Open())
			array = must(io.ReadAll(from))
		}
		if array != nil {
			must(must(to.Create(file.Name)).Write(array))
		}
	}
	require.NoError(t, to.Close())
	return made.Bytes()
}

// npy returns an array of bytes as NumPy writes it.
func npy(shape string, values ...byte) []byte {
	header := fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': %s, }\n", shape)
	return slices.Concat([]byte("\x93NUMPY\x01\x00"), []byte{byte(len(header)), 0}, []byte(header),
		values)
}

// What is no file of Keras's is refused in one line.
func TestNPZRefuses(t *testing.T) {
	type made = map[string][]byte
	wide := bytes.Replace(npy("(4,)", 1, 2, 3, 4), []byte("|u1"), []byte("<i8"), 1)
	large := npy("(999999, 28, 28)", make([]byte, 60000*mnistImage)...)
	const again, write = "download it again", "write it as np.ascontiguousarray(x, np.uint8).reshape"
	for name, c := range map[string]struct {
		arrays made
		says   []string
	}{
		"missing": {made{"y_test.npy": nil}, []string{"it has no array y_test.npy", again}},
		"empty":   {made{"y_test.npy": {}}, []string{"y_test.npy is not an array", write + "(-1)"}},
		"other counts": {made{"y_train.npy": npy("(3,)", 1, 2, 3)},
			[]string{"4 images and 3 labels", again}},
		"short": {made{"y_train.npy": npy("(4,)", 1, 2, 3)},
			[]string{"has 3 bytes where its shape", again}},
		"other shape": {made{"x_test.npy": npy("(4,)", 1, 2, 3, 4)},
			[]string{"x_test.npy is not an array", write + "(-1, 28, 28)"}},
		"other type": {made{"y_train.npy": wide}, []string{`'<i8', 'fortran_order'`, write + "(-1)"}},
		"large":      {made{"x_train.npy": large}, []string{"x_train.npy has 47040", again}},
		"no zip":     {nil, []string{"not a file of NumPy's arrays: ", again}},
	} {
		content := npz(t, c.arrays)
		if c.arrays == nil {
			content = content[:len(content)-9]
		}
		path := filepath.Join(t.TempDir(), npzFile)
		filetest.Write(t, path, content)
		_, err := Local(experiments.MNIST, filepath.Dir(path))
		require.Error(t, err, name)
		requireOneLine(t, err, append(c.says, path)...)
	}
}

// What is no file under the name of Keras's is refused and not waited for.
func TestNPZIsNoFile(t *testing.T) {
	for name, make := range noFiles {
		path := filepath.Join(t.TempDir(), npzFile)
		require.NoError(t, make(path), name)
		_, err := Local(experiments.MNIST, filepath.Dir(path))
		requireOneLine(t, err, path)
	}
}

// FuzzNPZ reads anything as Keras's file, and as an array in it.
func FuzzNPZ(f *testing.F) {
	f.Add(npz(f, nil))
	f.Add(npy("(1,)", 7))
	f.Add(npy("(1, 28, 28)", make([]byte, mnistImage)...))
	f.Fuzz(func(t *testing.T, content []byte) {
		changed := npz(t, map[string][]byte{"x_train.npy": content})
		for _, content := range [][]byte{content, changed} {
			parts, err := unpackNPZ(content, "place")
			if err != nil {
				require.NotContains(t, err.Error(), "\n")
				continue
			}
			require.Len(t, parts, 2)
			for _, part := range parts {
				require.Len(t, part.planes, len(part.labels)*mnistImage)
			}
		}
	})
}
