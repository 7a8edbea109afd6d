package record

import (
	"fmt"
	"strconv"
	"strings"
)

// classWidth is how many digits the number of each of so many classes takes in a text.
func classWidth(count int) int { return len(strconv.Itoa(count - 1)) }

// ClassText writes the numbers of images' classes, of so many, one after another, each in as many
// digits as the largest takes: "37" are classes 3 and 7 of ten, "0307" the same of a hundred, and
// "003007" of a thousand. Records have no other form.
func ClassText(classes []uint16, count int) string {
	var text strings.Builder
	for _, class := range classes {
		fmt.Fprintf(&text, "%0*d", classWidth(count), class)
	}
	return text.String()
}

// Wrong says of each test image whether its prediction is not its label.
func (r Record) Wrong() (wrong []bool) {
	width := classWidth(r.Run.Network.Classes)
	for at := width; at <= min(len(r.Predictions), len(r.Labels)); at += width {
		wrong = append(wrong, r.Predictions[at-width:at] != r.Labels[at-width:at])
	}
	return wrong
}

// ErrorRate is the share of the test images, in percent, whose prediction is not their label.
func (r Record) ErrorRate() float64 {
	wrong, all := 0, r.Wrong()
	for _, one := range all {
		if one {
			wrong++
		}
	}
	return 100 * float64(wrong) / float64(len(all))
}
