package dataset

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/image/bmp"
	"golang.org/x/image/draw"
	"golang.org/x/image/tiff"

	"ebsscgo/experiments"
	"ebsscgo/internal/filetest"
)

// pngOf returns the PNG of a picture.
func pngOf(t *testing.T, picture image.Image) []byte {
	var content bytes.Buffer
	require.NoError(t, png.Encode(&content, picture))
	return content.Bytes()
}

// save writes a picture.
func save(t *testing.T, path string, picture image.Image) {
	filetest.Write(t, path, pngOf(t, picture))
}

// readPictures reads pictures as a network of side×side pixels sees them.
func readPictures(
	t *testing.T, side, channels int, digits bool, paths ...string,
) (Images, []Picture, []error) {
	t.Helper()
	network := experiments.Images{Height: side, Width: side, Channels: channels, Digits: digits}
	images, read, unread, err := ReadPictures(t.Context(), paths, network, io.Discard)
	require.NoError(t, err)
	return images, read, unread
}

// readAll reads pictures, which can all be read, as images of side×side pixels.
func readAll(t *testing.T, side, channels int, paths ...string) Images {
	t.Helper()
	images, _, unread := readPictures(t, side, channels, false, paths...)
	require.Empty(t, unread)
	return images
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
	images := readAll(t, 4, 3, path, path)
	require.Equal(t, 2, images.Len())
	for i := 0; i < len(images.Pixels); i += 3 {
		require.Equal(t, []uint8{0, 0, 200}, images.Pixels[i:i+3])
	}
	grey := readAll(t, 2, 1, path)
	level := color.GrayModel.Convert(color.NRGBA{B: 200, A: 255}).(color.Gray).Y
	require.Equal(t, []uint8{level, level, level, level}, grey.Pixels)

	ink := image.NewNRGBA(image.Rect(0, 0, 4, 4)) // black on nothing
	ink.Set(0, 0, color.NRGBA{A: 255})
	save(t, path, ink)
	images = readAll(t, 4, 1, path)
	require.Equal(t, []uint8{0, 255}, []uint8{images.Pixels[0], images.Pixels[15]},
		"what is transparent is white")
}

// A large picture becomes what CatmullRom alone makes of it, but for a few levels.
func TestScaleLarge(t *testing.T) {
	picture := image.NewNRGBA(image.Rect(0, 0, 700, 530))
	for y := range 530 {
		for x := range 700 { // colours and holes of all sizes
			picture.Set(x, y, color.NRGBA{R: uint8(x / 2), G: uint8(y * x / 700), B: uint8(x * y),
				A: uint8(255 * (1 - x/300*(y/400)))})
		}
	}
	want := image.NewRGBA(image.Rect(0, 0, 16, 16))
	draw.Draw(want, want.Rect, image.White, image.Point{}, draw.Src)
	draw.CatmullRom.Scale(want, want.Rect, picture, picture.Rect, draw.Over, nil)
	got := scale(picture, picture.Rect, 16, 16, 1)
	require.NotEqual(t, want.Pix, got.Pix, "it is not large enough")
	for i, value := range want.Pix {
		require.InDelta(t, value, got.Pix[i], 5, i)
	}
}

// Headers of pictures, nothing of which follows. The JPEG is progressive: for that a decoder keeps
// more than its pixels.
func pngHeader(width, height uint32, depth byte) []byte {
	chunk := binary.BigEndian.AppendUint32([]byte("IHDR"), width)
	chunk = append(binary.BigEndian.AppendUint32(chunk, height), depth, 6, 0, 0, 0)
	end := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(chunk))
	return slices.Concat([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), chunk, end,
		[]byte("\x00\x00\x00\x00IDAT\x35\xaf\x06\x1e"))
}

func gifHeader(width, height uint16) []byte {
	size := binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(nil, width), height)
	return slices.Concat([]byte("GIF89a"), size,
		[]byte("\x80\x00\x00\x00\x00\x00\xff\xff\xff\x2c\x00\x00\x00\x00"), size, []byte("\x00\x02"))
}

func jpegHeader(width, height uint16) []byte {
	size := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, height), width)
	return slices.Concat([]byte("\xff\xd8\xff\xc2\x00\x11\x08"), size,
		[]byte("\x03\x01\x11\x00\x02\x11\x00\x03\x11\x00"),
		[]byte("\xff\xda\x00\x0c\x03\x01\x00\x02\x00\x03\x00\x00\x00\x00"))
}

// What is no picture, or too large for memory, is refused in one line, before there is memory for
// it.
func TestReadPicturesRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "picture")
	for says, content := range map[string][]byte{
		"not a PNG, JPEG, GIF, WebP":           []byte("no picture"),
		"100000×100000 pixels":                 pngHeader(100000, 100000, 8),
		"dimension overflow":                   pngHeader(1<<31-1, 1<<31-1, 8),
		"9999×9999 pixels, which take 1.5 GiB": pngHeader(9999, 9999, 16),
		"65535×65535 pixels":                   gifHeader(65535, 65535),
		"0×5 pixels":                           gifHeader(0, 5),
		"65535×9999 pixels":                    jpegHeader(65535, 9999),
		"not enough image data":                gifHeader(5, 5),
	} {
		filetest.Write(t, path, content)
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
	many := slices.Repeat([]*image.Paletted{frame}, 5000)
	require.NoError(t, gif.EncodeAll(&frames, &gif.GIF{Image: many, Delay: make([]int, 5000)}))
	filetest.Write(t, path, frames.Bytes())
	images, err := refusedCheaply(t, path)
	require.NoError(t, err, "of many frames it reads the first")
	require.Equal(t, 1, images.Len())
}

// Reading ends where it is interrupted.
func TestReadPicturesStops(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, read, _, err := ReadPictures(ctx, []string{"never.png"}, experiments.Images{}, io.Discard)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, read)
}

// refusedCheaply reads a picture, which may take some memory.
func refusedCheaply(t *testing.T, path string) (Images, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	images, _, unread := readPictures(t, 4, 3, false, path)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20), "bytes")
	return images, errors.Join(unread...)
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
		picture, turned, err := decodePicture(content)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		require.LessOrEqual(t, picture.Bounds().Dx()*picture.Bounds().Dy(), maxPictureMemory)
		require.Contains(t, []int{1, 2, 3, 4, 5, 6, 7, 8}, turned)
	})
}

// exif returns a block of tags with an orientation alone.
func exif(turned byte) []byte {
	return slices.Concat([]byte("MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00"),
		[]byte{turned}, make([]byte, 6))
}

// pngChunk returns a chunk of a PNG.
func pngChunk(name string, content []byte) []byte {
	named := append([]byte(name), content...)
	sized := append(binary.BigEndian.AppendUint32(nil, uint32(len(content))), named...)
	return binary.BigEndian.AppendUint32(sized, crc32.ChecksumIEEE(named))
}

// pngWith returns a PNG of a picture with a chunk before its pixels.
func pngWith(t *testing.T, picture image.Image, added []byte) []byte {
	const header = 8 + 25 // bytes of the mark and of the first chunk
	whole := pngOf(t, picture)
	return slices.Concat(whole[:header], added, whole[header:])
}

// corners draws a grey picture whose first row has 255 at its start and 128 at its end.
func corners(side int) *image.Gray {
	picture := image.NewGray(image.Rect(0, 0, side, side))
	for y := range side / 4 {
		for x := range side / 4 {
			picture.Pix[y*side+x], picture.Pix[y*side+side-1-x] = 255, 128
		}
	}
	return picture
}

// A picture is turned as the tag says: where the first row and the first column of what is stored
// are to be seen. So are PNGs and JPEGs.
func TestOrientation(t *testing.T) {
	const side = 16
	at := map[string]int{
		"top left":     0,
		"top right":    side - 1,
		"bottom left":  side * (side - 1),
		"bottom right": side*side - 1,
	}
	path := filepath.Join(t.TempDir(), "picture")
	var encoded bytes.Buffer
	require.NoError(t, jpeg.Encode(&encoded, corners(side), &jpeg.Options{Quality: 100}))
	for tag, seen := range map[byte][2]string{ // the start and the end of the first row
		0: {"top left", "top right"}, // which is no tag
		1: {"top left", "top right"}, 2: {"top right", "top left"},
		3: {"bottom right", "bottom left"}, 4: {"bottom left", "bottom right"},
		5: {"top left", "bottom left"}, 6: {"top right", "bottom right"},
		7: {"bottom right", "top right"}, 8: {"bottom left", "top left"},
	} {
		block := append([]byte("Exif\x00\x00"), exif(tag)...)
		marked := slices.Concat([]byte("\xff\xd8\xff\xe1\x00"), []byte{byte(len(block) + 2)}, block)
		for _, content := range [][]byte{
			pngWith(t, corners(side), pngChunk("eXIf", exif(tag))),
			append(marked, encoded.Bytes()[2:]...),
		} {
			filetest.Write(t, path, content)
			images, read, unread := readPictures(t, side, 1, false, path)
			require.Empty(t, unread)
			require.InDelta(t, 255, images.Pixels[at[seen[0]]], 3, "tag %d", tag)
			require.InDelta(t, 128, images.Pixels[at[seen[1]]], 3, "tag %d", tag)
			require.Equal(t, tag > 1, len(read[0].Done) == 1, "it says so")
		}
	}
}

// The tags of a WebP are found behind chunks of any length.
func TestOrientationOfWebP(t *testing.T) {
	chunk := func(name string, content []byte) []byte {
		padded := slices.Concat(content, make([]byte, len(content)%2))
		return append(binary.LittleEndian.AppendUint32([]byte(name), uint32(len(content))), padded...)
	}
	for length := range 4 {
		chunks := slices.Concat([]byte("WEBP"), chunk("VP8X", make([]byte, 10)),
			chunk("VP8L", make([]byte, length)), chunk("EXIF", exif(6)))
		require.EqualValues(t, 6, tag(chunk("RIFF", chunks), "webp", "Orientation"))
		require.Zero(t, tag(chunk("RIFF", chunks[:40]), "webp", "Orientation"))
	}
}

// WebP, BMP and TIFF are read, too.
func TestFormats(t *testing.T) {
	// As that of the file that Pillow 12.0.0 wrote.
	picture := image.NewNRGBA(image.Rect(0, 0, 4, 4))
	for i := range 16 {
		picture.Set(i%4, i/4, color.NRGBA{10, 200, 30, 255})
	}
	for x := range 4 {
		picture.Set(x, 0, color.NRGBA{200, 10, uint8(60 * x), 255})
	}
	folder := t.TempDir()
	paths := []string{filepath.Join(folder, "png"), "testdata/lossless.webp"}
	save(t, paths[0], picture)
	for name, encode := range map[string]func(io.Writer, image.Image) error{
		"bmp":  bmp.Encode,
		"tiff": func(w io.Writer, m image.Image) error { return tiff.Encode(w, m, nil) },
	} {
		var encoded bytes.Buffer
		require.NoError(t, encode(&encoded, picture))
		paths = append(paths, filepath.Join(folder, name))
		filetest.Write(t, paths[len(paths)-1], encoded.Bytes())
	}
	images := readAll(t, 4, 3, paths...)
	require.Equal(t, []uint8{200, 10, 0, 200, 10, 60}, images.Pixels[:6])
	for i := range paths {
		require.Equal(t, images.Slice(0, 1).Pixels, images.Slice(i, i+1).Pixels, paths[i])
	}
}

// A WebP with lossy compression has the levels that Pillow 13, which wrote the files, reads in it,
// from black to white, with transparency or without.
func TestLossyWebP(t *testing.T) {
	const side = 64
	for _, path := range []string{"testdata/lossy.webp", "testdata/lossy-alpha.webp"} {
		pixels := readAll(t, side, side, path).Pixels
		for y, row := range [][][]uint8{{{255, 255, 255}, {0, 0, 0}}, {{221, 40, 31}, {19, 61, 199}}} {
			for x, want := range row { // in the middle of each quarter
				at := 3 * (side*(side/4+side/2*y) + side/4 + side/2*x)
				require.InDeltaSlice(t, want, pixels[at:at+3], 2, path)
			}
		}
	}
}

// A fax would be read with black and white exchanged (testdata/fax.tiff is Pillow 13's, group 4).
func TestFaxIsRefused(t *testing.T) {
	_, _, unread := readPictures(t, 16, 1, false, "testdata/fax.tiff")
	require.Len(t, unread, 1)
	require.ErrorContains(t, unread[0], "compressed as faxes are")
}

// What damages no pixel does not matter; what may is refused, with what to do.
func TestDamagedPictures(t *testing.T) {
	whole := pngOf(t, corners(16))
	var encoded bytes.Buffer
	require.NoError(t, jpeg.Encode(&encoded, corners(16), nil))
	jpg := encoded.Bytes()
	text, profile := pngChunk("tEXt", []byte("Title\x00x")), pngChunk("iCCP", []byte("no profile"))
	text[len(text)-1]++
	profile[len(profile)-1]++
	pixels := bytes.Index(whole, []byte("IDAT"))
	ends := len(whole) - 12
	path := filepath.Join(t.TempDir(), "picture")
	for name, c := range map[string]struct {
		content, like []byte
	}{
		"a text's checksum":    {pngWith(t, corners(16), text), whole},
		"a profile's checksum": {pngWith(t, corners(16), profile), whole},
		"no end of a PNG":      {whole[:ends], whole},
		"a part of its end":    {whole[:ends+9], whole},
		"no checksum at last":  {whole[:ends-4], whole},
		"a part of that":       {whole[:ends-1], whole},
		"no end of a JPEG":     {jpg[:len(jpg)-2], jpg},
		"a part of that end":   {jpg[:len(jpg)-1], jpg},
		"pixels are missing":   {whole[:ends-30], nil},
		"in a JPEG":            {jpg[:len(jpg)-20], nil},
		"a pixel's checksum":   {changed(whole, pixels+9, whole[pixels+9]^1), nil},
		"3:1 sampling": {bytes.Replace(jpg, []byte("\x01\x01\x11\x00"),
			[]byte("\x01\x01\x31\x00"), 1)[:len(jpg)-9], nil},
	} {
		filetest.Write(t, path, c.content)
		images, _, unread := readPictures(t, 16, 1, false, path)
		if c.like == nil {
			require.Len(t, unread, 1, name)
			requireOneLine(t, unread[0], path, "save it there again as PNG")
			continue
		}
		require.Empty(t, unread, name)
		filetest.Write(t, path, c.like)
		require.Equal(t, readAll(t, 16, 1, path).Pixels, images.Pixels, name)
	}
}

// A camera's 48 megapixels are read, in the memory that they take. The bound is one of memory:
// pixels of more bytes may be fewer.
func TestLargePictures(t *testing.T) {
	picture := image.NewGray(image.Rect(0, 0, 8064, 6048))
	for i := range picture.Pix {
		picture.Pix[i] = 200
	}
	var encoded bytes.Buffer
	require.NoError(t, (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&encoded, picture))
	path := filepath.Join(t.TempDir(), "photo.png")
	filetest.Write(t, path, encoded.Bytes())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.Equal(t, []uint8{200, 200, 200, 200}, readAll(t, 2, 1, path).Pixels)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2*8064*6048), "bytes")

	for _, c := range []struct {
		content []byte
		fits    bool
	}{
		{jpegHeader(8064, 6048), true}, {jpegHeader(12000, 9000), false}, // progressive
		{bytes.Replace(jpegHeader(16320, 12240), []byte("\xff\xc2"), []byte("\xff\xc0"), 1), true}, // not
		{pngHeader(8064, 6048, 16), true}, {pngHeader(12000, 9000, 16), false},
		{pngHeader(12000, 9000, 8), true},
	} {
		config, format, err := image.DecodeConfig(bytes.NewReader(c.content))
		require.NoError(t, err)
		require.Equal(t, c.fits, memory(c.content, format, config) <= maxPictureMemory, "%dx%d",
			config.Width, config.Height)
	}
}

// One bad picture among good ones stops none: the others are read in their order.
func TestOneBadPicture(t *testing.T) {
	folder := t.TempDir()
	first, last := filepath.Join(folder, "a.png"), filepath.Join(folder, "b.png")
	bad := filepath.Join(folder, "Thumbs.db")
	black, white := image.NewGray(image.Rect(0, 0, 4, 4)), image.NewGray(image.Rect(0, 0, 4, 4))
	white.Pix = bytes.Repeat([]byte{255}, 16)
	save(t, first, black)
	save(t, last, white)
	filetest.Write(t, bad, "no picture")
	missing := filepath.Join(folder, "missing.png")
	images, read, unread := readPictures(t, 1, 1, false, missing, first, bad, last, folder)
	require.Equal(t, []uint8{0, 255}, images.Pixels)
	require.Equal(t, 2, images.Len())
	require.Equal(t, []Picture{{Path: first}, {Path: last}}, read)
	require.Len(t, unread, 3)
	for i, path := range []string{missing, bad, folder} {
		requireOneLine(t, unread[i], path)
	}
}
