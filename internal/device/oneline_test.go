package device

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOneLine(t *testing.T) {
	require.Equal(t, "no plugin; it is not there", OneLine(errors.New("no plugin\n\tit is not there\n")))
}
