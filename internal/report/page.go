package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ebsscgo/experiments"
	"ebsscgo/internal/page"
)

// PageFile is the name of the page with all reports, in a profile's folder.
const PageFile = "report.html"

// WritePage writes all reports of a profile on one page that needs no other file: the ledger of claims, then each study with
// its figures. Where nothing is reported yet, it writes nothing.
func WritePage(results, profile string) error {
	folder := filepath.Join(results, profile)
	declared, err := experiments.FindProfile(profile)
	if err != nil {
		return err
	}
	if !exists(folder) {
		return nil
	}
	unlock, err := lock(folder)
	if err != nil {
		return err
	}
	defer unlock()
	p := page.Page{Title: "EB-SSC at profile " + profile, About: "Energy-Based Spherical Sparse Coding (Kong and Fowlkes), reproduced: " + declared.About}
	reports := []string{ClaimsFile}
	for _, study := range experiments.Studies {
		reports = append(reports, Summary(study))
	}
	for _, name := range reports {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading a report: %w", err)
		}
		p.Sections = append(p.Sections, page.Section{Markdown: text, Folder: folder})
	}
	if len(p.Sections) == 0 {
		return nil
	}
	return page.Write(filepath.Join(folder, PageFile), p)
}
