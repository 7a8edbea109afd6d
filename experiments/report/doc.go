// Package report turns recorded runs into the tables, curves and figures in results/. It trains nothing.
//
// A profile's folder holds:
//   - table.csv, one line a row of the paper's table, table.md, the same beside the paper's numbers for reading, and
//     curves/, a learning curve for each run in the table;
//   - unroll.csv, the learning curves of the unroll study, unroll_summary.csv, one line a number of sweeps with a paired
//     test against one sweep less, unroll.md, the same beside the paper's numbers, and its figures in figures/; and
//     likewise for each other study of sweeps;
//   - decoding.csv, how faithful decodings of each block are, decoding.md and residuals.md, the same for reading with the
//     pictures in figures/;
//   - heldout.csv, what was measured on held-out training images, for choosing hyperparameters;
//   - runs/, the recorded runs themselves.
package report
