#!/usr/bin/env bash
# Tribuo 4.3.2 (org.tribuo:tribuo-classification-sgd): for a minibatch of B rows, SGD takes B² times
# the step by the mean gradient. AbstractSGDTrainer adds the gradients up, and multiplies the sum by
# minibatchSize, where a mean would divide by it. Nor do the weights of rows reach the rows: it
# multiplies the sum over a batch by their mean, so that a row of weight 0 has the say of any other.
# Here ten rows of weight 0, with wrong labels, outvote six right ones. There is no error. The
# default, a minibatch of 1, is right; AdaGrad, the default optimiser, hides the factor B², but not
# that the weights are lost. Models for regression and factorization machines train by the same
# code. Guess before, from the textbook: the rate times the mean gradient (or the sum, B times as
# much), and no influence for the weight 0. Here: logistic regression, one pass over 32 rows, whose
# gradients at 0 are all 1, with a rate so small that they stay so.
# Needs a JDK, 17 or later, with Maven.
set -euo pipefail
# shellcheck source=findings/lib/maven.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/maven.sh"

run_java '32 rows, minibatch 1: 32 steps, each 1 times the mean gradient
32 rows, minibatch 2: 16 steps, each 4 times the mean gradient
32 rows, minibatch 8: 4 steps, each 64 times the mean gradient
32 rows, minibatch 32: 1 steps, each 1024 times the mean gradient
6 rows, 10 wrong ones of weight 0, minibatch 1: SGD 6, AdaGrad 6 right
6 rows, 10 wrong ones of weight 0, minibatch 16: SGD 0, AdaGrad 0 right' \
  org.tribuo:tribuo-classification-sgd:4.3.2 <<'JAVA'
import org.tribuo.*;
import org.tribuo.classification.*;
import org.tribuo.classification.sgd.linear.*;
import org.tribuo.classification.sgd.objectives.LogMulticlass;
import org.tribuo.impl.ArrayExample;
import org.tribuo.math.StochasticGradientOptimiser;
import org.tribuo.math.optimisers.*;
import org.tribuo.provenance.SimpleDataSourceProvenance;

public class Main {
  static final double RATE = 1e-9;

  public static void main(String[] arguments) {
    java.util.logging.LogManager.getLogManager().reset();
    for (int batch : new int[]{1, 2, 8, 32}) {
      var weights = train(32, 0, SGD.getSimpleSGD(RATE), batch).getWeightsCopy();
      int steps = 32 / batch;
      System.out.printf("32 rows, minibatch %d: %d steps, each %.0f times the mean gradient%n",
          batch, steps, Math.abs(weights.get(0, 0)) / steps / RATE);
    }
    for (int batch : new int[]{1, 16}) {
      System.out.printf("6 rows, 10 wrong ones of weight 0, minibatch %d: SGD %d, AdaGrad %d "
          + "right%n", batch, right(train(6, 10, SGD.getSimpleSGD(RATE), batch)),
          right(train(6, 10, new AdaGrad(0.1), batch)));
    }
  }

  /** train learns the sign of x from rows, and others of weight 0 with the wrong label. */
  static LinearSGDModel train(int count, int wrong, StochasticGradientOptimiser by, int batch) {
    var labels = new LabelFactory();
    var rows = new MutableDataset<>(new SimpleDataSourceProvenance("", labels), labels);
    for (int i = 0; i < count + wrong; i++) {
      double x = i % 2 == 0 ? 2 : -2;
      var row = row(x, x > 0 == i < count ? "+" : "-");
      row.setWeight(i < count ? 1 : 0);
      rows.add(row);
    }
    return new LinearSGDTrainer(new LogMulticlass(), by, 1, -1, batch, 1).train(rows);
  }

  static Example<Label> row(double x, String label) {
    return new ArrayExample<>(new Label(label), new String[]{"x"}, new double[]{x});
  }

  /** right returns how many of the six rows, three of each sign, get the right label. */
  static int right(Model<Label> model) {
    boolean plus = model.predict(row(2, "+")).getOutput().getLabel().equals("+");
    boolean minus = model.predict(row(-2, "-")).getOutput().getLabel().equals("-");
    return (plus ? 3 : 0) + (minus ? 3 : 0);
  }
}
JAVA
