package dataset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// save writes a picture.
func save(t *testing.T, path string, picture image.Image) {
	t.Helper()
	var content bytes.Buffer
	require.NoError(t, png.Encode(&content, picture))
	require.NoError(t, os.WriteFile(path, content.Bytes(), 0o644))
}

// Of a wide picture the square in the middle is read; a network for grey images sees grey levels.
func TestReadPictures(t *testing.T) {
	picture := image.NewNRGBA(image.Rect(0, 0, 8, 4)) // red, then four columns of blue, then red
	for y := range 4 {
		for x := range 8 {
			picture.Set(x, y, color.NRGBA{R: 255, A: 255})
			if x >= 2 && x < 6 {
				picture.Set(x, y, color.NRGBA{B: 200, A: 255})
			}
		}
	}
	path := filepath.Join(t.TempDir(), "wide.png")
	save(t, path, picture)
	images, err := ReadPictures([]string{path, path}, 4, 4, 3)
	require.NoError(t, err)
	require.Equal(t, 2, images.Len())
	for i := 0; i < len(images.Pixels); i += 3 {
		require.Equal(t, []uint8{0, 0, 200}, images.Pixels[i:i+3])
	}
	grey, err := ReadPictures([]string{path}, 2, 2, 1)
	require.NoError(t, err)
	level := color.GrayModel.Convert(color.NRGBA{B: 200, A: 255}).(color.Gray).Y
	require.Equal(t, []uint8{level, level, level, level}, grey.Pixels)

	ink := image.NewNRGBA(image.Rect(0, 0, 4, 4)) // black on nothing
	ink.Set(0, 0, color.NRGBA{A: 255})
	save(t, path, ink)
	images, err = ReadPictures([]string{path}, 4, 4, 1)
	require.NoError(t, err)
	require.Equal(t, []uint8{0, 255}, []uint8{images.Pixels[0], images.Pixels[15]}, "what is transparent is white")
}

// Headers of pictures, nothing of which follows. The JPEG is progressive: for that a decoder keeps more than its pixels.
func pngHeader(width, height uint32, depth byte) []byte {
	chunk := append(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte("IHDR"), width), height), depth, 6, 0, 0, 0)
	end := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(chunk))
	return slices.Concat([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), chunk, end, []byte("\x00\x00\x00\x00IDAT\x35\xaf\x06\x1e"))
}

func gifHeader(width, height uint16) []byte {
	size := binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(nil, width), height)
	return slices.Concat([]byte("GIF89a"), size, []byte("\x80\x00\x00\x00\x00\x00\xff\xff\xff\x2c\x00\x00\x00\x00"), size, []byte("\x00\x02"))
}

func jpegHeader(width, height uint16) []byte {
	size := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, height), width)
	return slices.Concat([]byte("\xff\xd8\xff\xc2\x00\x11\x08"), size, []byte("\x03\x01\x11\x00\x02\x11\x00\x03\x11\x00"),
		[]byte("\xff\xda\x00\x0c\x03\x01\x00\x02\x00\x03\x00\x00\x00\x00"))
}

// What is no picture, or too large for memory, is refused in one line, before there is memory for it.
func TestReadPicturesRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "picture")
	for says, content := range map[string][]byte{
		"not a PNG, JPEG or GIF": []byte("no picture"),
		"100000×100000 pixels":   pngHeader(100000, 100000, 8),
		"dimension overflow":     pngHeader(1<<31-1, 1<<31-1, 8),
		"9999×9999 pixels":       pngHeader(9999, 9999, 16),
		"65535×65535 pixels":     gifHeader(65535, 65535),
		"0×5 pixels":             gifHeader(0, 5),
		"65535×9999 pixels":      jpegHeader(65535, 9999),
		"not enough image data":  gifHeader(5, 5),
	} {
		require.NoError(t, os.WriteFile(path, content, 0o600))
		_, err := refusedCheaply(t, path)
		requireOneLine(t, err, path, says)
	}
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Symlink("/dev/zero", path))
	_, err := refusedCheaply(t, path)
	requireOneLine(t, err, path, "no regular file")
	require.NoError(t, os.Remove(path))
	frame := image.NewPaletted(image.Rect(0, 0, 9, 9), color.Palette{color.White, color.Black})
	var frames bytes.Buffer
	require.NoError(t, gif.EncodeAll(&frames, &gif.GIF{Image: slices.Repeat([]*image.Paletted{frame}, 5000), Delay: make([]int, 5000)}))
	require.NoError(t, os.WriteFile(path, frames.Bytes(), 0o600))
	images, err := refusedCheaply(t, path)
	require.NoError(t, err, "of many frames it reads the first")
	require.Equal(t, 1, images.Len())
}

// refusedCheaply reads a picture, which may take some memory.
func refusedCheaply(t *testing.T, path string) (Images, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	images, err := ReadPictures([]string{path}, 4, 4, 3)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20), "bytes")
	return images, err
}

// FuzzPicture reads anything as a picture.
func FuzzPicture(f *testing.F) {
	var jpg, gifs bytes.Buffer
	picture := image.NewPaletted(image.Rect(0, 0, 3, 2), color.Palette{color.White, color.Black})
	require.NoError(f, errors.Join(jpeg.Encode(&jpg, picture, nil), gif.Encode(&gifs, picture, nil)))
	f.Add(jpg.Bytes())
	f.Add(gifs.Bytes())
	f.Add(pngHeader(9, 9, 16))
	f.Add(gifHeader(9, 9))
	f.Fuzz(func(t *testing.T, content []byte) {
		if picture, err := decodePicture(content); err != nil {
			require.NotContains(t, err.Error(), "\n")
		} else {
			require.LessOrEqual(t, picture.Bounds().Dx()*picture.Bounds().Dy(), maxPicturePixels)
		}
	})
}
