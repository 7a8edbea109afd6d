#!/usr/bin/env bash
# Tribuo 4.3.2 (org.tribuo:tribuo-classification-sgd): the penalties l1 and l2 of AdaGradRDA have no
# effect on a matrix of weights, and linear models have nothing else. They are multiplied by the
# number of updates so far, and AdaGradRDAMatrix never counts an update (AdaGradRDAVector does). So
# a model that was to be sparse keeps each feature of pure noise, at any penalty. There is no error.
# Guess before, from the documentation ("l1 regularization penalty") and the paper that it names
# (Duchi, Hazan, Singer 2011): the larger l1, the more weights are 0, and all of them once l1 is
# larger than each mean gradient; l2 makes weights smaller. Here: logistic regression with two
# features that tell and eight of noise, and the paper's update in a few lines as the reference.
# Needs a JDK, 17 or later, with Maven.
set -euo pipefail
# shellcheck source=findings/lib/maven.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/maven.sh"

run_java 'l1 0.00, l2 0: AdaGradRDA 10 weights, norm 0.811, paper 10 weights, norm 0.811
l1 0.03, l2 0: AdaGradRDA 10 weights, norm 0.811, paper 2 weights, norm 0.667
l1 100.00, l2 0: AdaGradRDA 10 weights, norm 0.811, paper 0 weights, norm 0.000
l1 0.00, l2 1: AdaGradRDA 10 weights, norm 0.811, paper 10 weights, norm 0.232' \
  org.tribuo:tribuo-classification-sgd:4.3.2 <<'JAVA'
import java.util.*;
import org.tribuo.MutableDataset;
import org.tribuo.classification.*;
import org.tribuo.classification.sgd.linear.LinearSGDTrainer;
import org.tribuo.classification.sgd.objectives.LogMulticlass;
import org.tribuo.impl.ArrayExample;
import org.tribuo.math.optimisers.AdaGradRDA;
import org.tribuo.provenance.SimpleDataSourceProvenance;

public class Main {
  static final String[] NAMES = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
  static final double RATE = 0.1, EPSILON = 1e-6;

  public static void main(String[] arguments) {
    java.util.logging.LogManager.getLogManager().reset();
    var random = new Random(1);
    var labels = new LabelFactory();
    var rows = new MutableDataset<>(new SimpleDataSourceProvenance("", labels), labels);
    var x = new double[1000][];
    var y = new boolean[1000];
    for (int i = 0; i < 1000; i++) {
      x[i] = random.doubles(NAMES.length, -2, 2).toArray();
      y[i] = x[i][0] - x[i][1] + random.nextGaussian() > 0;
      rows.add(new ArrayExample<>(new Label(y[i] ? "yes" : "no"), NAMES, x[i]));
    }
    for (double[] penalties : new double[][]{{0, 0}, {0.03, 0}, {100, 0}, {0, 1}}) {
      double l1 = penalties[0], l2 = penalties[1];
      var optimiser = new AdaGradRDA(RATE, EPSILON, l1, l2, 1);
      var trainer = new LinearSGDTrainer(new LogMulticlass(), optimiser, 1, -1, 1);
      trainer.setShuffle(false);
      var matrix = trainer.train(rows).getWeightsCopy(); // the two classes have opposite weights
      var weights = new double[NAMES.length];
      for (int j = 0; j < weights.length; j++) weights[j] = matrix.get(0, j);
      System.out.printf("l1 %.2f, l2 %.0f: AdaGradRDA %s, paper %s%n", l1, l2, shown(weights),
          shown(paper(x, y, l1, l2)));
    }
  }

  /** paper returns the weights of one class as the paper has them. The bias, x = 1, comes last. */
  static double[] paper(double[][] rows, boolean[] yes, double l1, double l2) {
    int count = NAMES.length + 1;
    double[] weights = new double[count], sums = new double[count], squares = new double[count];
    for (int i = 0; i < rows.length; i++) {
      var x = Arrays.copyOf(rows[i], count);
      x[count - 1] = 1;
      double score = 0;
      for (int j = 0; j < count; j++) score += 2 * weights[j] * x[j];
      double up = (yes[i] ? 1 : 0) - 1 / (1 + Math.exp(-score));
      for (int j = 0; j < count; j++) {
        sums[j] += up * x[j];
        squares[j] += up * up * x[j] * x[j];
        weights[j] = Math.signum(sums[j]) * Math.max(0, Math.abs(sums[j]) - (i + 1) * l1)
            / ((Math.sqrt(squares[j]) + EPSILON) / RATE + (i + 1) * l2);
      }
    }
    return Arrays.copyOf(weights, NAMES.length);
  }

  static String shown(double[] weights) {
    return String.format("%d weights, norm %.3f", Arrays.stream(weights).filter(w -> w != 0)
        .count(), Math.sqrt(Arrays.stream(weights).map(w -> w * w).sum()));
  }
}
JAVA
