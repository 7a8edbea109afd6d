#!/usr/bin/env bash
# linfa 0.8.1: precision and recall of a confusion matrix are swapped, but for one of the ways to
# make it. confusion_matrix puts predictions in rows, while precision divides by a column and recall
# by a row, as the documentation has it ("rows correspond to target"). For a prediction in an array
# and the truth in a dataset it swaps the two, and the scores are right. So the same predictions get
# the precision of 0.25 or 1, and the example of precision prints the recall. There is no error; the
# mean over many classes is swapped, too. Guess before, from the documentation: of one true positive
# and three missed ones the precision 1 and the recall 0.25, whatever holds them. Needs Rust with
# cargo.
set -euo pipefail
# shellcheck source=findings/lib/rust.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/rust.sh"

run_rust 'by hand: precision 1, recall 0.25
two arrays: precision 0.25, recall 1
two datasets: precision 0.25, recall 1
array and dataset: precision 1, recall 0.25' linfa@0.8.1 ndarray@0.16.1 <<'RUST'
use linfa::metrics::{ConfusionMatrix, ToConfusionMatrix};
use linfa::Dataset;
use ndarray::{array, Array2};

fn main() {
    let truth = array![true, true, true, true, false, false, false, false, false, false];
    let predicted = array![true, false, false, false, false, false, false, false, false, false];
    let count = |one: &ndarray::Array1<bool>| one.iter().filter(|positive| **positive).count();
    let hits = (&truth & &predicted).iter().filter(|positive| **positive).count() as f64;
    println!(
        "by hand: precision {}, recall {}",
        hits / count(&predicted) as f64,
        hits / count(&truth) as f64
    );
    let records = Array2::<f64>::zeros((10, 1));
    let truths = Dataset::new(records.clone(), truth.clone());
    let predictions = Dataset::new(records, predicted.clone());
    show("two arrays", predicted.confusion_matrix(&truth).unwrap());
    show("two datasets", predictions.confusion_matrix(&truths).unwrap());
    show("array and dataset", predicted.confusion_matrix(&truths).unwrap());
}

fn show(way: &str, matrix: ConfusionMatrix<bool>) {
    println!("{way}: precision {}, recall {}", matrix.precision(), matrix.recall());
}
RUST
