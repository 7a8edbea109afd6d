#!/usr/bin/env bash
# github.com/sjwhitworth/golearn 74ae077eafb2: the Gini impurity of GiniCoefficientRuleGenerator is
# 1, whatever the classes are: computeGini reads an empty map in place of the counts. So all
# attributes are equal to it, and the first one of a Go map, whose order is random, splits: noise as
# well as what tells the classes apart, and another one in each run. There is no error. The rules by
# information gain choose right. Guess before, from the documentation ("rules which minimize the …
# impurity"): always the attribute that tells the classes apart. Here: an umbrella is out when it
# rains, on each weekday and in each wind; 300 trees for the same twelve days.
set -euo pipefail
# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

run_go github.com/sjwhitworth/golearn@v0.0.0-20221228163002-74ae077eafb2 \
  'InformationGainRuleGenerator: splits by [rain], accuracy 1 to 1
InformationGainRatioRuleGenerator: splits by [rain], accuracy 1 to 1
GiniCoefficientRuleGenerator: splits by [rain weekday wind], accuracy 0.5 to 1' <<'GO'
package main

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"

	"github.com/sjwhitworth/golearn/base"
	"github.com/sjwhitworth/golearn/evaluation"
	"github.com/sjwhitworth/golearn/trees"
)

const table = `weekday,wind,rain,umbrella
Mon,weak,no,no
Mon,weak,yes,yes
Mon,strong,no,no
Mon,strong,yes,yes
Tue,weak,no,no
Tue,weak,yes,yes
Tue,strong,no,no
Tue,strong,yes,yes
Wed,weak,no,no
Wed,weak,yes,yes
Wed,strong,no,no
Wed,strong,yes,yes
`

func main() {
	must(os.WriteFile("days.csv", []byte(table), 0o600))
	days, err := base.ParseCSVToInstances("days.csv", true)
	must(err)
	for _, rule := range []trees.RuleGenerator{
		new(trees.InformationGainRuleGenerator),
		new(trees.InformationGainRatioRuleGenerator),
		new(trees.GiniCoefficientRuleGenerator),
	} {
		first := map[string]bool{}
		var accuracies []float64
		for range 300 {
			tree := trees.NewID3DecisionTreeFromRule(0, rule) // without pruning
			must(tree.Fit(days))
			predicted, err := tree.Predict(days)
			must(err)
			confusion, err := evaluation.GetConfusionMatrix(days, predicted)
			must(err)
			first[tree.Root.SplitRule.SplitAttr.GetName()] = true
			accuracies = append(accuracies, evaluation.GetAccuracy(confusion))
		}
		fmt.Printf("%s: splits by %v, accuracy %v to %v\n", reflect.TypeOf(rule).Elem().Name(),
			slices.Sorted(maps.Keys(first)), slices.Min(accuracies), slices.Max(accuracies))
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
GO
