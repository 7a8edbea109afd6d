#!/usr/bin/env bash
# smartcore 0.7.0: the slopes of ElasticNet depend on the mean of the target. The fit appends one
# row per feature for the squared penalty, with the target 0, and the optimizer then subtracts the
# mean of all targets, so that these rows ask for a negative slope in place of none. A rising line
# falls when it lies high enough; only a target of mean 0 comes out right. There is no error.
# l1_ratio = 1, without a squared penalty, is right. Guess before, from the objective that is
# documented and the intercept: the same slope at each height, of one feature x with n rows, whose
# variance is v, (2 v - alpha l1_ratio √v / 2) / (v + alpha (1 - l1_ratio) v) for the line 2 x (the
# penalties count n times, which the documentation doesn't say). All but alpha and l1_ratio are the
# defaults. Needs Rust with cargo.
set -euo pipefail
# shellcheck source=findings/lib/rust.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/rust.sh"

run_rust 'l1_ratio 0.1: slopes 1.8 1.6 1.3 -1.2 -26.0, expected 1.8
l1_ratio 0.5: slopes 1.9 1.7 1.5 -0.4 -19.6, expected 1.9
l1_ratio 1: slopes 2.0 2.0 2.0 2.0 2.0, expected 2.0' smartcore@0.7.0 <<'RUST'
use smartcore::linalg::basic::arrays::Array;
use smartcore::linalg::basic::matrix::DenseMatrix;
use smartcore::linear::elastic_net::{ElasticNet, ElasticNetParameters};

const ALPHA: f64 = 0.1;

fn main() {
    let rows: Vec<Vec<f64>> = (0..10).map(|i| vec![i as f64]).collect();
    let x = DenseMatrix::from_2d_vec(&rows).unwrap();
    let variance: f64 = 8.25; // of 0, 1, …, 9
    for l1_ratio in [0.1, 0.5, 1.0] {
        print!("l1_ratio {l1_ratio}: slopes");
        for height in [-9.0, 0.0, 10.0, 100.0, 1000.0] {
            let y: Vec<f64> = (0..10).map(|i| 2.0 * i as f64 + height).collect();
            let parameters =
                ElasticNetParameters::default().with_alpha(ALPHA).with_l1_ratio(l1_ratio);
            let model = ElasticNet::fit(&x, &y, parameters).unwrap();
            print!(" {:.1}", model.coefficients().get((0, 0)));
        }
        let shrunk = 2.0 * variance - ALPHA * l1_ratio * variance.sqrt() / 2.0;
        println!(", expected {:.1}", shrunk / (variance + ALPHA * (1.0 - l1_ratio) * variance));
    }
}
RUST
