package dataset

import (
	"context"
	"io"
	"path/filepath"
)

// fashionLayouts are the layouts of Fashion-MNIST. The folders of torchvision and of Keras come
// first, as the names of the files themselves may be MNIST's.
var fashionLayouts = []layout{
	idxLayout(filepath.Join("FashionMNIST", "raw"), "fashion-mnist", "", "raw"),
	parquetLayout("zalando-datasets/fashion_mnist", mnistSide, 1, mnistOf),
}

// fashionInstalled is where Debian's package dataset-fashion-mnist puts the files.
const fashionInstalled = "/usr/share/datasets/fashion-mnist"

// fashionURL is the folder of its authors' files, at their last commit.
const fashionURL = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/" +
	"b2617bb6d3ffa2e429640350f613e3291e10b141/data/fashion/"

// fashionRemotes are its authors' files, in the order of mnistNames. The MD5 sums that the authors
// publish are 8d4fb7e6c68d591d4c3dfef9ec88bf0d, 25c81989df183df01b3e8a0aad5dffbe,
// bef4ecab320f06d8554ea6380940ec79 and bb300cfdad3c16e7a12a480ee83cd310.
var fashionRemotes = []remote{
	{fashionURL + mnistNames[0] + ".gz", 26421880,
		"3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"},
	{fashionURL + mnistNames[1] + ".gz", 29515,
		"a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"},
	{fashionURL + mnistNames[2] + ".gz", 4422102,
		"346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"},
	{fashionURL + mnistNames[3] + ".gz", 5148,
		"67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"},
}

// fetchFashion downloads its authors' files.
func fetchFashion(ctx context.Context, part string, log io.Writer) (files []dataFile, err error) {
	for i, remote := range fashionRemotes {
		content, err := remote.download(ctx, part+"."+mnistNames[i], log)
		if err != nil {
			return nil, err
		}
		files = append(files, dataFile{name: mnistNames[i] + ".gz", bytes: content})
	}
	return files, nil
}
