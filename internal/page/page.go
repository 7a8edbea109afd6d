// Package page turns reports in Markdown into one HTML page that holds all it shows: style and figures are in the file, and
// it loads nothing, neither from the network nor from beside it.
package page

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"path/filepath"

	"github.com/yuin/goldmark/parser"

	"ebsscgo/internal/files"
)

// Page is what stands in a page.
type Page struct {
	// Title of the page, and About, a sentence or two below it: plain text.
	Title, About string
	// Sections in their order. The page's contents lists them by their first headings.
	Sections []Section
}

// Section is a report of its own.
type Section struct {
	// Markdown with tables as on GitHub. It has a heading; HTML in it is left out. Images are SVG or PNG files.
	Markdown []byte
	// Folder that images and links to files count from.
	Folder string
}

//go:embed page.html
var source string

var layout = template.Must(template.New("page").Parse(source))

// Write writes a page, with images as part of it and links to files turned into those from the page's folder. An image that
// cannot be read is an error, as is a section without a heading.
func Write(path string, p Page) error {
	ids := parser.NewContext().IDs() // shared, as sections have headings in common
	var sections []section
	for i, s := range p.Sections {
		base, err := filepath.Rel(filepath.Dir(path), s.Folder)
		if err != nil {
			return fmt.Errorf("%s: links of section %d: %w", path, i+1, err)
		}
		converted, err := s.convert(filepath.ToSlash(base), ids)
		if err != nil {
			return fmt.Errorf("%s: section %d: %w", path, i+1, err)
		}
		sections = append(sections, converted)
	}
	var b bytes.Buffer
	err := layout.Execute(&b, struct {
		Page
		Sections []section
	}{p, sections})
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return files.Write(path, b.Bytes())
}
