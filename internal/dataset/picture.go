package dataset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	_ "image/gif"  // a format of pictures
	_ "image/jpeg" // a format of pictures
	_ "image/png"  // a format of pictures
	"io"

	"github.com/bep/imagemeta"
	_ "golang.org/x/image/bmp" // a format of pictures
	"golang.org/x/image/draw"
	_ "golang.org/x/image/tiff" // a format of pictures
	_ "golang.org/x/image/webp" // a format of pictures

	"ebsscgo/internal/safefile"
)

// Picture says what became of a file that [ReadPictures] read.
type Picture struct {
	Path string
	// Done is what was done to the picture beyond scaling its middle, in words.
	Done []string
	// Err is why it could not be read, in one line.
	Err error
}

// ReadPictures reads PNG, JPEG, GIF, WebP, BMP and TIFF files as images of a network's size. Of
// each it takes the square in the middle, turned upright as its orientation tag says, which it
// scales. Transparent pictures stand on white. Images of one channel are grey. Labels are 0.
//
// For a network of digits, pictures are made as MNIST's are: white on black, scaled and centred.
//
// It returns the images of the pictures that it can read, in their order, and what became of all.
func ReadPictures(paths []string, height, width, channels int, digits bool) (Images, []Picture) {
	images := Images{Height: height, Width: width, Channels: channels}
	read := make([]Picture, len(paths))
	for i, path := range paths {
		whole, turned, err := readPicture(path)
		if read[i] = (Picture{Path: path, Err: err}); err != nil {
			continue
		}
		if turned > 1 {
			read[i].Done = append(read[i].Done, "turned upright as its orientation tag says")
		}
		bounds := whole.Bounds()
		scaled := scale(whole, middle(bounds), width, height, turned)
		if digits {
			const most = 512 // pixels of a side, more than enough for a digit
			shrink := min(1, most/float64(max(bounds.Dx(), bounds.Dy())))
			w := max(1, int(shrink*float64(bounds.Dx())))
			h := max(1, int(shrink*float64(bounds.Dy())))
			if turned > 4 {
				w, h = h, w
			}
			digit, done := digitOf(grey(scale(whole, bounds, w, h, turned)), width, height)
			if digit != nil {
				scaled = image.NewRGBA(digit.Rect)
				draw.Draw(scaled, digit.Rect, digit, image.Point{}, draw.Src)
			}
			read[i].Done = append(read[i].Done, done...)
		}
		images.Labels = append(images.Labels, 0)
		for y := range height {
			for x := range width {
				pixel := scaled.RGBAAt(x, y)
				if channels == 1 {
					level := color.GrayModel.Convert(pixel).(color.Gray).Y
					images.Pixels = append(images.Pixels, level)
				} else {
					images.Pixels = append(images.Pixels, pixel.R, pixel.G, pixel.B)
				}
			}
		}
	}
	return images, read
}

// middle is the square in the middle of a picture.
func middle(bounds image.Rectangle) image.Rectangle {
	side := min(bounds.Dx(), bounds.Dy())
	from := image.Pt((bounds.Dx()-side)/2, (bounds.Dy()-side)/2)
	return image.Rect(0, 0, side, side).Add(bounds.Min).Add(from)
}

// scale scales a part of a picture, and turns it as an orientation tag says, to width×height pixels
// on white: what is transparent is seen on paper.
func scale(picture image.Image, part image.Rectangle, width, height, turned int) *image.RGBA {
	stored := image.Rect(0, 0, width, height)
	if turned > 4 { // rows are columns
		stored = image.Rect(0, 0, height, width)
	}
	scaled := image.NewRGBA(stored)
	draw.Draw(scaled, stored, image.White, image.Point{}, draw.Src)
	if part.Size() == stored.Size() {
		draw.Draw(scaled, stored, picture, part.Min, draw.Over)
	} else {
		draw.CatmullRom.Scale(scaled, stored, picture, part, draw.Over, nil)
	}
	if turned <= 1 {
		return scaled
	}
	upright := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			fromX, fromY := x, y
			if turned > 4 {
				fromX, fromY = y, x
			}
			if turned == 2 || turned == 3 || turned == 7 || turned == 8 {
				fromX = stored.Dx() - 1 - fromX
			}
			if turned == 3 || turned == 4 || turned == 6 || turned == 7 {
				fromY = stored.Dy() - 1 - fromY
			}
			upright.SetRGBA(x, y, scaled.RGBAAt(fromX, fromY))
		}
	}
	return upright
}

// grey is a picture in levels of grey.
func grey(picture *image.RGBA) *image.Gray {
	levels := image.NewGray(picture.Rect)
	draw.Draw(levels, levels.Rect, picture, picture.Rect.Min, draw.Src)
	return levels
}

// maxPictureBytes is the size of the largest file that is read as a picture, and maxPictureMemory
// is for the file and what decoding makes of it.
const maxPictureBytes, maxPictureMemory = 256 << 20, 1 << 30

// readPicture reads a picture, of a GIF the first frame, and its orientation tag: 1 for upright.
func readPicture(path string) (picture image.Image, turned int, err error) {
	content, err := safefile.Read(path, maxPictureBytes)
	if err != nil {
		return nil, 0, err
	}
	if picture, turned, err = decodePicture(content); err != nil {
		return nil, 0, fmt.Errorf("reading %s: %w", path, err)
	}
	return picture, turned, nil
}

// decodePicture decodes a picture once its header says that there is memory for it.
func decodePicture(content []byte) (picture image.Image, turned int, err error) {
	config, format, err := image.DecodeConfig(bytes.NewReader(content))
	if errors.Is(err, image.ErrFormat) {
		return nil, 0, errors.New(
			"not a PNG, JPEG, GIF, WebP, BMP or TIFF picture: save it as PNG in a viewer")
	}
	if isFax(content, format) {
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
		}
		picture, _, err = image.Decode(bytes.NewReader(content))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) && format == "jpeg" { // all may be there but its end
		picture, _, err = image.Decode(io.MultiReader(bytes.NewReader(content),
			bytes.NewReader([]byte{0xff, 0xd9})))
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%w; if a viewer shows it, save it there again as PNG", err)
	}
	return picture, turned, nil
}

// memory is an upper bound in bytes of what a file and decoding it take.
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

// progressive says whether a JPEG is: its frame's marker tells.
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

// tag returns a number that the picture's first directory of tags has by a name; 0 where there is none,
// or none that can be read.
func tag(content []byte, format, name string) (value uint16) {
	formats := map[string]imagemeta.ImageFormat{"jpeg": imagemeta.JPEG, "png": imagemeta.PNG,
		"webp": imagemeta.WebP, "tiff": imagemeta.TIFF}
	imageFormat, ok := formats[format]
	if !ok {
		return 0
	}
	isIt := func(tag imagemeta.TagInfo) bool { return tag.Tag == name && tag.Namespace == "IFD0" }
	// An error leaves what was read before it: viewers show pictures with damaged notes, too.
	_ = imagemeta.Decode(imagemeta.Options{
		R: bytes.NewReader(content), ImageFormat: imageFormat, Sources: imagemeta.EXIF, ShouldHandleTag: isIt,
		HandleTag: func(tag imagemeta.TagInfo) error {
			if number, ok := tag.Value.(uint16); ok && isIt(tag) {
				value = number
			}
			return nil
		},
	})
	return value
}

// isFax reports whether a TIFF is compressed as faxes are (compression 2 to 4). x/image v0.30 shows
// what is white in most of these as black, without an error.
func isFax(content []byte, format string) bool {
	compression := tag(content, format, "Compression")
	return format == "tiff" && compression >= 2 && compression <= 4
}

// pixelChunks is a PNG with the chunks alone that decide about pixels: a wrong checksum in a text or
// a colour profile changes none. Where the last bytes are missing, it adds those that are known.
func pixelChunks(content []byte) []byte {
	const magic, around = 8, 12 // bytes of the file's mark; of length, name and checksum of a chunk
	kept, rest := bytes.Clone(
		content[:min(magic, len(content))],
	), content[min(magic, len(content)):]
	for len(rest) >= 8 {
		size := int64(binary.BigEndian.Uint32(rest))
		name := string(rest[4:8])
		whole := min(int64(len(rest)), size+around)
		needed := name[0] < 'a' || name == "tRNS"
		if needed {
			kept = append(kept, rest[:whole]...)
		}
		if whole < size+around && needed { // the file ends here
			if whole >= size+8 {
				sum := crc32.ChecksumIEEE(rest[4 : 8+size])
				kept = append(
					kept[:int64(len(kept))-(whole-size-8)],
					binary.BigEndian.AppendUint32(nil, sum)...)
			} else if name != "IEND" {
				return kept
			}
		}
		rest = rest[whole:]
		if name == "IEND" {
			return kept
		}
	}
	const end = "\x00\x00\x00\x00IEND\xaeB`\x82"
	return append(kept, end...)
}
