package dataset

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// maxUnpacked is how much an archive may unpack to: the six files and room for tar's own blocks and the notes beside them.
const maxUnpacked = 6*cifarBytes + 1<<20

// readCIFAR10Archive reads the six files out of the official archive, or another one like it, into memory.
func readCIFAR10Archive(place string) ([]dataFile, error) {
	f, err := openPlain(place, maxUnpacked+gzipRoom)
	if err != nil {
		return nil, err
	}
	files, err := unpackCIFAR10(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w; download it again", place, err)
	}
	for i := range files {
		files[i].place = place + ":" + files[i].name
	}
	return files, nil
}

// unpackCIFAR10 reads the six files from a gzipped tar stream.
//
// The archive cannot do harm: no name in it becomes a path, as nothing is written; a data file is refused unless its size
// is right; what unpacks to more than all of them is refused. Links, devices and names that would lead out of a folder
// have no place in it and are refused as signs of another archive. Other files, as there are in the official one, are
// passed over.
func unpackCIFAR10(compressed io.Reader) ([]dataFile, error) {
	unzipped, err := gzip.NewReader(compressed)
	if err != nil {
		return nil, fmt.Errorf("not a gzip file: %w", err)
	}
	limited := &io.LimitedReader{R: unzipped, N: maxUnpacked}
	files, err := untarCIFAR10(limited)
	if err == nil {
		// gzip compares its checksum at the end of the stream.
		_, err = io.Copy(io.Discard, limited)
	}
	if limited.N <= 0 {
		return nil, fmt.Errorf("unpacks to more than the %d bytes that CIFAR-10 needs", maxUnpacked)
	}
	if err != nil {
		return nil, err
	}
	return files, nil
}

func untarCIFAR10(r io.Reader) ([]dataFile, error) {
	files := make([]dataFile, len(cifarFiles))
	archive := tar.NewReader(r)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("truncated or damaged: %w", err)
		}
		if err := checkEntry(header); err != nil {
			return nil, err
		}
		i := slices.Index(cifarFiles, path.Base(header.Name))
		if i < 0 || header.Typeflag != tar.TypeReg {
			continue
		}
		if files[i].bytes != nil {
			return nil, fmt.Errorf("two files %s in it", cifarFiles[i])
		}
		if err := checkCIFAR10Size(header.Name, header.Size); err != nil {
			return nil, err
		}
		content := make([]byte, cifarBytes)
		if _, err := io.ReadFull(archive, content); err != nil {
			return nil, fmt.Errorf("%s is truncated or damaged: %w", header.Name, err)
		}
		files[i] = dataFile{name: cifarFiles[i], bytes: content}
	}
	for i, f := range files {
		if f.bytes == nil {
			return nil, fmt.Errorf("no %s in it", cifarFiles[i])
		}
	}
	return files, nil
}

// checkEntry refuses what a plain archive of files does not have.
func checkEntry(header *tar.Header) error {
	switch header.Typeflag {
	case tar.TypeReg, tar.TypeDir, tar.TypeXGlobalHeader:
	default:
		return fmt.Errorf("%q in it is neither a file nor a folder", header.Name)
	}
	if path.IsAbs(header.Name) || slices.Contains(strings.Split(header.Name, "/"), "..") {
		return fmt.Errorf("%q in it leads out of the folder it is unpacked in", header.Name)
	}
	return nil
}
