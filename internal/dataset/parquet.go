package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"ebsscgo/internal/safefile"
)

// maxParquetBytes is the size of the largest Parquet file that is read, twice that of CIFAR-10.
const maxParquetBytes = 256 << 20

// parquetFolders is how far below a named folder Parquet files may lie: as Hugging Face's cache of a
// data set has them, in snapshots/<commit>/<configuration>/.
const parquetFolders = 3

// parquetLayout is Hugging Face's, for images of that size: pictures in a column, their classes in
// another, a split in one file or several.
func parquetLayout(
	shows string,
	side, channels int,
	official func(train, test *labelled) ([]dataFile, error),
) layout {
	return layout{shows, func(folder string) ([]dataFile, error) {
		return readParts(folder, func(folder string) (train, test *labelled, err error) {
			return readParquet(folder, side, channels)
		}, official)
	}}
}

// readParquet reads the splits from Parquet files, which have "train" or "test" in their name or
// that of their folder, in a folder or below it. Files with images of another size or without a
// class are passed over. It returns nil without an error if there is nothing else.
func readParquet(folder string, side, channels int) (train, test *labelled, err error) {
	found, err := findParquet(folder)
	if err != nil {
		return nil, nil, err
	}
	parts, sets := map[string]*labelled{}, []string{}
	for _, path := range found {
		split, set := splitOf(path)
		read, err := readParquetFile(path, side, channels)
		if err != nil {
			return nil, nil, damaged(path, err)
		}
		if read == nil {
			continue
		}
		if sets = append(sets, set); set != sets[0] {
			return nil, nil, fmt.Errorf(
				"%s and %s both have such images: name one of them with --data or $%s",
				sets[0],
				set,
				EnvVar,
			)
		}
		if part := parts[split]; part != nil {
			part.labels, part.planes = append(
				part.labels,
				read.labels...), append(
				part.planes,
				read.planes...)
		} else {
			parts[split] = read
		}
	}
	for _, split := range []string{"train", "test"} {
		if len(parts) == 1 && parts[split] == nil {
			return nil, nil, fmt.Errorf(
				"%s: no Parquet file has the split %q; download it",
				sets[0],
				split,
			)
		}
	}
	return parts["train"], parts["test"], nil
}

// findParquet finds the Parquet files of splits in a folder and not far below it, in the order of
// their names.
func findParquet(folder string) (found []string, err error) {
	below := "*.parquet"
	for range parquetFolders + 1 {
		paths, err := fs.Glob(os.DirFS(folder), below)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			if split, _ := splitOf(filepath.Join(folder, path)); split != "" {
				found = append(found, filepath.Join(folder, path))
			}
		}
		below = "*/" + below
	}
	slices.Sort(found)
	return found, nil
}

// splitOf returns the split that a file's name says it has, or else that of its folder, and the
// folder that the data set lies in.
func splitOf(path string) (split, set string) {
	set = filepath.Dir(path)
	for _, name := range []string{filepath.Base(path), filepath.Base(set)} {
		for _, split := range []string{"train", "test"} {
			if strings.Contains(strings.ToLower(name), split) {
				if name != filepath.Base(path) {
					set = filepath.Dir(set)
				}
				return split, set
			}
		}
	}
	return "", set
}

// readParquetFile reads the images of a file. It returns nil without an error if they are of
// another size, or there are none.
func readParquetFile(path string, side, channels int) (part *labelled, err error) {
	content, err := safefile.Read(path, maxParquetBytes)
	if err != nil {
		return nil, err
	}
	defer func() {
		if broken := recover(); broken != nil { // the library checks not all that a file says
			part, err = nil, fmt.Errorf("not a Parquet file of images: %.200v", broken)
		}
	}()
	file, err := parquet.OpenFile(
		bytes.NewReader(content),
		int64(len(content)),
		parquet.SkipPageIndex(true),
		parquet.SkipBloomFilters(true),
	)
	if err != nil {
		return nil, fmt.Errorf("not a Parquet file: %w", err)
	}
	pictures, classes := pictureColumn(file), file.Root().Column("label")
	if pictures == nil || classes == nil || !classes.Leaf() {
		return nil, nil
	}
	part = &labelled{place: path}
	err = eachValue(file, pictures, func(value parquet.Value) error {
		planes, err := decodePlanes(value.ByteArray(), side, channels)
		part.planes = append(part.planes, planes...)
		return err
	})
	if errors.Is(err, errOtherSize) && len(part.planes) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("image %d: %w", len(part.planes)/(side*side*channels), err)
	}
	err = eachValue(file, classes, func(value parquet.Value) error {
		class := value.Int64()
		if value.Kind() == parquet.Int32 {
			class = int64(value.Int32())
		}
		if value.IsNull() || class < 0 || class > 255 {
			return fmt.Errorf("image %d has no class", len(part.labels))
		}
		part.labels = append(part.labels, byte(class))
		return nil
	})
	if err == nil && len(part.planes) != len(part.labels)*side*side*channels {
		err = fmt.Errorf("it has not as many classes as images")
	}
	return part, err
}

// pictureColumn returns the column of files of pictures, or nil.
func pictureColumn(file *parquet.File) *parquet.Column {
	for _, name := range []string{"img", "image"} { // of uoft-cs/cifar10 and of ylecun/mnist
		if column := file.Root().Column(name); column != nil && column.Column("bytes") != nil {
			return column.Column("bytes")
		}
	}
	return nil
}

// eachValue calls a function for each value of a column.
func eachValue(file *parquet.File, column *parquet.Column, do func(parquet.Value) error) error {
	values := make([]parquet.Value, 256)
	for _, group := range file.RowGroups() {
		pages := group.ColumnChunks()[column.Index()].Pages()
		defer pages.Close()
		for {
			page, err := pages.ReadPage()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			reader := page.Values()
			for ended := false; !ended; {
				count, err := reader.ReadValues(values)
				if err != nil && !errors.Is(err, io.EOF) {
					return err
				}
				for _, value := range values[:count] {
					if err := do(value); err != nil {
						return err
					}
				}
				ended = err != nil || count == 0
			}
			parquet.Release(page)
		}
	}
	return nil
}

// errOtherSize is the error of a picture of another data set.
var errOtherSize = errors.New("not of the data set's size")

// decodePlanes decodes a picture of that size into a plane of values a channel.
func decodePlanes(content []byte, side, channels int) ([]byte, error) {
	config, _, err := image.DecodeConfig(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	if config.Width != side || config.Height != side {
		return nil, fmt.Errorf("%w: %d×%d pixels", errOtherSize, config.Width, config.Height)
	}
	picture, _, err := image.Decode(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	if grey, ok := picture.(*image.Gray); ok && channels == 1 {
		return grey.Pix, nil
	}
	plane := side * side
	planes := make([]byte, channels*plane)
	whole := image.NewRGBA(image.Rect(0, 0, side, side))
	draw.Draw(whole, whole.Rect, picture, picture.Bounds().Min, draw.Src)
	for at := range plane {
		rgba := whole.Pix[4*at:]
		if channels == 1 {
			pixel := color.RGBA{rgba[0], rgba[1], rgba[2], rgba[3]}
			planes[at] = color.GrayModel.Convert(pixel).(color.Gray).Y
			continue
		}
		planes[at], planes[at+plane], planes[at+2*plane] = rgba[0], rgba[1], rgba[2]
	}
	return planes, nil
}
