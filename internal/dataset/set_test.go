package dataset

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawImages draws labelled images of random bytes.
func drawImages(t *rapid.T, height, width, channels, maxCount int) Images {
	n := rapid.IntRange(1, maxCount).Draw(t, "n")
	seed := rapid.SliceOfN(rapid.Byte(), 1, 64).Draw(t, "bytes")
	images := Images{Height: height, Width: width, Channels: channels}
	images.Pixels = make([]uint8, n*images.Size())
	for i := range images.Pixels {
		// Different in every place, so that no two can be mistaken for one another.
		images.Pixels[i] = seed[i%len(seed)] + uint8(i) + uint8(i>>8)*31 + uint8(i>>16)*17
	}
	images.Labels = rapid.SliceOfN(rapid.Uint8Range(0, numClasses-1), n, n).Draw(t, "labels")
	return images
}

func TestPadded32(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		train, test := drawImages(t, mnistSide, mnistSide, 1, 3), drawImages(t, mnistSide, mnistSide, 1, 2)
		set := &Set{Name: MNISTName, SHA256: "f", Classes: mnistClasses, Train: train, Test: test}
		padded := set.Padded32()
		require.Equal(t, MNIST32Name, padded.Name)
		require.Equal(t, "f", padded.SHA256)
		for i, images := range []Images{padded.Train, padded.Test} {
			original := []Images{train, test}[i]
			require.Equal(t, original.Labels, images.Labels)
			require.Len(t, images.Pixels, original.Len()*32*32*3)
			for at, value := range images.Pixels {
				n, y, x := at/3/32/32, at/3/32%32-2, at/3%32-2
				want := uint8(0)
				if y >= 0 && y < 28 && x >= 0 && x < 28 {
					want = original.Pixels[(n*28+y)*28+x]
				}
				if value != want {
					t.Fatalf("image %d, row %d, column %d: %d, want %d", n, y, x, value, want)
				}
			}
		}
	})
	unknown := &Set{Name: MNISTUnknownName, Train: Images{Height: 28, Width: 28, Channels: 1}, Test: Images{Height: 28, Width: 28, Channels: 1}}
	require.Equal(t, MNIST32UnknownName, unknown.Padded32().Name, "what is not MNIST is not labelled so")
}

func TestFolder(t *testing.T) {
	for dataset, folder := range map[string]string{CIFAR10JPEGName: "quick", MNISTName: "quick", CIFAR10Name: "quick-cifar10",
		CIFAR10UnknownName: "quick-cifar10-unknown", MNIST32Name: "quick-mnist32"} {
		require.Equal(t, folder, Folder("quick", dataset))
	}
}

// The values are what sha256sum printed for files of these bytes, and for its list of them.
func TestFingerprintIsThatOfSha256sum(t *testing.T) {
	files := []dataFile{{name: "a.bin", bytes: []byte("a")}, {name: "b.bin", bytes: []byte("bb")}}
	require.Equal(t, "9871bf22f86ca589f6aa87857046dddac5c63c02496239af04d9a5a10c4ac0d8", fingerprint(files))
}

// The official fingerprints follow from the published SHA-256 of each file.
func TestOfficialFingerprints(t *testing.T) {
	cifar := []string{
		"cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
		"a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
		"bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
		"014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
		"755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
		"8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
	}
	mnist := []string{
		"ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
		"65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
		"0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
		"ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
	}
	list := func(names, sums []string) (sum string) {
		text := ""
		for i, name := range names {
			text += sums[i] + "  " + name + "\n"
		}
		return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	}
	require.Equal(t, cifarOfficial, list(cifarFiles, cifar))
	require.Equal(t, mnistOfficial, list(mnistNames, mnist))
}

// requireOneLine is how every error should be: one line, which names what is wrong.
func requireOneLine(t *testing.T, err error, contains ...string) {
	t.Helper()
	require.Error(t, err)
	require.False(t, strings.Contains(err.Error(), "\n"), "not one line: %v", err)
	for _, part := range contains {
		require.ErrorContains(t, err, part)
	}
}

// changed is a copy of content with one byte changed.
func changed(content []byte, at int, to byte) []byte {
	content = bytes.Clone(content)
	content[at] = to
	return content
}

func TestPick(t *testing.T) {
	images := tensors.FromFlatDataAndDimensions([]float32{0, 1, 10, 11, 20, 21}, 3, 1, 2, 1)
	picked := Pick(images, 2, 0, 2)
	require.Equal(t, []int{3, 1, 2, 1}, picked.Shape().Dimensions)
	require.Equal(t, []float32{20, 21, 0, 1, 20, 21}, tensors.MustCopyFlatData[float32](picked))
}

// Only CIFAR-10 and its JPEG copy show the same pictures; of unknown bytes nothing is known.
func TestCopies(t *testing.T) {
	for a := range titles {
		for b := range titles {
			same := a == CIFAR10Name && b == CIFAR10JPEGName || a == CIFAR10JPEGName && b == CIFAR10Name
			require.Equal(t, same, Copies(a, b), "%s, %s", a, b)
		}
	}
}
