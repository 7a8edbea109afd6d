package experiments

import "ebsscgo/ebssc"

// Decoding is the network behind the paper's Fig. 4: class thresholds in all seven blocks (10.1M parameters at the paper's
// width), so that there is a class bias to decode at every level. The paper's source has it, with average pools, among
// the rows commented out of its Table 2.
//
// All codes depend on the hypothesis, so everything above the first block is computed ten times: a training step takes about eight times as long
// as that of SSC+EBC₆₋₇.
var Decoding = []Experiment{{
	Name: "ssc-ebc17", Title: "SSC+EBC₁₋₇", Architecture: SevenBlocks{Body: ebssc.SSC, EBC: 1}, Decoded: true,
}}

// Residuals is the network behind the paper's Fig. 5: the same for MNIST.
var Residuals = []Experiment{{
	Name: "ssc-ebc17-mnist", Title: "SSC+EBC₁₋₇", Architecture: SevenBlocks{Body: ebssc.SSC, EBC: 1, Images: MNIST}, Change: digits, Decoded: true,
}}
