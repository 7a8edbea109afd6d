package device

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// Without instructions for bfloat16, oneDNN's rewriter or a CPU plugin, bfloat16 is refused, and XLA's flags stay.
func TestUseBFloat16Refused(t *testing.T) {
	const flags = "XLA_FLAGS"
	t.Setenv(flags, "--xla_a=")
	pinned, err := Resolve(t.Context(), "cpu")
	require.NoError(t, err)
	for _, spec := range []string{"go", pinned.Config, "xla:/dev/null"} {
		err := UseBFloat16(t.Context(), spec)
		require.ErrorContains(t, err, "precision=bfloat16: ", spec)
		require.NotContains(t, err.Error(), "\n", spec)
	}
	require.Equal(t, "--xla_a=", os.Getenv(flags))
}
