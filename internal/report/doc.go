// Package report turns recorded runs into the tables, curves and figures in results/. It trains nothing.
//
// A profile's folder holds:
//   - claims.csv, the ledger: for each claim of the paper what was measured, its interval and a verdict, and claims.md, the
//     same for reading;
//   - table.csv, one line a row of the paper's table, table.md, the same beside the paper's numbers for reading, and
//     curves/, a learning curve for each run in the table; and likewise ablations.csv and ablations.md;
//   - unroll.csv, the learning curves of the unroll study, unroll_summary.csv, one line a number of sweeps with a paired
//     test against one sweep less, unroll.md, the same beside the paper's numbers, and its figures in figures/; and
//     likewise for each other study of sweeps;
//   - decoding.csv, how faithful decodings of each block are, decoding.md and residuals.md, the same for reading with the
//     pictures in figures/;
//   - report.html, all of this on one page without other files;
//   - heldout.csv, what was measured on held-out training images, for choosing hyperparameters;
//   - runs/, the recorded runs themselves.
package report
