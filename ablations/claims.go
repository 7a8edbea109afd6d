package ablations

import "ebsscgo/experiments"

// claims of the paper about rows that change one thing.
var claims = []experiments.Claim{
	{
		Name: "beta", Where: "Sec. 4.1",
		Says:    "β = 0.001 performs better than 0.01.",
		Reading: "β starts at this value and is learned; the paper does not say whether its two values were fixed",
		Expect:  []experiments.Expectation{experiments.Lower(experiments.TestErr, "ssc-lc7-base", "ssc-lc7-beta-0.01")},
	},
	{
		Name: "average-pool", Where: "Sec. 4.1, commented out in the source",
		Says:   "Average pooling performs worse than max pooling.",
		Expect: []experiments.Expectation{experiments.Lower(experiments.TestErr, "crelu-lc7-base", "crelu-avg-lc7"), experiments.Lower(experiments.TestErr, "ssc-lc7-base", "ssc-avg-lc7")},
	},
	{
		Name: "ebc17", Where: "Sec. 4.1, commented out in the source",
		Says:    "With class-specific codes in all blocks, EBC₁₋₇, the model performs worse than the baseline.",
		Reading: "worse than CReLU+LC₇, and than the linear classifier with the same pooling",
		Expect:  []experiments.Expectation{experiments.Lower(experiments.TestErr, "crelu-lc7-base", "ssc-avg-ebc17"), experiments.Lower(experiments.TestErr, "ssc-avg-lc7", "ssc-avg-ebc17")},
	},
}
