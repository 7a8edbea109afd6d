package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif"  // a format of pictures
	_ "image/jpeg" // a format of pictures
	_ "image/png"  // a format of pictures

	"golang.org/x/image/draw"

	"ebsscgo/internal/safefile"
)

// ReadPictures reads PNG, JPEG and GIF files as images of a network's size. Of each it takes the square in the middle, which it
// scales. Transparent pictures stand on white. A JPEG's orientation tag is not read. Images of one channel are grey. Labels are 0.
func ReadPictures(paths []string, height, width, channels int) (Images, error) {
	images := Images{Height: height, Width: width, Channels: channels, Labels: make([]uint8, len(paths))}
	for _, path := range paths {
		content, err := safefile.Read(path, maxPictureBytes)
		if err != nil {
			return Images{}, err
		}
		picture, err := decodePicture(content)
		if err != nil {
			return Images{}, fmt.Errorf("reading %s: %w", path, err)
		}
		bounds := picture.Bounds()
		side := min(bounds.Dx(), bounds.Dy())
		square := image.Rect(0, 0, side, side).Add(bounds.Min).Add(image.Pt((bounds.Dx()-side)/2, (bounds.Dy()-side)/2))
		scaled := image.NewRGBA(image.Rect(0, 0, width, height))
		draw.Draw(scaled, scaled.Bounds(), image.White, image.Point{}, draw.Src) // what is transparent is seen on paper
		draw.CatmullRom.Scale(scaled, scaled.Bounds(), picture, square, draw.Over, nil)
		for y := range height {
			for x := range width {
				pixel := scaled.RGBAAt(x, y)
				if channels == 1 {
					images.Pixels = append(images.Pixels, color.GrayModel.Convert(pixel).(color.Gray).Y)
				} else {
					images.Pixels = append(images.Pixels, pixel.R, pixel.G, pixel.B)
				}
			}
		}
	}
	return images, nil
}

// The largest file and the most pixels of a picture: what cameras make, and three quarters of a gigabyte of memory at most.
const maxPictureBytes, maxPicturePixels = 64 << 20, 32 << 20

// decodePicture decodes a picture, of a GIF the first frame, once its header says that it is of a size that memory has room for.
func decodePicture(content []byte) (image.Image, error) {
	config, _, err := image.DecodeConfig(bytes.NewReader(content))
	switch {
	case errors.Is(err, image.ErrFormat):
		return nil, errors.New("not a PNG, JPEG or GIF picture: convert it to one")
	case err != nil:
		return nil, err
	case config.Width < 1 || config.Height < 1 || config.Width > maxPicturePixels/config.Height:
		return nil, fmt.Errorf("%d×%d pixels, which should be 1 to %d: make it smaller", config.Width, config.Height, maxPicturePixels)
	}
	picture, _, err := image.Decode(bytes.NewReader(content))
	return picture, err
}
