package report_test

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/report"
)

// element is an element of a page, with all text in it.
type element struct {
	name       string
	attributes map[string]string
	text       string
}

// page writes reports of several studies, and returns the page and its elements, which must be nested as they ought to be.
func page(t *testing.T, suite experiments.Suite) (content string, elements []element) {
	results := t.TempDir()
	add(t, results, "relu-lc7", 1, wrong(300))
	add(t, results, "crelu-lc7", 1, wrong(200))
	add(t, results, "crelu-lc7", 1, wrong(200), images("mnist32"))
	add(t, results, "unroll-0", 1)
	_, err := report.Write(results, "smoke", suite)
	require.NoError(t, err)
	content = read(t, results, report.PageFile)
	decoder := xml.NewDecoder(strings.NewReader(content))
	decoder.Strict, decoder.AutoClose, decoder.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var open []int
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			require.Empty(t, open)
			return content, elements
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			e := element{name: token.Name.Local, attributes: map[string]string{}}
			for _, a := range token.Attr {
				e.attributes[a.Name.Local] = a.Value
			}
			open, elements = append(open, len(elements)), append(elements, e)
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

// The page holds every report, and its contents leads to each.
func TestPage(t *testing.T) {
	content, elements := page(t, suite)
	var headings, contents, sections []string
	figures, verdicts := 0, 0
	for _, e := range elements {
		switch {
		case e.name == "h1" || e.name == "h2" || e.name == "title":
			headings = append(headings, e.text)
		case e.name == "a":
			contents = append(contents, e.attributes["href"])
		case e.name == "section":
			sections = append(sections, "#"+e.attributes["id"])
		case e.name == "p" && e.attributes["class"] == "figures":
			figures++
		case e.name == "td" && e.attributes["class"] == "open":
			require.Equal(t, report.Open, e.text)
			verdicts++
		}
	}
	require.Equal(t, []string{"EB-SSC at profile smoke", "EB-SSC at profile smoke", "What the paper claims, and what was measured at profile smoke",
		"table: the rows of the paper's Table 2, at profile smoke", "unroll: the paper's Fig. 3: a two-block model with 0 to 4 sweeps of inference, at profile smoke"}, headings)
	require.Equal(t, []string{"#claims", "#table", "#unroll"}, contents)
	require.Equal(t, contents, sections)
	require.Equal(t, 2, figures)
	require.Equal(t, 14+36, verdicts, "of all claims, and of each comparison")
	require.Contains(t, content, "<h3>MNIST (padded to 32×32×3)")
	require.Contains(t, content, `<td style="text-align:right">30.00</td>`)
}

// The page loads nothing: no element names a file to load, the style names none, and browsers are told so. Titles hold no HTML.
func TestPageLoadsNothing(t *testing.T) {
	hostile := slices.Clone(suite)
	hostile[0].Experiments = slices.Clone(hostile[0].Experiments)
	hostile[0].Experiments[0].Title = `ReLU<script src="https://example.org/x.js"></script> | <b onclick="x">c</b>`
	content, elements := page(t, hostile)
	policy := false
	for _, e := range elements {
		require.NotContains(t, []string{"script", "link", "iframe", "object", "embed", "base", "video", "audio"}, e.name)
		if source, ok := e.attributes["src"]; ok {
			require.Equal(t, "img", e.name)
			require.True(t, strings.HasPrefix(source, "data:image/svg+xml;base64,"), source)
		}
		policy = policy || e.attributes["http-equiv"] == "Content-Security-Policy" &&
			e.attributes["content"] == "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
	}
	require.True(t, policy)
	require.NotContains(t, content, "example.org/x.js\"")
	require.NotContains(t, content, "<b ")
	require.NotContains(t, content, "url(")
	require.NotContains(t, content, "@import")

	hostile[0].Experiments[0].Title = "![a](https://example.org/b.png)"
	results := t.TempDir()
	add(t, results, "relu-lc7", 1)
	_, err := report.Write(results, "smoke", hostile)
	require.ErrorContains(t, err, "picture https://example.org/b.png is not one of the report's")
	require.NoFileExists(t, results+"/smoke/report.html")
}

// All colours are declared for light and for dark, and figures stand on white in both.
func TestPageInTheDark(t *testing.T) {
	content, _ := page(t, suite)
	light, dark, found := strings.Cut(content, "@media (prefers-color-scheme: dark)")
	require.True(t, found)
	dark, rest, _ := strings.Cut(dark, "\n}\n")
	require.Contains(t, light, "color-scheme: light dark")
	rest, _, _ = strings.Cut(rest, "</style>")
	for _, part := range strings.Split(rest, "var(")[1:] {
		name, _, _ := strings.Cut(part, ")")
		require.Contains(t, light, name+": #")
		require.Contains(t, dark, name+": #")
	}
	require.Regexp(t, `img \{[^}]*background: #fff;`, rest)
}
