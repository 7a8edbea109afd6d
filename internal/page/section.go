package page

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// section is a section as HTML: its heading's id and text, and all of it, the heading too.
type section struct {
	ID          string
	Title, Body template.HTML
}

// verdicts are the words that are coloured where a cell of a table says nothing else.
var verdicts = []string{"reproduced", "contradicted", "undecided"}

// sentence is the length in bytes beyond which a cell is kept wide enough to be read on a narrow screen.
const sentence = 30

// types are the media types of images by their files' suffixes.
var types = map[string]string{".svg": "image/svg+xml", ".png": "image/png"}

// Renderers of lower priority values go before those of others; goldmark's own have 500 and more.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(nodes{}, 100))),
)

// convert is a section as HTML. base is its folder as seen from the page's.
func (s Section) convert(base string, ids parser.IDs) (section, error) {
	document := markdown.Parser().Parse(text.NewReader(s.Markdown), parser.WithContext(parser.NewContext(parser.WithIDs(ids))))
	var heading *ast.Heading
	err := ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := node.(type) {
		case *ast.Heading:
			if heading == nil {
				heading = n
			}
			n.Level = min(n.Level+1, 6) // the page's title stands above them
		case *ast.Paragraph:
			if onlyImages(n) {
				n.SetAttributeString("class", []byte("figures"))
			}
		case *ast.Link:
			n.Destination = rebased(n.Destination, base)
		case *ast.Image:
			return ast.WalkContinue, s.inline(n)
		case *tables.TableCell:
			if content := string(words(n, s.Markdown)); slices.Contains(verdicts, content) {
				n.SetAttributeString("class", []byte("verdict "+content))
			} else if len(content) > sentence {
				n.SetAttributeString("class", []byte("sentence"))
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return section{}, err
	}
	if heading == nil {
		return section{}, errors.New("it has no heading to list it by, begin it with a line '# …'")
	}
	var body bytes.Buffer
	if err := markdown.Renderer().Render(&body, s.Markdown, document); err != nil {
		return section{}, err
	}
	id, _ := heading.AttributeString("id")
	return section{ID: string(id.([]byte)), Title: words(heading, s.Markdown), Body: template.HTML(body.String())}, nil
}

// inline puts an image's file in the place of its name.
func (s Section) inline(image *ast.Image) error {
	name := string(image.Destination)
	location, err := url.Parse(name)
	if err != nil || !isFile(location) {
		return fmt.Errorf("image %s is not the name of a file beside the Markdown", name)
	}
	file := filepath.Join(s.Folder, filepath.FromSlash(location.Path))
	media, ok := types[strings.ToLower(filepath.Ext(file))]
	if !ok {
		return fmt.Errorf("image %s (%s) is neither SVG nor PNG", name, file)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("image %s cannot be read, write its report anew: %w", name, err)
	}
	image.Destination = []byte("data:" + media + ";base64," + base64.StdEncoding.EncodeToString(content))
	return nil
}

// rebased is a link from the page's folder; what does not lead to a file stays as it is.
func rebased(link []byte, base string) []byte {
	location, err := url.Parse(string(link))
	if err != nil || !isFile(location) {
		return link
	}
	location.Path, location.RawPath = path.Join(base, location.Path), ""
	return []byte(location.String())
}

// isFile says whether a location is a path that counts from a folder.
func isFile(location *url.URL) bool {
	return location.Scheme == "" && location.Host == "" && location.Path != "" && !path.IsAbs(location.Path)
}

// onlyImages says whether a paragraph holds images and nothing else.
func onlyImages(paragraph *ast.Paragraph) bool {
	for n := paragraph.FirstChild(); n != nil; n = n.NextSibling() {
		t, isText := n.(*ast.Text)
		isBreak := isText && t.Segment.IsEmpty()
		if _, isImage := n.(*ast.Image); !isImage && !isBreak {
			return false
		}
	}
	return true
}

// words are the text in a node, escaped for HTML but without elements.
func words(node ast.Node, source []byte) template.HTML {
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	_ = ast.Walk(node, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := node.(type) {
		case *ast.AutoLink:
			html.DefaultWriter.RawWrite(w, n.Label(source))
		case *ast.Text:
			if n.IsRaw() {
				html.DefaultWriter.RawWrite(w, n.Segment.Value(source))
			} else {
				html.DefaultWriter.Write(w, n.Segment.Value(source))
			}
			if n.SoftLineBreak() || n.HardLineBreak() {
				w.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	w.Flush()
	return template.HTML(b.String())
}

// nodes renders what goldmark's own renderers do not as it is wanted here.
type nodes struct{}

// RegisterFuncs implements [renderer.NodeRenderer].
func (nodes) RegisterFuncs(registry renderer.NodeRendererFuncRegisterer) {
	registry.Register(ast.KindImage, renderImage)
	registry.Register(tables.KindTable, renderTable)
}

// renderImage renders an image that is inlined. goldmark itself leaves out SVG in an address, as a browser that opens it as a
// page runs its scripts; in an image none run.
func renderImage(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		fmt.Fprintf(w, `<img src="%s" alt="%s">`, node.(*ast.Image).Destination, words(node, source))
	}
	return ast.WalkSkipChildren, nil
}

// renderTable puts a table into a box of its own, which scrolls where the table is too wide; with the keyboard, too.
func renderTable(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		w.WriteString("<div class=\"table\" role=\"group\" aria-label=\"Table\" tabindex=\"0\">\n<table>\n")
	} else {
		w.WriteString("</table>\n</div>\n")
	}
	return ast.WalkContinue, nil
}
