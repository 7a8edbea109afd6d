package experiments

import (
	"slices"
	"strings"
)

// fashionSuffix ends the names of the table's rows and claims on Fashion-MNIST.
const fashionSuffix = "-fashion"

// Fashion has the table's rows on Fashion-MNIST: images that the paper does not have, in their
// authors' bytes, where ours of CIFAR-10 are a JPEG copy. Do its steps help there, too?
var Fashion = onFashion(Table)

// onFashion returns rows on Fashion-MNIST, without the paper's numbers and without decodings.
func onFashion(rows []Experiment) []Experiment {
	rows = slices.Clone(rows)
	for i := range rows {
		row := &rows[i]
		row.Name += fashionSuffix
		if row.Base != "" {
			row.Base += fashionSuffix
		}
		blocks := row.Architecture.(SevenBlocks)
		blocks.Images = FashionMNIST
		row.Architecture, row.Paper, row.Decoded = blocks, Paper{}, false
	}
	return rows
}

// fashionClaims are this project's: what the paper's text says of the table's rows, with the same
// bounds, but for the size of the classifier's step.
var fashionClaims = claimsOnFashion("proposed", "crelu", "spherical", "sparse", "ebc")

// claimsOnFashion returns the named claims about the table, as claims about its rows on
// Fashion-MNIST.
func claimsOnFashion(names ...string) (all []Claim) {
	for _, claim := range tableClaims {
		if !slices.Contains(names, claim.Name) {
			continue
		}
		claim.Name, claim.Ours, claim.Where = claim.Name+fashionSuffix, true, "study fashion"
		claim.Says = "On Fashion-MNIST: " + strings.ToLower(claim.Says[:1]) + claim.Says[1:]
		claim.Expect = slices.Clone(claim.Expect)
		for i := range claim.Expect {
			expected := &claim.Expect[i]
			expected.Terms = slices.Clone(expected.Terms)
			for j := range expected.Terms {
				expected.Terms[j].Experiment += fashionSuffix
			}
		}
		all = append(all, claim)
	}
	return all
}
