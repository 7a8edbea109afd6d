#!/usr/bin/env bash
# Tribuo 4.3.2 (org.tribuo:tribuo-classification-sgd): every trainer swaps the two parameters of
# Pegasos. A trainer works with a copy of its optimiser, and Pegasos.copy passes lambda and baseRate
# to the constructor in the wrong order. So who tunes lambda, the regularisation, tunes the rate.
# For Pegasos(0.1, 0.01), the default values, the weights are a twelfth of what they should be; with
# a lambda of 1 they vanish. There is no error, and the provenance of the model states the values
# that were asked for. Only two equal values come out right. Guess before, from the documentation
# ("a gradient optimiser with the same configuration"): a copy that says the same, and the weights
# of the same steps without a copy, which are taken by hand here, for logistic regression without
# shuffling. Needs a JDK, 17 or later, with Maven.
set -euo pipefail
# shellcheck source=findings/lib/maven.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/maven.sh"

run_java 'Pegasos(baseRate=0.1,lambda=0.01), copied: Pegasos(baseRate=0.01,lambda=0.1)
lambda 0.01: norm trained 0.23, by hand 2.91, by hand with swapped values 0.23
lambda 0.1: norm trained 1.03, by hand 1.03, by hand with swapped values 1.03
lambda 1.0: norm trained 0.00, by hand 0.16, by hand with swapped values 0.00' \
  org.tribuo:tribuo-classification-sgd:4.3.2 <<'JAVA'
import java.util.Random;
import org.tribuo.MutableDataset;
import org.tribuo.classification.*;
import org.tribuo.classification.sgd.linear.LinearSGDTrainer;
import org.tribuo.classification.sgd.objectives.LogMulticlass;
import org.tribuo.impl.ArrayExample;
import org.tribuo.math.LinearParameters;
import org.tribuo.math.la.*;
import org.tribuo.math.optimisers.Pegasos;
import org.tribuo.provenance.SimpleDataSourceProvenance;

public class Main {
  static final String[] NAMES = {"x", "y", "z"};

  public static void main(String[] arguments) {
    java.util.logging.LogManager.getLogManager().reset();
    var labels = new LabelFactory();
    var rows = new MutableDataset<>(new SimpleDataSourceProvenance("", labels), labels);
    var random = new Random(1);
    for (int i = 0; i < 1000; i++) {
      var values = random.doubles(NAMES.length, -1, 1).toArray();
      var label = new Label(values[0] + random.nextGaussian() / 2 > 0 ? "yes" : "no");
      rows.add(new ArrayExample<>(label, NAMES, values));
    }
    System.out.println(new Pegasos(0.1, 0.01) + ", copied: " + new Pegasos(0.1, 0.01).copy());
    for (double lambda : new double[]{0.01, 0.1, 1}) {
      var trainer = new LinearSGDTrainer(new LogMulticlass(), new Pegasos(0.1, lambda), 1, -1, 1);
      trainer.setShuffle(false);
      System.out.printf("lambda %s: norm trained %.2f, by hand %.2f, by hand with swapped values"
          + " %.2f%n", lambda, norm(trainer.train(rows).getWeightsCopy()),
          norm(byHand(rows, new Pegasos(0.1, lambda))),
          norm(byHand(rows, new Pegasos(lambda, 0.1))));
    }
  }

  /** byHand takes the steps of LinearSGDTrainer without a copy. */
  static DenseMatrix byHand(MutableDataset<Label> rows, Pegasos pegasos) {
    var outputs = rows.getOutputIDInfo();
    var features = rows.getFeatureIDMap();
    var parameters = new LinearParameters(features.size() + 1, outputs.size());
    pegasos.initialise(parameters);
    for (var row : rows) {
      var x = DenseVector.createDenseVector(row, features, true);
      var loss = new LogMulticlass().lossAndGradient(outputs.getID(row.getOutput()),
          parameters.predict(x));
      parameters.update(pegasos.step(parameters.gradients(loss, x), 1));
    }
    pegasos.finalise();
    return parameters.getWeightMatrix();
  }

  static double norm(DenseMatrix weights) {
    double sum = 0;
    for (var one : weights) sum += one.value * one.value;
    return Math.sqrt(sum);
  }
}
JAVA
