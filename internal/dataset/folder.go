package dataset

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"image/color"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"ebsscgo/experiments"
)

// Pictures are a person's own: a folder with a subfolder for each class, or with such folders in
// train/ and test/.
type Pictures struct {
	// Folder has them. An empty name stands for none.
	Folder string
	// Side of the images that are made of them, in pixels; Grey makes them of one channel.
	Side int
	Grey bool

	// splits are the pictures for training and for tests; of undivided ones the first has all.
	splits  [][]file
	classes []string
}

// file is a picture of a class, by its path in the folder.
type file struct {
	path  string
	class uint16
}

// maxFiles is the largest number of files that are read as pictures.
const maxFiles = 200_000

// testShare is the part of each class's pictures that tests, of undivided ones: one in so many.
const testShare = 6

// List finds classes and pictures, and reads none of these. What is wrong with the folder is an
// error in one line.
func (p Pictures) List() (Pictures, error) {
	if p.Side < experiments.MinSide || p.Side > experiments.MaxSide {
		return p, fmt.Errorf("--side %d is out of range: choose %d to %d", p.Side,
			experiments.MinSide, experiments.MaxSide)
	}
	root, err := os.OpenRoot(p.Folder) // which no path or link leaves
	if err != nil {
		return p, fmt.Errorf("%w; name a folder of pictures with --pictures", err)
	}
	defer root.Close()
	top, err := folders(root, ".")
	if err != nil {
		return p, fmt.Errorf("%s: %w", p.Folder, err)
	}
	parts := []string{"."}
	train, test := slices.Contains(top, "train"), slices.Contains(top, "test")
	switch {
	case train && test:
		parts = []string{"train", "test"}
		if p.classes, err = folders(root, "train"); err != nil {
			return p, fmt.Errorf("%s: %w", p.Folder, err)
		}
		tested, err := folders(root, "test")
		if err != nil {
			return p, fmt.Errorf("%s: %w", p.Folder, err)
		}
		for _, class := range slices.Concat(p.classes, tested) {
			if !slices.Contains(p.classes, class) || !slices.Contains(tested, class) {
				return p, fmt.Errorf("%s: class %q is not both in train/ and in test/: "+
					"add pictures there, or remove it", p.Folder, class)
			}
		}
	case train || test:
		return p, fmt.Errorf("%s has one of train/ and test/ alone: add the other, or put the "+
			"classes into the folder itself", p.Folder)
	default:
		p.classes = top
	}
	if count := len(p.classes); count < 2 || count > experiments.MaxClasses {
		return p, fmt.Errorf("%s: folders of classes: %d, and 2 to %d are needed, one for each "+
			"class with its pictures", p.Folder, count, experiments.MaxClasses)
	}
	return p.list(root, parts)
}

// list lists the files of the classes in each part of the folder.
func (p Pictures) list(root *os.Root, parts []string) (Pictures, error) {
	count, least := 0, 3-len(parts) // in each class
	for _, part := range parts {
		var split []file
		for number, class := range p.classes {
			folder, before := path.Join(part, class), len(split)
			entries, err := fs.ReadDir(root.FS(), folder)
			if err != nil {
				return p, fmt.Errorf("%s: %w", p.Folder, err)
			}
			for _, entry := range entries {
				if !strings.HasPrefix(entry.Name(), ".") { // notes of programs
					split = append(split, file{path.Join(folder, entry.Name()), uint16(number)})
				}
			}
			if have := len(split) - before; have < least {
				return p, fmt.Errorf("%s/%s: pictures: %d, and at least %d are needed: add some, "+
					"or remove the folder", p.Folder, folder, have, least)
			}
			if count += len(split) - before; count > maxFiles {
				return p, fmt.Errorf("%s has more than %d files: take fewer pictures",
					p.Folder, maxFiles)
			}
		}
		p.splits = append(p.splits, split)
	}
	return p, nil
}

// folders are the names of folders in another one, in their order, without hidden ones.
func folders(root *os.Root, in string) (names []string, err error) {
	entries, err := fs.ReadDir(root.FS(), in)
	for _, entry := range entries {
		info, err := root.Stat(path.Join(in, entry.Name())) // also of a folder that a link names
		if err == nil && info.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
			names = append(names, entry.Name())
		}
	}
	return names, err
}

// Images describes the images that the pictures become, without their number.
func (p Pictures) Images() experiments.Images {
	images := experiments.Images{Name: experiments.OwnName(filepath.Base(absolute(p.Folder))),
		Height: p.Side, Width: p.Side, Channels: 3, Classes: p.classes}
	if p.Grey {
		images.Channels = 1
	}
	return images
}

// absolute is a path from the root, if it can be found.
func absolute(name string) string {
	if whole, err := filepath.Abs(name); err == nil {
		return whole
	}
	return name
}

// Expected is the data set that the pictures become if all can be read and none is there twice:
// about that many images, without a fingerprint.
func (p Pictures) Expected() experiments.Dataset {
	train, test := len(p.splits[0]), 0
	if len(p.splits) == 2 {
		test = len(p.splits[1])
	} else {
		test = max(len(p.classes), train/testShare)
		train -= test
	}
	return experiments.Dataset{Name: p.Images().Name, Train: train, Test: test}
}

// Len is the number of files that are listed.
func (p Pictures) Len() (count int) {
	for _, split := range p.splits {
		count += len(split)
	}
	return count
}

// Flags are the pictures as the command line takes them.
func (p Pictures) Flags() string {
	flags := fmt.Sprintf(" --pictures %q --side %d", p.Folder, p.Side)
	if p.Grey {
		flags += " --grey"
	}
	return flags
}

// read is a picture that was read: an image of it, the hash of its file and that of its pixels.
type read struct {
	file
	pixels         []uint8
	content, shows [sha256.Size]byte
	err            error
}

// Read reads all listed pictures as [ReadPictures] does. Where they are not divided, the hash of a
// file's content decides whether it trains or tests, one in six of a class; each class has one of
// both at least. So do the images' order and the fingerprint, which is the SHA-256 of the images,
// their labels and the classes' names, in that order.
//
// A picture that cannot be read, or that shows the same as another one of its class, is skipped and
// said in a line. Two classes, or training and test images, that share a picture are an error.
func (p Pictures) Read(ctx context.Context, log io.Writer) (*Set, error) {
	root, err := os.OpenRoot(p.Folder)
	if err != nil {
		return nil, fmt.Errorf("%w; name a folder of pictures with --pictures", err)
	}
	defer root.Close()
	parts, skipped := make([][]read, 2), []string(nil)
	for i, split := range p.splits {
		all, err := p.decode(ctx, root, split)
		if err != nil {
			return nil, err
		}
		for _, one := range all {
			if one.err != nil {
				skipped = append(skipped, fmt.Sprintf("%s: %v", one.path, one.err))
				continue
			}
			parts[i] = append(parts[i], one)
		}
		slices.SortStableFunc(parts[i], func(a, b read) int {
			return bytes.Compare(a.content[:], b.content[:])
		})
	}
	again, err := p.single(parts)
	if err != nil {
		return nil, err
	}
	say(log, p.Folder, append(skipped, again...))
	if len(p.splits) == 1 {
		parts[0], parts[1] = divide(parts[0], len(p.classes))
	}
	images := p.Images()
	set := &Set{Name: images.Name, Classes: p.classes,
		Train: p.images(parts[0]), Test: p.images(parts[1])}
	for i, part := range []Images{set.Train, set.Test} {
		for class, name := range p.classes {
			if !slices.Contains(part.Labels, uint16(class)) {
				return nil, fmt.Errorf("%s: class %q has no %s picture left that can be read: "+
					"add some, or remove the folder", p.Folder, name, []string{"training", "test"}[i])
			}
		}
	}
	set.SHA256 = ownFingerprint(set)
	return set, nil
}

// single leaves one of the pictures of a class that show the same, and says which it skips. Two
// classes, or training and test images, that share a picture are an error.
func (p Pictures) single(parts [][]read) (skipped []string, err error) {
	type place struct {
		read
		part int
	}
	seen := map[[sha256.Size]byte]place{}
	for i := range parts {
		var kept []read
		for _, one := range parts[i] {
			other, again := seen[one.shows]
			switch {
			case again && (other.class != one.class || other.part != i):
				return nil, fmt.Errorf("%s: %s and %s show the same picture: remove one", p.Folder,
					other.path, one.path)
			case again:
				skipped = append(skipped, one.path+": shows the same as "+other.path)
				continue
			}
			seen[one.shows] = place{one, i}
			kept = append(kept, one)
		}
		parts[i] = kept
	}
	return skipped, nil
}

// say names skipped files, the first ones each in a line.
func say(log io.Writer, folder string, skipped []string) {
	const most = 20
	for _, one := range skipped[:min(most, len(skipped))] {
		fmt.Fprintf(log, "skipped %s/%s\n", folder, one)
	}
	if more := len(skipped) - most; more > 0 {
		fmt.Fprintf(log, "skipped %d more files of %s\n", more, folder)
	}
}

// decode reads pictures on all cores.
func (p Pictures) decode(ctx context.Context, root *os.Root, files []file) ([]read, error) {
	all := make([]read, len(files))
	workers := runtime.GOMAXPROCS(0)
	group, ctx := errgroup.WithContext(ctx)
	for worker := range workers {
		group.Go(func() error {
			for i := worker; i < len(files); i += workers {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				all[i] = p.decodeOne(root, files[i])
			}
			return nil
		})
	}
	return all, group.Wait()
}

// decodeOne reads a picture of the folder, which must be a regular file in it.
func (p Pictures) decodeOne(root *os.Root, f file) (one read) {
	one.file = f
	content, err := readIn(root, f.path)
	if err != nil {
		one.err = cmp.Or(errors.Unwrap(err), err) // without the path, which is said
		return one
	}
	whole, turned, err := decodePicture(content)
	if err != nil {
		one.err = err
		return one
	}
	scaled := scale(whole, middle(whole.Bounds()), p.Side, p.Side, turned)
	one.pixels = make([]uint8, 0, p.Images().Channels*p.Side*p.Side)
	for at := 0; at < len(scaled.Pix); at += 4 {
		pixel := color.RGBA{scaled.Pix[at], scaled.Pix[at+1], scaled.Pix[at+2], 255}
		if p.Grey {
			one.pixels = append(one.pixels, color.GrayModel.Convert(pixel).(color.Gray).Y)
		} else {
			one.pixels = append(one.pixels, pixel.R, pixel.G, pixel.B)
		}
	}
	one.content, one.shows = sha256.Sum256(content), sha256.Sum256(one.pixels)
	return one
}

// readIn reads a regular file of a folder, of bounded size. No link leaves the folder.
func readIn(root *os.Root, name string) ([]byte, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	if info.Size() > maxPictureBytes {
		return nil, fmt.Errorf("it has more than %d bytes", maxPictureBytes)
	}
	return root.ReadFile(name)
}

// divide divides pictures, which are in the order of their hashes: one in six of a class tests, the
// first at least and not all.
func divide(all []read, classes int) (train, test []read) {
	left, trains, tests := make([]int, classes), make([]int, classes), make([]int, classes)
	for _, one := range all {
		left[one.class]++
	}
	for _, one := range all {
		of, small := one.class, int(one.content[0])*testShare < 256 // in a sixth of all hashes
		left[of]--
		if (small || tests[of] == 0) && (left[of] > 0 || trains[of] > 0) {
			tests[of]++
			test = append(test, one)
		} else {
			trains[of]++
			train = append(train, one)
		}
	}
	return train, test
}

// images joins pictures that were read.
func (p Pictures) images(all []read) Images {
	of := p.Images()
	images := Images{Height: of.Height, Width: of.Width, Channels: of.Channels}
	images.Pixels = make([]uint8, 0, len(all)*images.Size())
	for _, one := range all {
		images.Pixels = append(images.Pixels, one.pixels...)
		images.Labels = append(images.Labels, one.class)
	}
	return images
}

// ownFingerprint is the SHA-256 of a set of own pictures.
func ownFingerprint(set *Set) string {
	hash := sha256.New()
	for _, images := range []Images{set.Train, set.Test} {
		fmt.Fprintf(hash, "%d×%d×%d×%d\n", images.Len(), images.Height, images.Width,
			images.Channels)
		hash.Write(images.Pixels)
		for _, label := range images.Labels {
			fmt.Fprintf(hash, "%d\n", label)
		}
	}
	fmt.Fprintf(hash, "%q\n", set.Classes)
	return fmt.Sprintf("%x", hash.Sum(nil))
}
