// Package filetest writes and reads files for tests. Each function ends the test where it fails.
package filetest

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/stretchr/testify/require"
)

// Write writes a file, and makes the folder that it lies in.
func Write[Content string | []byte](t require.TestingT, path string, content Content) {
	write(t, path, []byte(content), 0o644)
}

// WriteScript writes a program of shell commands, and makes the folder that it lies in.
func WriteScript(t require.TestingT, path, commands string) {
	write(t, path, []byte("#!/bin/sh\n"+commands+"\n"), 0o755)
}

// Copy copies a file or a program, and makes the folder that it goes to.
func Copy(t require.TestingT, from, to string) {
	write(t, to, []byte(Read(t, from)), 0o755)
}

func write(t require.TestingT, path string, content []byte, mode fs.FileMode) {
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, content, mode))
}

// Read returns what a file holds.
func Read(t require.TestingT, path string) string {
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(content)
}

// Tree returns what all files below a folder hold, by their paths in it, without those in folders
// of the given names.
func Tree(t require.TestingT, folder string, without ...string) map[string]string {
	all := map[string]string{}
	require.NoError(t, fs.WalkDir(os.DirFS(folder), ".",
		func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case !entry.IsDir():
				all[path] = Read(t, filepath.Join(folder, path))
			case slices.Contains(without, entry.Name()):
				return fs.SkipDir
			}
			return nil
		}))
	return all
}
