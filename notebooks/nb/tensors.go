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

// Keep keeps a tensor under a name for the cells below: of what a cell declares only functions, types and the expressions
// of its variables live on, as every cell is a program of its own. It is gone when the kernel ends.
func Keep(name string, tensor *tensors.Tensor) {
	Check(tensor.Save(kept(name)))
}

// Kept is what a cell above has kept under this name.
func Kept(name string) *tensors.Tensor {
	tensor, err := tensors.Load(kept(name))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("nothing is kept as %q: run the cells above first", name)
	}
	return Must(tensor, err)
}

// kept is a file in the kernel's own folder.
func kept(name string) string {
	return filepath.Join(os.Getenv(protocol.GONB_TMP_DIR_ENV), name+".tensor")
}
