package report

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

//go:embed page.html
var pageSource string

var pageTemplate = template.Must(template.New("page").Parse(pageSource))

// renderer turns Markdown with tables into HTML. It leaves out HTML in the Markdown.
var renderer = goldmark.New(goldmark.WithExtensions(extension.Table))

// section is a report on the page.
type section struct {
	ID, Title string
	Body      template.HTML
}

// reportPage adds the page with all reports: the ledger of claims, then each study with its figures. It holds style and figures
// itself and loads nothing.
func (p *Profile) reportPage(out output) error {
	names := []string{ClaimsFile}
	for _, study := range p.suite {
		names = append(names, Summary(study))
	}
	page := struct {
		Title, About string
		Sections     []section
	}{
		Title: "EB-SSC at profile " + p.Name,
		About: "Energy-Based Spherical Sparse Coding (Kong and Fowlkes), reproduced: " + p.declared.About,
	}
	for _, name := range names {
		if out[name] == nil {
			continue
		}
		s, err := out.section(name)
		if err != nil {
			return fmt.Errorf("%s on the page: %w", name, err)
		}
		page.Sections = append(page.Sections, s)
	}
	if len(page.Sections) == 0 {
		return nil
	}
	var text bytes.Buffer
	if err := pageTemplate.Execute(&text, page); err != nil {
		return fmt.Errorf("writing %s: %w", PageFile, err)
	}
	out[PageFile] = text.Bytes()
	return nil
}

// heading is the beginning of a line with a heading. On the page the report's title is one level down.
var heading = regexp.MustCompile(`(?m)^#`)

// section is a report in Markdown as a section of the page.
func (o output) section(name string) (s section, err error) {
	title, _, _ := strings.Cut(strings.TrimPrefix(string(o[name]), "# "), "\n")
	var html bytes.Buffer
	if err := renderer.Convert(heading.ReplaceAll(o[name], []byte("##")), &html); err != nil {
		return section{}, err
	}
	body, err := o.inline(styled.Replace(html.String()))
	return section{ID: strings.TrimSuffix(name, ".md"), Title: strings.ReplaceAll(title, "`", ""), Body: template.HTML(body)}, err
}

// styled puts tables into boxes that scroll, figures side by side, and colours verdicts.
var styled = strings.NewReplacer(
	"<table>", `<div class="table" role="group" aria-label="Table" tabindex="0"><table>`, "</table>", "</table></div>",
	"<p><img", `<p class="figures"><img`,
	"<td>"+Reproduced+"<", `<td class="agrees">`+Reproduced+"<",
	"<td>"+Agrees+"<", `<td class="agrees">`+Agrees+"<",
	"<td>"+Contradicted+"<", `<td class="disagrees">`+Contradicted+"<",
	"<td>"+Disagrees+"<", `<td class="disagrees">`+Disagrees+"<",
	"<td>"+Open+"<", `<td class="open">`+Open+"<",
)

// media are the types of pictures by the ends of their files' names.
var media = map[string]string{".svg": "image/svg+xml", ".png": "image/png"}

// source is the address of a picture in HTML.
var source = regexp.MustCompile(`src="([^"]*)"`)

// inline puts pictures in the place of their files' names.
func (o output) inline(html string) (inlined string, err error) {
	inlined = source.ReplaceAllStringFunc(html, func(attribute string) string {
		name := source.FindStringSubmatch(attribute)[1]
		if o[name] == nil || media[path.Ext(name)] == "" {
			err = fmt.Errorf("picture %s is not one of the report's", name)
		}
		return fmt.Sprintf(`src="data:%s;base64,%s"`, media[path.Ext(name)], base64.StdEncoding.EncodeToString(o[name]))
	})
	return inlined, err
}
