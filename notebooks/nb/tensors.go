package nb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// Keep saves a tensor under a name for later cells, until the kernel ends. Every cell is a program of its own: it inherits
// functions, types and the expressions of variables, but not what they computed.
func Keep(name string, tensor *tensors.Tensor) {
	Check(tensor.Save(kept(name)))
}

// Kept returns the tensor that an earlier cell saved under this name.
func Kept(name string) *tensors.Tensor {
	tensor, err := tensors.Load(kept(name))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("no cell has saved %q: run the cells above first", name)
	}
	return Must(tensor, err)
}

// kept is the file of a tensor in the kernel's own folder.
func kept(name string) string {
	return filepath.Join(os.Getenv(protocol.GONB_TMP_DIR_ENV), name+".tensor")
}
