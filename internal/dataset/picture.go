package dataset

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	_ "image/gif" // a format of pictures, as those below
	_ "image/jpeg"
	_ "image/png"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bep/imagemeta"
	_ "golang.org/x/image/bmp"
	"golang.org/x/image/draw"
	"golang.org/x/image/math/f64"
	"golang.org/x/image/riff"
	_ "golang.org/x/image/tiff"
	_ "golang.org/x/image/webp"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"ebsscgo/experiments"
	"ebsscgo/internal/safefile"
)

// Picture is one that [ReadPictures] read.
type Picture struct {
	Path string
	// Done is what was done to it beyond scaling its middle, in words.
	Done []string
}

// ReadPictures reads PNG, JPEG, GIF, WebP, BMP and TIFF files as images of a network's size. It
// turns each upright as its orientation tag says, and scales the square in its middle. Transparent
// pictures stand on white. Images of one channel are grey. Labels are 0.
//
// For a network of digits, pictures are made as MNIST's are: white on black, scaled and centred.
//
// It reads on all cores, and tells log how far it is. It returns the images of the pictures that it
// can read, these pictures in their order, and for each of the others why not, in one line. Its err
// is that ctx ended.
func ReadPictures(
	ctx context.Context, paths []string, network experiments.Images, log io.Writer,
) (images Images, read []Picture, unread []error, err error) {
	pixels, done := make([][]uint8, len(paths)), make([][]string, len(paths))
	failed := make([]error, len(paths))
	err = eachFile(ctx, log, len(paths), func(i int) {
		content, err := safefile.Read(paths[i], maxPictureBytes)
		if err == nil {
			pixels[i], done[i], err = imageOf(content, network)
			if err != nil {
				err = fmt.Errorf("reading %s: %w", paths[i], err)
			}
		}
		failed[i] = err
	})
	if err != nil {
		return images, nil, nil, err
	}
	images = Images{Height: network.Height, Width: network.Width, Channels: network.Channels}
	for i, path := range paths {
		if failed[i] != nil {
			unread = append(unread, failed[i])
			continue
		}
		read = append(read, Picture{path, done[i]})
		images.Labels = append(images.Labels, 0)
		images.Pixels = append(images.Pixels, pixels[i]...)
	}
	return images, read, unread, nil
}

// imageOf makes a network's image of a picture's file. It also returns what it did beyond scaling
// the picture's middle, in words.
func imageOf(
	content []byte, network experiments.Images,
) (pixels []uint8, done []string, err error) {
	whole, turned, err := decodePicture(content)
	if err != nil {
		return nil, nil, err
	}
	if turned > 1 {
		done = append(done, "turned upright as its orientation tag says")
	}
	scaled := scale(whole, middle(whole.Bounds()), network.Width, network.Height, turned)
	if network.Digits {
		digit, changes := digitOf(shrunkGrey(whole, turned), network.Width, network.Height)
		if digit != nil {
			draw.Draw(scaled, scaled.Rect, digit, image.Point{}, draw.Src)
		}
		done = append(done, changes...)
	}
	return pixelValues(scaled, network.Channels), done, nil
}

// eachFile calls do with the number of each file, from 0, on all cores, until ctx ends. It tells
// log now and then how many have been read.
func eachFile(ctx context.Context, log io.Writer, files int, do func(i int)) error {
	var mu sync.Mutex
	read, began := 0, time.Now()
	said := began
	count := func() {
		mu.Lock()
		defer mu.Unlock()
		read++
		if now := time.Now(); now.Sub(said) >= sayEvery {
			said = now
			fmt.Fprintf(log, "read %d of %d pictures, %v left\n", read, files,
				timeLeft(now.Sub(began), int64(read), int64(files-read)))
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range files {
		group.Go(func() error {
			if ctx.Err() == nil {
				do(i)
				count()
			}
			return context.Cause(ctx)
		})
	}
	return group.Wait()
}

// shrunkGrey returns a picture, turned upright, in levels of grey. A large one is made smaller.
func shrunkGrey(picture image.Image, turned int) *image.Gray {
	const most = 512 // pixels of a side, more than enough for a digit
	bounds := picture.Bounds()
	shrink := min(1, most/float64(max(bounds.Dx(), bounds.Dy())))
	width := max(1, int(shrink*float64(bounds.Dx())))
	height := max(1, int(shrink*float64(bounds.Dy())))
	if turned > 4 {
		width, height = height, width
	}
	return grey(scale(picture, bounds, width, height, turned))
}

// pixelValues returns the values of a picture, pixel by pixel: levels of grey for one channel, else
// red, green and blue.
func pixelValues(picture *image.RGBA, channels int) []uint8 {
	if channels == 1 {
		return grey(picture).Pix
	}
	values := make([]uint8, 0, len(picture.Pix)/4*3)
	for pixel := range slices.Chunk(picture.Pix, 4) {
		values = append(values, pixel[:3]...)
	}
	return values
}

// middle returns the square in the middle of a picture.
func middle(bounds image.Rectangle) image.Rectangle {
	side := min(bounds.Dx(), bounds.Dy())
	from := image.Pt((bounds.Dx()-side)/2, (bounds.Dy()-side)/2)
	return image.Rect(0, 0, side, side).Add(bounds.Min).Add(from)
}

// average makes each pixel of a smaller picture the mean of those that it covers.
var average = draw.Kernel{Support: 0.5, At: func(float64) float64 { return 1 }}

// scale returns a part of a picture, turned as an orientation tag says and scaled to width×height
// pixels, on white: what is transparent is seen on paper.
func scale(picture image.Image, part image.Rectangle, width, height, turned int) *image.RGBA {
	stored := image.Rect(0, 0, width, height)
	if turned > 4 { // rows are columns
		stored = image.Rect(0, 0, height, width)
	}
	scaled := image.NewRGBA(stored)
	draw.Draw(scaled, stored, image.White, image.Point{}, draw.Src)
	// CatmullRom takes each pixel four times, average once: so a photo of 12 million pixels is read
	// in half the time. In pictures tried values move by 0.1 to 0.6 of 255 levels on average, 5 at
	// most.
	const finer, least = 4, 32
	if part.Dx() >= least*stored.Dx() && part.Dy() >= least*stored.Dy() {
		shrunk := image.NewRGBA(image.Rect(0, 0, finer*stored.Dx(), finer*stored.Dy()))
		average.Scale(shrunk, shrunk.Rect, picture, part, draw.Src, nil)
		picture, part = shrunk, shrunk.Rect
	}
	if part.Size() == stored.Size() {
		draw.Draw(scaled, stored, picture, part.Min, draw.Over)
	} else {
		draw.CatmullRom.Scale(scaled, stored, picture, part, draw.Over, nil)
	}
	if turned <= 1 {
		return scaled
	}
	w, h := float64(stored.Dx()), float64(stored.Dy())
	// {a, b, c, d, e, f} puts the stored pixel (x, y) at (ax + by + c, dx + ey + f).
	places := []f64.Aff3{
		2: {-1, 0, w, 0, 1, 0}, 3: {-1, 0, w, 0, -1, h}, 4: {1, 0, 0, 0, -1, h},
		5: {0, 1, 0, 1, 0, 0}, 6: {0, -1, h, 1, 0, 0}, 7: {0, -1, h, -1, 0, w}, 8: {0, 1, 0, -1, 0, w},
	}
	upright := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.NearestNeighbor.Transform(upright, places[turned], scaled, stored, draw.Src, nil)
	return upright
}

// grey returns a picture in levels of grey.
func grey(picture *image.RGBA) *image.Gray {
	levels := image.NewGray(picture.Rect)
	draw.Draw(levels, levels.Rect, picture, picture.Rect.Min, draw.Src)
	return levels
}

// maxPictureBytes is the size of the largest file that is read as a picture, and maxPictureMemory
// the most that the file and what decoding makes of it may take.
const maxPictureBytes, maxPictureMemory = 256 << 20, 1 << 30

// decoding bounds the memory of all pictures that are decoded at a time, however many cores do it.
var decoding = semaphore.NewWeighted(maxPictureMemory)

// decodePicture decodes a picture (of a GIF the first frame) after its header has shown that there
// is memory for it, and its orientation tag: 1 for upright.
func decodePicture(content []byte) (picture image.Image, turned int, err error) {
	config, format, err := image.DecodeConfig(bytes.NewReader(content))
	if errors.Is(err, image.ErrFormat) {
		return nil, 0, errors.New(
			"not a PNG, JPEG, GIF, WebP, BMP or TIFF picture: save it as PNG in a viewer")
	}
	// x/image v0.30 shows white in most faxes (compression 2 to 4) as black, without an error.
	if fax := tag(content, format, "Compression"); format == "tiff" && fax >= 2 && fax <= 4 {
		return nil, 0, errors.New("a TIFF that is compressed as faxes are: save it as PNG in a viewer")
	}
	turned = 1 // upright
	if value := tag(content, format, "Orientation"); value >= 1 && value <= 8 {
		turned = int(value)
	}
	if format == "png" {
		content = pixelChunks(content)
		config, _, err = image.DecodeConfig(bytes.NewReader(content))
	}
	if err == nil {
		switch needs := memory(content, format, config); {
		case config.Width < 1 || config.Height < 1:
			return nil, 0, fmt.Errorf("%d×%d pixels: there is nothing to see",
				config.Width, config.Height)
		case needs > maxPictureMemory:
			return nil, 0, fmt.Errorf("%d×%d pixels, which take %.1f GiB of memory, above %d: "+
				"make it smaller", config.Width, config.Height, needs/(1<<30), maxPictureMemory>>30)
		default:
			share := int64(needs)
			if err := decoding.Acquire(context.Background(), share); err != nil {
				return nil, 0, err
			}
			defer decoding.Release(share)
		}
		picture, _, err = image.Decode(bytes.NewReader(content))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) && format == "jpeg" { // all may be there but its end
		ended := io.MultiReader(bytes.NewReader(content), strings.NewReader("\xff\xd9"))
		picture, _, err = image.Decode(ended)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%w; if a viewer shows it, save it there again as PNG", err)
	}
	if format == "webp" {
		stretchLevels(picture)
	}
	return picture, turned, nil
}

// stretchLevels stretches the levels of a WebP with lossy compression, which go from 16 for black
// to 235 for white (chroma: from 16 to 240), to the 0 to 255 of JPEG that package image takes them
// for. x/image v0.30 to v0.48 leave that out (Go's issue 40173): white is 235, all colours fade.
func stretchLevels(picture image.Image) {
	var planes *image.YCbCr
	switch lossy := picture.(type) {
	case *image.YCbCr:
		planes = lossy
	case *image.NYCbCrA:
		planes = &lossy.YCbCr
	default:
		return
	}
	stretch := func(plane []uint8, from, to, levels float64) { // levels of them become 255
		for i, level := range plane {
			plane[i] = uint8(min(255, max(0, math.Round(to+(float64(level)-from)*255/levels))))
		}
	}
	stretch(planes.Y, 16, 0, 219)
	stretch(planes.Cb, 128, 128, 224)
	stretch(planes.Cr, 128, 128, 224)
}

// memory returns an upper bound in bytes of what a file and decoding it take.
func memory(content []byte, format string, config image.Config) float64 {
	values := 8.0 // bytes a pixel
	switch config.ColorModel {
	case color.GrayModel:
		values = 1
	case color.Gray16Model:
		values = 2
	case color.YCbCrModel:
		values = 3
	case color.RGBAModel, color.NRGBAModel, color.CMYKModel, color.NYCbCrAModel:
		values = 4
	default:
		if _, palette := config.ColorModel.(color.Palette); palette {
			values = 1
		}
	}
	switch {
	case format == "jpeg" && progressive(content): // which keeps coefficients of four bytes
		values *= 5
	case format != "jpeg" || values > 3: // a second copy
		values *= 2
	}
	return float64(len(content)) + values*float64(config.Width)*float64(config.Height)
}

// progressive reports whether a JPEG is progressive, which its frame's marker tells.
func progressive(content []byte) bool {
	for at := 2; at+4 <= len(content) && content[at] == 0xff; {
		switch marker := content[at+1]; {
		case marker == 0xff: // a filling byte
			at++
		case marker == 0xc2:
			return true
		case marker == 0xda: // pixels begin
			return false
		default:
			at += 2 + int(binary.BigEndian.Uint16(content[at+2:]))
		}
	}
	return true // or not: nobody knows
}

// tag returns the number with that name in the picture's first directory of tags; 0 if there is
// none, or none that can be read.
func tag(content []byte, format, name string) (value uint16) {
	formats := map[string]imagemeta.ImageFormat{"jpeg": imagemeta.JPEG, "png": imagemeta.PNG,
		"webp": imagemeta.TIFF, "tiff": imagemeta.TIFF}
	imageFormat, ok := formats[format]
	if format == "webp" {
		content = webpTags(content)
	}
	if !ok || len(content) == 0 {
		return 0
	}
	isIt := func(tag imagemeta.TagInfo) bool { return tag.Tag == name && tag.Namespace == "IFD0" }
	note := func(tag imagemeta.TagInfo) error {
		if number, ok := tag.Value.(uint16); ok && isIt(tag) {
			value = number
		}
		return nil
	}
	// An error leaves what was read before it: viewers show pictures with damaged notes, too.
	_ = imagemeta.Decode(imagemeta.Options{R: bytes.NewReader(content), ImageFormat: imageFormat,
		Sources: imagemeta.EXIF, ShouldHandleTag: isIt, HandleTag: note})
	return value
}

// webpTags returns the tags of a WebP, which are laid out as a TIFF; nothing if it has none.
// imagemeta v0.12 does not find them behind a chunk of odd length.
func webpTags(content []byte) []byte {
	_, chunks, err := riff.NewReader(bytes.NewReader(content))
	for err == nil {
		var name riff.FourCC
		var chunk io.Reader
		if name, _, chunk, err = chunks.Next(); err == nil && name == (riff.FourCC{'E', 'X', 'I', 'F'}) {
			tags, _ := io.ReadAll(chunk) // of a cut file, what is there
			return bytes.TrimPrefix(tags, []byte("Exif\x00\x00"))
		}
	}
	return nil
}

// pixelChunks returns a PNG with only the chunks that decide about pixels: a wrong checksum in a
// text or a colour profile changes none. Where the last bytes are missing, it adds those that are
// known.
func pixelChunks(content []byte) []byte {
	const mark, head, tail = 8, 8, 4 // bytes: the file's mark, a chunk's size and name, its checksum
	kept, rest := bytes.Clone(content[:mark]), content[mark:]
	for len(rest) >= head {
		name, bare := string(rest[4:head]), head+int64(binary.BigEndian.Uint32(rest))
		here := min(int64(len(rest)), bare+tail)
		if name[0] < 'a' || name == "tRNS" {
			if here < bare { // pixels are missing
				return append(kept, rest...)
			}
			checksum := rest[bare:here]
			if len(checksum) < tail {
				checksum = binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(rest[4:bare]))
			}
			kept = append(append(kept, rest[:bare]...), checksum...)
		}
		if name == "IEND" {
			return kept
		}
		rest = rest[here:]
	}
	return append(kept, "\x00\x00\x00\x00IEND\xaeB`\x82"...)
}
