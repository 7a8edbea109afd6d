// Package report turns recorded runs into the tables and curves in results/. It trains nothing.
//
// A profile's folder holds table.csv (one line a row of the paper's table), table.md (the same beside the paper's numbers,
// for reading), curves/ (a learning curve for each run in the table), heldout.csv (what was measured on held-out training
// images, for choosing hyperparameters) and runs/, the recorded runs themselves.
package report
