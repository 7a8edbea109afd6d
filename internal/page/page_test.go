package page_test

import (
	"encoding/base64"
	"encoding/xml"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/page"
)

const drawing = `<svg xmlns="http://www.w3.org/2000/svg" width="2pt" height="1pt"><path d="M0,0L2,1"/></svg>`

// element is an element of a page, with all text in it.
type element struct {
	name       string
	attributes map[string]string
	text       string
}

// write writes a page into a folder with the figures a.svg and b.png, and reads it.
func write(t *testing.T, p page.Page) (elements []element, content string) {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "figures"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "figures", "a.svg"), []byte(drawing), 0o644))
	file, err := os.Create(filepath.Join(folder, "figures", "b c.png"))
	require.NoError(t, err)
	require.NoError(t, png.Encode(file, image.NewGray(image.Rect(0, 0, 3, 2))))
	require.NoError(t, file.Close())
	for i := range p.Sections {
		p.Sections[i].Folder = filepath.Join(folder, p.Sections[i].Folder)
	}
	path := filepath.Join(folder, "report.html")
	require.NoError(t, page.Write(path, p))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return parse(t, string(text)), string(text)
}

// parse reads a page's elements, and fails where they are not nested as they ought to be.
func parse(t *testing.T, content string) (elements []element) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(content))
	decoder.Strict, decoder.AutoClose, decoder.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var open []int
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			require.Empty(t, open)
			return elements
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			e := element{name: token.Name.Local, attributes: map[string]string{}}
			for _, a := range token.Attr {
				e.attributes[a.Name.Local] = a.Value
			}
			open = append(open, len(elements))
			elements = append(elements, e)
		case xml.EndElement:
			require.Equal(t, elements[open[len(open)-1]].name, token.Name.Local)
			open = open[:len(open)-1]
		case xml.CharData:
			for _, i := range open {
				elements[i].text += string(token)
			}
		}
	}
}

// named are the elements of a name.
func named(elements []element, name string) (found []element) {
	for _, e := range elements {
		if e.name == name {
			found = append(found, e)
		}
	}
	return found
}

// texts are the texts of the elements of a name.
func texts(elements []element, name string) (found []string) {
	for _, e := range named(elements, name) {
		found = append(found, e.text)
	}
	return found
}

func markdown(text string) page.Section { return page.Section{Markdown: []byte(text)} }

// Images are in the page as they are in their files.
func TestImages(t *testing.T) {
	elements, _ := write(t, page.Page{Sections: []page.Section{
		markdown("# Report\n\n![A \"drawing\" of `x`](figures/a.svg)\n![b](figures/b%20c.png)\n\nSee ![c](figures/a.svg)\n"),
	}})
	images := named(elements, "img")
	require.Len(t, images, 3)
	require.Equal(t, `A "drawing" of x`, images[0].attributes["alt"])

	svg, ok := strings.CutPrefix(images[0].attributes["src"], "data:image/svg+xml;base64,")
	require.True(t, ok)
	content, err := base64.StdEncoding.DecodeString(svg)
	require.NoError(t, err)
	require.Equal(t, drawing, string(content))

	encoded, ok := strings.CutPrefix(images[1].attributes["src"], "data:image/png;base64,")
	require.True(t, ok)
	picture, err := png.Decode(base64.NewDecoder(base64.StdEncoding, strings.NewReader(encoded)))
	require.NoError(t, err)
	require.Equal(t, image.Rect(0, 0, 3, 2), picture.Bounds())

	var classes []string
	for _, p := range named(elements, "p") {
		classes = append(classes, p.attributes["class"])
	}
	require.Equal(t, []string{"figures", ""}, classes, "a paragraph with words is not one of figures")
}

// What cannot be shown is an error that says what, and no page is written.
func TestErrors(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a.gif"), nil, 0o644))
	for text, says := range map[string][]string{
		"# A\n\n![x](figures/none.svg)":              {"figures/none.svg", filepath.Join(folder, "figures", "none.svg")},
		"# A\n\n![x](a.gif)":                         {filepath.Join(folder, "a.gif"), "neither SVG nor PNG"},
		"# A\n\n![x](https://example.org/a.png)":     {"https://example.org/a.png", "not the name of a file"},
		"# A\n\n![x](/figures/a.png)":                {"/figures/a.png", "not the name of a file"},
		"# A\n\n![x](data:image/png;base64,iVBORw0)": {"not the name of a file"},
		"No heading.":                                {"no heading"},
	} {
		path := filepath.Join(folder, "report.html")
		err := page.Write(path, page.Page{Sections: []page.Section{
			{Markdown: []byte("# First"), Folder: folder}, {Markdown: []byte(text), Folder: folder},
		}})
		require.ErrorContains(t, err, path+": section 2: ", text)
		for _, part := range says {
			require.ErrorContains(t, err, part, text)
		}
		require.NotContains(t, err.Error(), "\n")
		require.NoFileExists(t, path)
	}
}

// The contents leads to each section's heading, by ids that are unique on the page.
func TestContents(t *testing.T) {
	elements, _ := write(t, page.Page{Title: "All <b>", About: "Of & for", Sections: []page.Section{
		markdown("# Sweeps `T` & [more](a.md)\n\n## Network\n"), markdown("# Decodings\n\n## Network\n"), markdown("# Decodings\n"),
	}})
	require.Equal(t, []string{"All <b>"}, texts(elements, "h1"))
	require.Equal(t, []string{"All <b>"}, texts(elements, "title"))
	require.Equal(t, "Of & for", named(elements, "p")[0].text)
	require.Equal(t, []string{"Sweeps T & more", "Decodings", "Decodings"}, texts(elements, "h2"))
	require.Equal(t, []string{"Network", "Network"}, texts(elements, "h3"))
	ids := map[string]element{}
	for _, e := range elements {
		if id, ok := e.attributes["id"]; ok {
			require.NotContains(t, ids, id)
			ids[id] = e
		}
	}
	var contents []string
	for _, e := range named(elements, "a") {
		if id, ok := strings.CutPrefix(e.attributes["href"], "#"); ok {
			contents = append(contents, e.text)
			require.Equal(t, "h2", ids[id].name)
			require.Equal(t, e.text, ids[id].text)
		}
	}
	require.Equal(t, []string{"Sweeps T & more", "Decodings", "Decodings"}, contents)
	for i, e := range named(elements, "section") {
		require.Equal(t, contents[i], ids[e.attributes["aria-labelledby"]].text)
	}
}

// Links to files lead from the page's folder to where they led from the section's.
func TestLinks(t *testing.T) {
	s := markdown("# A\n\n[a](table.csv#x) [b](../runs/a%20b.csv) [c](https://example.org/) [d](#a) [e](javascript:x)\n")
	s.Folder = "heldout"
	elements, _ := write(t, page.Page{Sections: []page.Section{s}})
	var links []string
	for _, e := range named(elements, "a")[1:] {
		links = append(links, e.attributes["href"])
	}
	require.Equal(t, []string{"heldout/table.csv#x", "runs/a%20b.csv", "https://example.org/", "#a", ""}, links)
}

// The page loads nothing: no element names a file to load, the style names none, and browsers are told so.
func TestLoadsNothing(t *testing.T) {
	elements, content := write(t, page.Page{Title: "T", Sections: []page.Section{
		markdown("# A\n\n<script src=\"https://example.org/x.js\"></script>\n\nA <img src=\"x.png\"> b <!-- c -->\n\n![a](figures/a.svg)\n"),
	}})
	for _, e := range elements {
		require.NotContains(t, []string{"script", "link", "iframe", "object", "embed", "base", "video", "audio"}, e.name)
		if source, ok := e.attributes["src"]; ok {
			require.Equal(t, "img", e.name)
			require.True(t, strings.HasPrefix(source, "data:image/"), source)
		}
		require.NotContains(t, e.attributes, "srcset")
	}
	style := named(elements, "style")
	require.Len(t, style, 1)
	require.NotContains(t, style[0].text, "url(")
	require.NotContains(t, style[0].text, "@import")
	require.NotContains(t, content, "example.org")
	require.True(t, slices.ContainsFunc(named(elements, "meta"), func(e element) bool {
		return e.attributes["http-equiv"] == "Content-Security-Policy" &&
			e.attributes["content"] == "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
	}))
}

// All colours are declared for light and for dark, and figures stand on white in both.
func TestDark(t *testing.T) {
	elements, _ := write(t, page.Page{Title: "T"})
	style := named(elements, "style")[0].text
	light, dark, found := strings.Cut(style, "@media (prefers-color-scheme: dark)")
	require.True(t, found)
	dark, rest, _ := strings.Cut(dark, "\n}\n")
	require.Contains(t, light, "color-scheme: light dark")
	for _, part := range strings.Split(rest, "var(")[1:] {
		name, _, _ := strings.Cut(part, ")")
		require.Contains(t, light, name+": #")
		require.Contains(t, dark, name+": #")
	}
	require.Regexp(t, `img \{[^}]*background: #fff;`, rest)
}

// A cell of a verdict alone has its class, beside its column's alignment; a sentence has another, and other cells have none.
func TestTables(t *testing.T) {
	elements, _ := write(t, page.Page{Sections: []page.Section{
		markdown("# A\n\n| undecided? | n | verdict |\n|---|---:|:-:|\n| a | 1 | reproduced |\n| b | 2 | **contradicted** |\n" +
			"| c | 3 | *undecided* |\n| it is undecided | 4 | reproduced, almost |\n" +
			"| One sweep is better than none, others add little | 5 | – |\n"),
	}})
	require.Equal(t, []string{"undecided?", "n", "verdict"}, texts(elements, "th"))
	classes := map[string]string{}
	for _, e := range named(elements, "td") {
		if class, ok := e.attributes["class"]; ok {
			classes[e.text] = class
			if class != "sentence" {
				require.Equal(t, "text-align:center", e.attributes["style"])
			}
		}
	}
	require.Equal(t, map[string]string{
		"reproduced": "verdict reproduced", "contradicted": "verdict contradicted", "undecided": "verdict undecided",
		"One sweep is better than none, others add little": "sentence",
	}, classes)
	require.Equal(t, "text-align:right", named(elements, "td")[1].attributes["style"])
	require.True(t, slices.ContainsFunc(named(elements, "div"), func(e element) bool { return e.attributes["class"] == "table" }))
}
