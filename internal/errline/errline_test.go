package errline_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/errline"
)

func TestOf(t *testing.T) {
	require.Equal(t, "no plugin; it is not there", errline.Of(errors.New("no plugin\n\tit is not there\n")))
}
