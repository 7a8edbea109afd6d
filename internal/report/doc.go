// Package report turns verified records into the tables, curves, figures and pages in results/. Reports follow from the records
// alone: it trains nothing, reads no data, and never reads back what it wrote.
//
// A profile's folder holds:
//   - runs/, the records;
//   - claims.csv, the ledger: for each claim of the paper what was measured, its interval and a verdict, and claims.md, the
//     same for reading;
//   - table.csv, one line a row of the paper's table, table.md, the same beside the paper's numbers for reading, and
//     curves/, a learning curve for each run in the table; and likewise ablations.csv and ablations.md;
//   - unroll.csv, the learning curves of the unroll study, unroll_summary.csv, one line a number of sweeps with a paired
//     test against one sweep less, unroll.md, the same beside the paper's numbers, and its figures in figures/; and
//     likewise for each other study of sweeps;
//   - decoding.csv, how faithful decodings of each block are, decoding.md and residuals.md, the same for reading with the
//     pictures in figures/, and figures/*_widths, runs that differ in their width alone;
//   - trials.csv, the runs with other settings than the profile's own;
//   - scans.csv and figures/scan_*, the held-out error against a setting, where runs differ in that one alone;
//   - grid.csv and figures/*_grid_*, the held-out error at all points of a study's grid of settings;
//   - report.html, all of this and all runs on one page without other files: it opens with the score of the claims and the table, its
//     tables sort and filter, and its charts show values at the mouse, zoom, and switch rows on and off.
//
// The folder of all results has errors.csv and errors.svg, the test errors of all profiles against the hours of training, and paper.csv, the
// paper's numbers.
//
// A study's runs may come from several settings, a data set and a machine. Tables show them one after another, figures and the
// ledger show the first, and runs are compared within a setting alone.
package report
