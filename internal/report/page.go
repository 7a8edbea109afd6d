package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"image/color"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ebsscgo/internal/plot"
)

// pageFiles are the page's template, style and script, and the libraries that it holds. docs/dependencies.md has their versions and SHA-256.
//
//go:embed page
var pageFiles embed.FS

// pageTemplate writes the page.
var pageTemplate = template.Must(template.New("page.html").Funcs(template.FuncMap{
	"inline": inline, "join": strings.Join,
}).ParseFS(pageFiles, "page/page.html"))

// pageScripts are the files of the page's scripts, in the order in which they run.
var pageScripts = []string{"echarts-6.1.0.common.min.js", "sortable-4.1.7.min.js", "sortable-4.1.7.a11y.min.js", "page.js"}

// pageNotices are the files with what the licences of the libraries ask to be passed on.
var pageNotices = []string{"echarts-NOTICE", "zrender-LICENSE", "d3-LICENSE"}

// pageFile is the text of one of the page's files.
func pageFile(name string) string {
	text, err := pageFiles.ReadFile("page/" + name)
	if err != nil {
		panic(err) // it is in the program
	}
	return string(text)
}

// page is what the template shows.
type page struct {
	Title, About, Score string
	// Policy for browsers: nothing is loaded, and no other scripts run than the page's.
	Policy  string
	Style   template.CSS
	Scripts []template.JS
	Notices template.HTML
	// Main is in the open; the others fold.
	Main   part
	Others []part
}

// part is a document on the page.
type part struct {
	Name, Heading string
	// Setting of the first block, empty where it is of none.
	Setting string
	Blocks  []pageBlock
}

// pageBlock is a block of a document on the page.
type pageBlock struct {
	Heading string
	Table   pageTable
	// Legend names the rows of all charts.
	Legend   []string
	Charts   []chart
	Pictures []picture
	Notes    []string
}

// picture is one that the page holds itself.
type picture struct {
	Title  string
	Source template.URL
}

// reportPage adds the page with all documents: the score of the claims and the first study's table in the open, all else folded. It holds
// style, scripts and pictures itself and loads nothing.
func (p *Profile) reportPage(out output, documents []document) error {
	if len(documents) == 0 {
		return nil
	}
	shown := page{
		Title: "EB-SSC at profile " + p.Name,
		About: fmt.Sprintf("A reproduction of Energy-Based Spherical Sparse Coding (Kong and Fowlkes), profile %s: %s", p.Name, p.declared.About),
		Style: template.CSS(pageFile("page.css") + hueStyle()),
	}
	shown.addScripts()
	documents = append(slices.Clone(documents), p.runsDocument())
	for _, d := range documents {
		shown.Score += d.score
		shown.Others = append(shown.Others, out.part(d))
	}
	main := slices.IndexFunc(documents, func(d document) bool { return d.score == "" })
	shown.Main = shown.Others[main]
	shown.Others = slices.Delete(shown.Others, main, main+1)
	var text bytes.Buffer
	if err := pageTemplate.Execute(&text, shown); err != nil {
		return fmt.Errorf("writing %s: %w", PageFile, err)
	}
	out[PageFile] = text.Bytes()
	return nil
}

// addScripts adds the scripts, the policy that lets them alone run, and the notices of their licences.
func (p *page) addScripts() {
	p.Policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src"
	for _, name := range pageScripts {
		script := pageFile(name)
		sum := sha256.Sum256([]byte(script))
		p.Policy += fmt.Sprintf(" 'sha256-%s'", base64.StdEncoding.EncodeToString(sum[:]))
		p.Scripts = append(p.Scripts, template.JS(script))
	}
	notices := ""
	for _, name := range pageNotices {
		notices += fmt.Sprintf("%s\n%s\n", name, pageFile("licences/"+name))
	}
	p.Notices = template.HTML("<!--\n" + notices + "-->")
}

// hueStyle is the style with the colours of rows: those of the figures, and lighter ones of the same hues in the dark.
func hueStyle() string {
	var light, dark []string
	for i := range plot.MaxCurves {
		light, dark = append(light, cssColour(plot.Hue(i))), append(dark, cssColour(plot.DarkHue(i)))
	}
	return fmt.Sprintf(":root { --hues: %s; }\n@media (prefers-color-scheme: dark) { :root { --hues: %s; } }\n", strings.Join(light, " "), strings.Join(dark, " "))
}

// cssColour is a colour as style sheets write it.
func cssColour(c color.Color) string {
	opaque := color.NRGBAModel.Convert(c).(color.NRGBA)
	return fmt.Sprintf("#%02x%02x%02x", opaque.R, opaque.G, opaque.B)
}

// part is the document as a part of the page.
func (o output) part(d document) part {
	made := part{Name: d.name, Heading: d.heading}
	if first := d.blocks[0].setting; first.Groups != nil {
		made.Setting = first.Title()
	}
	several := d.severalSettings()
	for _, b := range d.blocks {
		shown := pageBlock{Heading: b.title, Table: b.table.page(), Notes: b.notes}
		if several {
			shown.Heading = strings.TrimPrefix(b.title+", "+b.setting.Title(), ", ")
		}
		for _, f := range b.figures {
			for _, c := range f.charts {
				shown.Charts = append(shown.Charts, c)
				for _, row := range c.Rows {
					if !slices.Contains(shown.Legend, row) {
						shown.Legend = append(shown.Legend, row)
					}
				}
			}
			if len(f.charts) == 0 {
				shown.Pictures = append(shown.Pictures, o.picture(f))
			}
		}
		made.Blocks = append(made.Blocks, shown)
	}
	return made
}

// runsDocument lists all recorded runs for the page.
func (p *Profile) runsDocument() document {
	return document{name: "runs", heading: "all recorded runs, trials too", blocks: []block{{table: pageColumns.table(p.Runs())}}}
}

// media are the types of pictures by the ends of their files' names.
var media = map[string]string{".svg": "image/svg+xml", ".png": "image/png"}

// picture holds the bytes of a figure.
func (o output) picture(f figure) picture {
	source := fmt.Sprintf("data:%s;base64,%s", media[path.Ext(f.path)], base64.StdEncoding.EncodeToString(o[f.path]))
	return picture{f.title, template.URL(source)}
}

// inline is text in HTML, with code between backquotes.
func inline(text string) template.HTML {
	var html strings.Builder
	for i, part := range strings.Split(text, "`") {
		if part = template.HTMLEscapeString(part); i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		html.WriteString(part)
	}
	return template.HTML(html.String())
}

// pageTable is a table on the page.
type pageTable struct {
	Headings []cell
	Rows     [][]cell
}

// cell is a cell of a table on the page, and the class of its style.
type cell struct {
	Text, Class string
	// Key is the number by which the column is sorted, empty for the dash, which comes last; Sorted says whether there is one.
	Key    string
	Sorted bool
}

// longText is the number of characters from which a text takes a wide column.
const longText = 40

// verdictClasses colour the cells of verdicts.
var verdictClasses = map[string]string{Reproduced: "agrees", Agrees: "agrees", Contradicted: "disagrees", Disagrees: "disagrees", Open: "open"}

// page is the table for the page. A column whose texts all begin with a number is sorted by them.
func (t table) page() pageTable {
	made := pageTable{Rows: make([][]cell, len(t.rows))}
	for column := range t.headings {
		numeric, long := true, false
		for _, row := range t.rows {
			_, ok := leadingNumber(row[column])
			numeric = numeric && (ok || row[column] == orDash(""))
			long = long || len([]rune(row[column])) > longText
		}
		for i, row := range t.rows {
			c := cell{Text: row[column], Class: verdictClasses[row[column]], Sorted: numeric || row[column] == orDash("")}
			if numeric {
				c.Key, _ = leadingNumber(c.Text)
			}
			if long && !numeric {
				c.Class = "long"
			}
			if t.numbers[column] {
				c.Class = "number"
			}
			made.Rows[i] = append(made.Rows[i], c)
		}
		heading := cell{Text: t.headings[column]}
		if t.numbers[column] {
			heading.Class = "number"
		}
		made.Headings = append(made.Headings, heading)
	}
	return made
}

// numberFirst is a number at the beginning of a text.
var numberFirst = regexp.MustCompile(`^<?([−-]?[0-9]+(?:\.[0-9]+)?(?:e[−-]?[0-9]+)?)(M?)(?: |$)`)

// leadingNumber is the number at the beginning of a text, such as "−4.18 (−4.97 to −3.39)" or "1.3M", as JavaScript reads it.
func leadingNumber(text string) (number string, ok bool) {
	match := numberFirst.FindStringSubmatch(text)
	if match == nil {
		return "", false
	}
	number = strings.ReplaceAll(match[1], "−", "-")
	if match[2] == "M" {
		number += "e6"
	}
	_, err := strconv.ParseFloat(number, 64)
	return number, err == nil
}
