#!/usr/bin/env bash
# linfa 0.8.1: the p-values of pearson_correlation_with_p_value don't depend on the number of rows,
# but on the number of columns: with two columns p is 1, always, whatever they are. p_values copies
# the data row by row, shuffles it as if it were column by column, and reads its transpose, so that
# it compares r with correlations between rows, over as many values as there are columns. So
# columns that have nothing to do with the two make their p smaller. There is no error. Guess
# before, from the documentation ("small p-value indicates a strong evidence that two variables are
# correlated", by shuffling): the p of the t-test, for r = 0.45 about 0.004 with 40 rows and 3e-6
# with 100, that is 0.0 in tenths, in all six cases. Needs Rust with cargo.
set -euo pipefail
# shellcheck source=findings/lib/rust.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/rust.sh"

run_rust '40 rows, 2 columns: r = 0.45, p = 1.0 (own shuffles: 0.0)
40 rows, 3 columns: r = 0.45, p = 0.7 (own shuffles: 0.0)
40 rows, 10 columns: r = 0.45, p = 0.2 (own shuffles: 0.0)
100 rows, 2 columns: r = 0.45, p = 1.0 (own shuffles: 0.0)
100 rows, 3 columns: r = 0.45, p = 0.7 (own shuffles: 0.0)
100 rows, 10 columns: r = 0.45, p = 0.2 (own shuffles: 0.0)' linfa@0.8.1 ndarray@0.16.1 <<'RUST'
use linfa::DatasetBase;
use ndarray::{Array1, Array2};

const SHUFFLES: usize = 2000;

fn main() {
    for rows in [40, 100] {
        for columns in [2, 3, 10] {
            let mut noise = Noise(1);
            let mut data = Array2::from_shape_fn((rows, columns), |_| noise.next());
            let x = unit(data.column(0).to_owned());
            let rest = unit(data.column(1).to_owned());
            let rest = unit(&rest - &(&x * x.dot(&rest))); // what has no correlation with x
            let y = &x * 0.45 + &rest * (1.0f64 - 0.45 * 0.45).sqrt();
            let scale = (rows as f64 / 12.0).sqrt(); // that of the noise
            data.column_mut(0).assign(&(&x * scale));
            data.column_mut(1).assign(&(&y * scale));

            let mut shuffled = y.to_vec();
            let mut larger = 0.0;
            for _ in 0..SHUFFLES {
                for last in (1..rows).rev() {
                    shuffled.swap(last, ((noise.next() + 0.5) * (last + 1) as f64) as usize);
                }
                if x.dot(&Array1::from(shuffled.clone())).abs() > 0.45 {
                    larger += 1.0;
                }
            }
            let result = DatasetBase::from(data).pearson_correlation_with_p_value(SHUFFLES);
            println!(
                "{rows} rows, {columns} columns: r = {:.2}, p = {:.1} (own shuffles: {:.1})",
                result.get_coeffs()[0],
                result.get_p_values().unwrap()[0],
                larger / SHUFFLES as f64
            );
        }
    }
}

/// unit returns a column with mean 0 and length 1.
fn unit(column: Array1<f64>) -> Array1<f64> {
    let centred = &column - column.mean().unwrap();
    &centred / centred.dot(&centred).sqrt()
}

/// Noise is uniform from -0.5 to 0.5.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    }
}
RUST
