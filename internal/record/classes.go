package record

import (
	"fmt"
	"strconv"
	"strings"
)

// classWidth returns how many digits a class's number takes in a text, if there are count classes.
func classWidth(count int) int { return len(strconv.Itoa(count - 1)) }

// ClassText writes the classes of images, of which there are count, one after another, each in as
// many digits as the largest number takes: "37" are classes 3 and 7 of ten, "0307" the same of a
// hundred, and "003007" of a thousand. Records have no other form.
func ClassText(classes []uint16, count int) string {
	var text strings.Builder
	for _, class := range classes {
		fmt.Fprintf(&text, "%0*d", classWidth(count), class)
	}
	return text.String()
}

// Differ returns for each image whether two texts of classes, of which there are count, differ.
func Differ(a, b string, count int) (differ []bool) {
	width := classWidth(count)
	for at := width; at <= min(len(a), len(b)); at += width {
		differ = append(differ, a[at-width:at] != b[at-width:at])
	}
	return differ
}

// Wrong returns for each test image whether its prediction is not its label.
func (r Record) Wrong() []bool { return Differ(r.Predictions, r.Labels, r.Run.Network.Classes) }

// ErrorRate returns the share of the test images, in percent, whose prediction is not their label.
func (r Record) ErrorRate() float64 {
	wrong, all := 0, r.Wrong()
	for _, one := range all {
		if one {
			wrong++
		}
	}
	return 100 * float64(wrong) / float64(len(all))
}

// AddErrors adds the weighted error of each test image to a sum, in points: 100 times the weight
// where the network is wrong.
func (r Record) AddErrors(sum []float64, weight float64) {
	for i, wrong := range r.Wrong() {
		if wrong {
			sum[i] += 100 * weight
		}
	}
}
