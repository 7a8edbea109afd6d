// Package report turns the records of a profile into tables and figures, on one path: the planned runs' IDs and the records become typed tables,
// which are printed as Markdown, CSV and text. The same records give the same bytes.
//
//	profile.go     the records of a folder, and the rows that they belong to
//	table.go       tables, and how they are printed
//	contrast.go    weighted sums of a quantity, paired over seeds
//	claims.go      verdicts on the paper's claims
//	rows.go        the tables of a study's rows and of their differences
//	decodings.go   what networks decode
//	runs.go        all runs, trials and learning curves
//	figures.go     the charts
//	readme.go      the page of a profile
//	write.go       the files of a profile, and their manifest
//	compare.go     two folders of one profile
package report
