package dataset

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ebsscgo/internal/filetest"
)

// drawn returns a PNG of one colour, which number decides.
func drawn(t *testing.T, number, width, height int) []byte {
	picture := image.NewNRGBA(image.Rect(0, 0, width, height))
	for at := range width * height {
		pixel := color.NRGBA{uint8(number), uint8(number >> 8), 99, 255}
		picture.SetNRGBA(at%width, at/width, pixel)
	}
	return pngOf(t, picture)
}

// put writes files into a folder, by their paths.
func put(t require.TestingT, folder string, files map[string][]byte) {
	for name, content := range files {
		filetest.Write(t, filepath.Join(folder, name), content)
	}
}

// pictures makes a folder with so many pictures of each class, all different and of several sizes.
func pictures(t *testing.T, each int, classes ...string) string {
	folder, files := filepath.Join(t.TempDir(), "My Flowers!"), map[string][]byte{}
	for class, name := range classes {
		for i := range each {
			files[fmt.Sprintf("%s/%d.png", name, i)] = drawn(t, 1000*class+i, 16+i%9, 20)
		}
	}
	put(t, folder, files)
	return folder
}

// readFolder lists and reads a folder of pictures in colour.
func readFolder(t *testing.T, folder string, log io.Writer) (*Set, error) {
	p, err := Pictures{Folder: folder, Side: 16}.List()
	if err != nil {
		return nil, err
	}
	return p.Read(t.Context(), log)
}

// A folder of classes becomes a data set: about one in six of each class tests, what a picture does
// depends on its content alone, and the same pictures have one fingerprint.
func TestFolderOfPictures(t *testing.T) {
	folder := pictures(t, 120, "tulip", "rose", "a daisy")
	var log bytes.Buffer
	set, err := readFolder(t, folder, &log)
	require.NoError(t, err)
	require.Empty(t, log.String())
	require.Equal(t, []any{"own-my-flowers", []string{"a daisy", "rose", "tulip"}},
		[]any{set.Name, set.Classes})
	require.Equal(t, 360, set.Train.Len()+set.Test.Len())
	require.InDelta(t, 60, set.Test.Len(), 30)
	// The colour says which picture it is.
	splits := func(set *Set) (tests map[[2]uint8]bool) {
		tests = map[[2]uint8]bool{}
		for i, images := range []Images{set.Train, set.Test} {
			for n, label := range images.Labels {
				pixel := [2]uint8(images.Pixels[n*images.Size():])
				number := int(pixel[0]) + int(pixel[1])<<8
				require.Equal(t, []int{2, 1, 0}[number/1000], int(label), "of picture %d", number)
				tests[pixel] = i == 1
			}
		}
		return tests
	}
	before := splits(set)
	require.Greater(t, len(slices.Compact(slices.Clone(set.Train.Labels))), 30, "classes are mixed")

	// Other names, and a picture more.
	rose := filepath.Join(folder, "rose")
	require.NoError(t, os.Rename(filepath.Join(rose, "7.png"), filepath.Join(rose, "x.png")))
	again, err := readFolder(t, folder, io.Discard)
	require.NoError(t, err)
	require.Equal(t, set, again)
	filetest.Write(t, filepath.Join(rose, "more.png"), drawn(t, 1999, 20, 20))
	more, err := readFolder(t, folder, io.Discard)
	require.NoError(t, err)
	require.NotEqual(t, set.SHA256, more.SHA256)
	for picture, tests := range splits(more) {
		if was, ok := before[picture]; ok {
			require.Equal(t, was, tests, "a picture stays where it was")
		}
	}

	shades := t.TempDir()
	for i := range 6 {
		filetest.Write(t, filepath.Join(shades, fmt.Sprintf("%d/%d.png", i/3, i)), drawn(t, 60*i, 16, 16))
	}
	grey, err := Pictures{Folder: shades, Side: 24, Grey: true}.List()
	require.NoError(t, err)
	expected := grey.Expected()
	require.Equal(t, []int{4, 2}, []int{expected.Train, expected.Test}, "six pictures, none twice")
	set, err = grey.Read(t.Context(), io.Discard)
	require.NoError(t, err)
	require.Equal(t, []int{24, 24, 1, 24 * 24 * set.Train.Len()},
		[]int{set.Train.Height, set.Train.Width, set.Train.Channels, len(set.Train.Pixels)})
}

// Images are those that classify makes of the same pictures.
func TestFolderIsReadAsPictures(t *testing.T) {
	folder := pictures(t, 2, "a", "b")
	set, err := readFolder(t, folder, io.Discard)
	require.NoError(t, err)
	for _, class := range set.Classes {
		for i := range 2 {
			path := filepath.Join(folder, class, fmt.Sprintf("%d.png", i))
			one := readAll(t, 16, 3, path)
			require.True(t, bytes.Contains(set.Train.Pixels, one.Pixels) ||
				bytes.Contains(set.Test.Pixels, one.Pixels), path)
		}
	}
}

// Long reading says how far it is.
func TestFolderProgress(t *testing.T) {
	before := sayEvery
	sayEvery = time.Nanosecond
	t.Cleanup(func() { sayEvery = before })
	var log bytes.Buffer
	_, err := readFolder(t, pictures(t, 3, "a", "b"), &log)
	require.NoError(t, err)
	require.Contains(t, log.String(), "read 3 of 6 pictures, ")
}

// A folder that is divided stays so.
func TestFolderWithSplits(t *testing.T) {
	folder := t.TempDir()
	put(t, folder, map[string][]byte{
		"train/a/1.png": drawn(t, 1, 16, 16), "train/b/2.png": drawn(t, 2, 16, 16),
		"train/b/3.png": drawn(t, 3, 16, 16), "test/a/4.png": drawn(t, 4, 16, 16),
		"test/b/5.png": drawn(t, 5, 16, 16),
	})
	set, err := readFolder(t, folder, io.Discard)
	require.NoError(t, err)
	require.Equal(t, []int{3, 2}, []int{set.Train.Len(), set.Test.Len()})
	put(t, folder, map[string][]byte{"test/a/6.png": drawn(t, 3, 16, 16),
		"test/b/7.png": drawn(t, 2, 16, 16), "val/a/8.png": nil, "notes.txt": nil, "test/x.csv": nil})
	var log bytes.Buffer
	_, err = readFolder(t, folder, &log)
	requireOneLine(t, err, folder, "train/b/3.png", "test/a/6.png", "show the same picture")
	for _, line := range []string{"skipped %s/notes.txt: neither in train nor in test",
		"skipped %s/val: neither in train nor in test", "skipped %s/test/x.csv: in no class's folder",
		"twice: %s/train/b/3.png and test/a/6.png", "twice: %s/train/b/2.png and test/b/7.png",
	} {
		require.Contains(t, log.String(), fmt.Sprintf(line, folder)+"\n")
	}
}

// What is no picture of the folder is skipped, and a line says so. Nobody waits for it.
func TestFolderSkips(t *testing.T) {
	folder, secret := pictures(t, 3, "a", "b"), filepath.Join(t.TempDir(), "secret.png")
	filetest.Write(t, secret, drawn(t, 77, 16, 16))
	put(t, folder, map[string][]byte{
		"a/notes.txt": []byte("notes"), "a/empty.png": nil, "a/.hidden": []byte("x"),
		"a/Thumbs.db": []byte("x"), "b/desktop.ini": []byte("x"), "@eaDir/x": []byte("x"),
		"lost+found/x": []byte("x"),
		"b/half.png":   drawn(t, 9, 16, 16)[:30], "b/again.png": drawn(t, 1000, 16, 20),
	})
	require.NoError(t, os.Symlink(secret, filepath.Join(folder, "a", "link.png")))
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(folder, "a", "zero.png")))
	require.NoError(t, os.Symlink("../b/0.png", filepath.Join(folder, "b", "inside.png")))
	require.NoError(t, os.Symlink("../a", filepath.Join(folder, "b", "to-a")))
	require.NoError(t, os.Mkdir(filepath.Join(folder, "a", "below"), 0o755))
	require.NoError(t, syscall.Mkfifo(filepath.Join(folder, "b", "pipe.png"), 0o600))
	var log bytes.Buffer
	set, err := readFolder(t, folder, &log)
	require.NoError(t, err)
	require.Equal(t, 6, set.Train.Len()+set.Test.Len())
	for _, name := range []string{"a/notes.txt: not a PNG", "a/empty.png: not a PNG",
		"b/half.png: ", "a/link.png: a link to nothing within the folder is not followed: copy",
		"a/zero.png: a link to nothing within the folder",
		"a/below: it is a folder, no regular file", "b/pipe.png: it is no regular file",
		"b/to-a: it is a folder, no regular file",
		"shows the same as",
	} {
		require.Contains(t, log.String(), name)
	}
	require.Equal(t, 10, strings.Count(log.String(), "\n"), log.String())
	require.NotContains(t, log.String(), ".hidden")

	for i := range 50 {
		filetest.Write(t, filepath.Join(folder, fmt.Sprintf("a/%d.txt", i)), "no picture")
	}
	log.Reset()
	_, err = readFolder(t, folder, &log)
	require.NoError(t, err)
	require.Contains(t, log.String(), "skipped 40 more files")
}

// Bad folders are told in one line.
func TestFolderRefuses(t *testing.T) {
	// A text names each picture's path and number; number 0 is no picture.
	for name, c := range map[string]struct{ files, says string }{
		"one class":       {"a/1 a/2", "folders of classes: 1,"},
		"a folder around": {"flowers/a/1 flowers/b/2", "if they lie in flowers, name that folder"},
		"no class":        {"1", "folders of classes: 0,"},
		"one picture":     {"a/1 a/2 b/3", "/b: pictures: 1,"},
		"an empty class":  {"a/1 a/2 b/.keep/3", "/b: pictures: 0,"},
		"train alone":     {"train/a/1 train/b/2", "one of train/ and test/ alone: add the other, or"},
		"val":             {"train/a/1 train/b/2 val/a/3 val/b/4", "add the other: rename val to test,"},
		"other words": {"training/a/1 training/b/2 testing/a/3 testing/b/4",
			"/testing: pictures: 0, and at least 2 are needed: move those of its folders up, or rename " +
				"it to test"},
		"val and test": {"test/a/1 test/b/2 val/a/3 val/b/4", "add the other, or put"},
		"a class in one": {"train/a/1 train/b/2 test/a/3",
			`class "b" is not both in train/ and in test/`},
		"two classes share one": {"a/1 a/2 b/1 b/4", "show the same picture"},
		"two pairs are shared":  {"a/1 a/2 b/1 b/2", "(such pairs: 2): remove one of each"},
		"other letters":         {"Train/a/1 TEST/a/2", "write train and test in small letters"},
		"commands as a name":    {"a/1 a/2 b\u202e/3 b\u202e/4", `"b\u202e" is too long, or has characters`},
		"folders alone": {"a/1 a/2 b/c/3 b/d/4",
			"/b: pictures: 0, and at least 2 are needed: move those of its folders up"},
		"none can be read": {"a/1 a/2 b/x0 b/y0", `class "b" has no training picture left`},
		"one can be read":  {"a/1 a/2 b/x0 b/4", `class "b" has no test picture left`},
	} {
		folder := t.TempDir()
		for _, path := range strings.Fields(c.files) {
			number, err := strconv.Atoi(path[len(path)-1:])
			require.NoError(t, err)
			content := []byte("no picture")
			if number > 0 {
				content = drawn(t, number, 16, 16)
			}
			filetest.Write(t, filepath.Join(folder, path), content)
		}
		_, err := readFolder(t, folder, io.Discard)
		require.Error(t, err, name)
		requireOneLine(t, err, c.says, folder)
	}
	halves := t.TempDir()
	put(t, halves, map[string][]byte{"train/cat/1": nil, "test/cat/2": nil})
	_, err := Pictures{Folder: halves, Side: 32}.List()
	requireOneLine(t, err, halves, "folders of classes: 1,")
	require.NotContains(t, err.Error(), "name that folder", "which has no folder cat")
	_, err = Pictures{Folder: "/does/not/exist", Side: 32}.List()
	requireOneLine(t, err, "/does/not/exist", "--pictures")
	_, err = Pictures{Folder: t.TempDir(), Side: 65}.List()
	requireOneLine(t, err, "--side 65", "16 to 64")
	links := pictures(t, 2, "a", "b")
	for _, to := range []string{t.TempDir(), "c", "nowhere"} {
		link := filepath.Join(links, "c")
		require.NoError(t, os.Symlink(to, link))
		_, err = readFolder(t, links, io.Discard)
		requireOneLine(t, err, links, "c: a link to nothing within the folder is not followed: copy "+
			"what it names here (cp -rL), or remove it")
		require.NoError(t, os.Remove(link))
	}
	many := t.TempDir()
	for class := range 1001 {
		require.NoError(t, os.Mkdir(filepath.Join(many, fmt.Sprint(class)), 0o755))
	}
	_, err = readFolder(t, many, io.Discard)
	requireOneLine(t, err, many, "folders of classes: 1001, and 2 to 1000")
}

// Whatever lies in a folder, it is read, or refused in one line; and each file below a class is an
// image or is named.
func TestAnyFolder(t *testing.T) {
	var contents [][]byte // all are read more than once: what shows the same counts once
	for number := range 6 {
		contents = append(contents, drawn(t, number, 16, 16))
	}
	contents = append(contents, nil, []byte("no picture"), contents[0][:40])
	names := []string{"a", "b", "train", "test", ".hidden", "1.png", "2.png", "ŵ.jpg", "notes.txt"}
	good := map[string][]byte{} // a folder that is read
	for number := range 40 {
		good[fmt.Sprintf("%s/%d.png", names[number%2], 10+number)] = drawn(t, 10+number, 16, 16)
	}
	count, read, home := 0, 0, t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		count++
		folder := filepath.Join(home, strconv.Itoa(count))
		if rapid.Bool().Draw(t, "good") {
			put(t, folder, good)
		}
		for range rapid.IntRange(0, 12).Draw(t, "files") {
			name := filepath.Join(folder,
				filepath.Join(rapid.SliceOfN(rapid.SampledFrom(names), 1, 3).Draw(t, "path")...))
			content := rapid.SampledFrom(contents).Draw(t, "content")
			_ = os.MkdirAll(filepath.Dir(name), 0o755) // fails where a file is in the place of a folder
			_ = os.WriteFile(name, content, 0o644)
		}
		_ = os.MkdirAll(folder, 0o755)
		var log bytes.Buffer
		p, err := Pictures{Folder: folder, Side: 16}.List()
		var set *Set
		if err == nil {
			set, err = p.Read(context.Background(), &log)
		}
		if err != nil {
			require.NotContains(t, strings.TrimSpace(err.Error()), "\n")
			return
		}
		read++
		require.GreaterOrEqual(t, len(set.Classes), 2)
		require.NotZero(t, set.Train.Len())
		require.NotZero(t, set.Test.Len())
		images := set.Train.Len() + set.Test.Len()
		require.LessOrEqual(t, images, p.Len())
		if images < p.Len() {
			require.NotEmpty(t, log.String())
		}
	})
	require.Greater(t, read, 5)
}
