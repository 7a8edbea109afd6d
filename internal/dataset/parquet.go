package dataset

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"ebsscgo/internal/safefile"
)

// maxParquetBytes is the size of the largest Parquet file that is read, twice that of CIFAR-10.
const maxParquetBytes = 256 << 20

// parquetFolders is how far below a named folder Parquet files may lie. Hugging Face's cache of a
// data set has them in snapshots/<commit>/<configuration>/.
const parquetFolders = 3

// parquetLayout returns the layout of a data set on Hugging Face's hub, with images of that size:
// pictures in a column, their classes in another, a split in one file or several.
func parquetLayout(
	hub string, side, channels int, official func(parts []*labelled) ([]dataFile, error),
) layout {
	return layout{"Parquet files of " + hub, func(folder string) ([]dataFile, error) {
		parts, err := readParquet(folder, side, channels)
		if err != nil {
			return nil, err
		}
		return official(parts)
	}}
}

// splits are the names of the two parts of a data set, in the order of the official files.
var splits = []string{"train", "test"}

// splitWord finds a split at the beginning of a word: not in "latest".
var splitWord = regexp.MustCompile(`(?i)(?:^|[^a-z])(train|test)`)

// ofFiles finds the number of a file and how many its split has, in a name: train-00000-of-00002.
var ofFiles = regexp.MustCompile(`-(\d+)-of-(\d+)`)

// readParquet reads the training and the test images from Parquet files in a folder or below it,
// which have a word that begins with "train" or "test" in their name or that of their folder. It
// passes over files with images of another size or without a class, and returns nil without an
// error if there is nothing else. A split must have as many files as their names say.
func readParquet(folder string, side, channels int) ([]*labelled, error) {
	files, first := map[string][]*labelled{}, ""
	for _, path := range findParquet(folder) {
		file, err := readParquetFile(path, side, channels)
		if err != nil {
			return nil, damaged(path, err)
		}
		if file == nil {
			continue
		}
		split, set := splitOf(path)
		if first = cmp.Or(first, set); set != first {
			return nil, fmt.Errorf("%s and %s both have such images: name one of them with --data "+
				"or $%s", first, set, EnvVar)
		}
		files[split] = append(files[split], file)
	}
	if len(files) == 0 {
		return nil, nil
	}
	var both []*labelled
	for _, split := range splits {
		if files[split] == nil {
			return nil, fmt.Errorf("%s: no Parquet file has the split %q; download it", first, split)
		}
		if err := checkNumbers(files[split]); err != nil {
			return nil, fmt.Errorf("%s: the split %q %w", first, split, err)
		}
		part := files[split][0]
		for _, file := range files[split][1:] {
			part.labels = append(part.labels, file.labels...)
			part.planes = append(part.planes, file.planes...)
		}
		both = append(both, part)
	}
	return both, nil
}

// checkNumbers returns an error unless the files of a split are as many as their names say, each
// with another number. Names without a number say nothing.
func checkNumbers(files []*labelled) error {
	numbers, declared := map[string]bool{}, ""
	for _, file := range files {
		if of := ofFiles.FindStringSubmatch(filepath.Base(file.place)); of != nil {
			if numbers[of[1]] {
				return fmt.Errorf("has another file with the number of %s: remove the copy",
					file.place)
			}
			numbers[of[1]], declared = true, of[2]
		}
	}
	if of, err := strconv.Atoi(declared); err == nil && of != len(files) {
		return fmt.Errorf("has %d files, and their names say %d: download what is missing, or remove "+
			"copies", len(files), of)
	}
	return nil
}

// findParquet finds the Parquet files of splits in a folder and not far below it, in the order of
// their names.
func findParquet(folder string) (found []string) {
	below := "*.parquet"
	for range parquetFolders + 1 {
		paths, _ := fs.Glob(os.DirFS(folder), below) // fails only for a bad pattern
		for _, path := range paths {
			if split, _ := splitOf(filepath.Join(folder, path)); split != "" {
				found = append(found, filepath.Join(folder, path))
			}
		}
		below = "*/" + below
	}
	slices.Sort(found)
	return found
}

// splitOf returns the split that a file's name says it has, or else that of its folder, and the
// folder that the data set lies in.
func splitOf(path string) (split, set string) {
	for _, named := range []string{path, filepath.Dir(path)} {
		if found := splitWord.FindStringSubmatch(filepath.Base(named)); found != nil {
			return strings.ToLower(found[1]), filepath.Dir(named)
		}
	}
	return "", ""
}

// parquetRow is an image of a Parquet file: of uoft-cs/cifar10 in the column img, of ylecun/mnist
// in the column image.
type parquetRow struct {
	Img   parquetPicture `parquet:"img,optional"`
	Image parquetPicture `parquet:"image,optional"`
	Label *int64         `parquet:"label,optional"`
}

type parquetPicture struct {
	Bytes []byte `parquet:"bytes,optional"`
}

// readParquetFile reads the images of a file. It returns nil without an error if they are of
// another size, or there are none, or the file, packed or not, is larger than any of these data
// sets.
func readParquetFile(path string, side, channels int) (part *labelled, err error) {
	content, err := safefile.Read(path, maxParquetBytes)
	if errors.Is(err, safefile.ErrOversized) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if broken := recover(); broken != nil { // the library checks not all that a file says
			part, err = nil, fmt.Errorf("not a Parquet file of images: %.200v", broken)
		}
	}()
	file, err := parquet.OpenFile(bytes.NewReader(content), int64(len(content)),
		parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("not a Parquet file: %w", err)
	}
	label, hasLabels := file.Schema().Lookup("label")
	_, hasImg := file.Schema().Lookup("img", "bytes")
	_, hasImage := file.Schema().Lookup("image", "bytes")
	if !hasLabels || !hasImg && !hasImage || unpackedBytes(file) > maxParquetBytes {
		return nil, nil
	}
	if label.Node.Type().Kind() == parquet.FixedLenByteArray { // decimals, which it would read as 0
		return nil, advice("the column label has no integers: write them as such")
	}
	if usesLZ4(file) {
		return nil, advice("compressed with LZ4, which is not read: write it with Snappy or " +
			"Zstandard")
	}
	part = &labelled{place: path}
	reader, rows := parquet.NewGenericReader[parquetRow](file), make([]parquetRow, 64)
	defer reader.Close()
	for {
		count, err := reader.Read(rows)
		for _, row := range rows[:count] {
			picture, image := row.Img.Bytes, len(part.labels)
			if len(picture) == 0 {
				picture = row.Image.Bytes
			}
			planes, err := decodePlanes(picture, side, channels)
			switch {
			case errors.Is(err, errOtherSize) && image == 0:
				return nil, nil
			case err != nil:
				return nil, fmt.Errorf("image %d: %w", image, err)
			case row.Label == nil || *row.Label < 0 || *row.Label > 255:
				return nil, fmt.Errorf("image %d has no class", image)
			}
			part.planes = append(part.planes, planes...)
			part.labels = append(part.labels, byte(*row.Label))
		}
		if errors.Is(err, io.EOF) || err == nil && count == 0 {
			return part, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// unpackedBytes returns how many bytes a file has when it is unpacked, as it says.
func unpackedBytes(file *parquet.File) (bytes int64) {
	for _, group := range file.Metadata().RowGroups {
		bytes += group.TotalByteSize
	}
	return bytes
}

// usesLZ4 reports whether a column is compressed with LZ4. parquet-go 0.32.0 loses what it
// decompresses where that is less than three times as long, and goes on with what was in its
// buffer, often without an error (its issue 608).
func usesLZ4(file *parquet.File) bool {
	for _, group := range file.Metadata().RowGroups {
		for _, column := range group.Columns {
			if column.MetaData.Codec == format.Lz4Raw {
				return true
			}
		}
	}
	return false
}

// errOtherSize says that a picture is of another data set.
var errOtherSize = errors.New("not of the data set's size")

// decodePlanes decodes a picture, which must be of that size, into a plane of values a channel.
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
	whole := image.NewRGBA(image.Rect(0, 0, side, side))
	draw.Draw(whole, whole.Rect, picture, picture.Bounds().Min, draw.Src)
	planes := make([]byte, channels*side*side)
	for at, value := range pixelValues(whole, channels) {
		planes[at%channels*side*side+at/channels] = value
	}
	return planes, nil
}
