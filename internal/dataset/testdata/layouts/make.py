"""Writes images in the layouts of torchvision, Keras and Hugging Face, with the programs that write those.

    make.py OUT          four made images a file: what lies beside this file
    make.py OUT DATA     those of a folder with cifar-10-batches-bin/ and MNIST's four .gz files

Run with Python 3.11, numpy 2.3.5, pillow 12.0.0, pyarrow 22.0.0 and datasets 4.4.1.
"""
import gzip, io, os, pickle, struct, sys, tarfile
import numpy as np
from datasets import ClassLabel, Dataset, Features, Image
from PIL import Image as Picture

out, data = sys.argv[1], (sys.argv[2:] + [None])[0]


def made(size, first):
    """Four images of so many values, which the tests compute, too."""
    image, at = np.arange(first, first + 4)[:, None], np.arange(size)[None]
    return (image[:, 0] * 3 % 10).astype(np.uint8), ((image * 31 + at * at // 7) % 251).astype(np.uint8)


class Python2(pickle._Pickler):
    """Writes bytes as Python 2 writes its strings, as the official pickles have them."""
    dispatch = dict(pickle._Pickler.dispatch)

    def save_bytes(self, value):
        self.write(b"U" + bytes([len(value)]) if len(value) < 256 else b"T" + struct.pack("<i", len(value)))
        self.write(value)
        self.memoize(value)
    dispatch[bytes] = save_bytes

    def save_str(self, value):
        self.save_bytes(value.encode())
    dispatch[str] = save_str


def cifar(name):
    if not data:
        return made(3072, 4 * batches.index(name))
    records = np.fromfile(f"{data}/cifar-10-batches-bin/{name}.bin", np.uint8).reshape(-1, 3073)
    return records[:, 0], np.ascontiguousarray(records[:, 1:])


def mnist(name):
    if not data:
        labels, pixels = made(784, 4 * (name == "t10k"))
        return labels, pixels.reshape(-1, 28, 28)
    read = lambda path: gzip.open(f"{data}/{path}.gz").read()
    labels = np.frombuffer(read(f"{name}-labels-idx1-ubyte"), np.uint8, offset=8)
    pixels = np.frombuffer(read(f"{name}-images-idx3-ubyte"), np.uint8, offset=16).reshape(-1, 28, 28)
    return labels, pixels


def parquet(path, column, labels, pictures, names):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    def png(pixels):
        buffer = io.BytesIO()
        Picture.fromarray(pixels).save(buffer, format="png")
        return {"bytes": buffer.getvalue(), "path": None}
    Dataset.from_dict({column: [png(p) for p in pictures], "label": [int(c) for c in labels]},
                      Features({column: Image(), "label": ClassLabel(names=names)})).to_parquet(path)


batches = [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]
classes = "airplane automobile bird cat deer dog frog horse ship truck".split()
parts = [cifar(name) for name in batches]
folder = f"{out}/python/cifar-10-batches-py"
os.makedirs(folder, exist_ok=True)
for name, (labels, pixels) in zip(batches, parts):
    batch = {"batch_label": name, "labels": [int(c) for c in labels], "data": pixels,
             "filenames": [f"{classes[c]}_s_{i:06}.png" for i, c in enumerate(labels)]}
    buffer = io.BytesIO()
    Python2(buffer, 2).dump(batch)
    with open(f"{folder}/{name}", "wb") as f:  # of NumPy 1
        f.write(buffer.getvalue().replace(b"cnumpy._core.", b"cnumpy.core."))
    with open(f"{folder}/{name}", "rb") as f:  # as torchvision reads it
        read = pickle.load(f, encoding="latin1")
        assert (read["data"] == pixels).all() and read["labels"] == list(labels)
    for protocol in range(2, 6):
        os.makedirs(f"{out}/protocol{protocol}", exist_ok=True)
        with open(f"{out}/protocol{protocol}/{name}", "wb") as f:
            pickle.dump(batch, f, protocol)
os.makedirs(f"{out}/archive", exist_ok=True)
with tarfile.open(f"{out}/archive/cifar-10-python.tar.gz", "w:gz", compresslevel=1) as archive:
    archive.add(folder, "cifar-10-batches-py")
train = np.concatenate([l for l, _ in parts[:5]]), np.concatenate([p for _, p in parts[:5]])
for split, (labels, pixels) in (("train", train), ("test", parts[5])):
    parquet(f"{out}/hf/plain_text/{split}-00000-of-00001.parquet", "img", labels,
            np.ascontiguousarray(pixels.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)), classes)

(train_labels, train_pixels), (test_labels, test_pixels) = mnist("train"), mnist("t10k")
os.makedirs(f"{out}/keras", exist_ok=True)
np.savez_compressed(f"{out}/keras/mnist.npz", x_train=train_pixels, y_train=train_labels, x_test=test_pixels, y_test=test_labels)
for split, labels, pixels in (("train", train_labels, train_pixels), ("test", test_labels, test_pixels)):
    parquet(f"{out}/hf/mnist/{split}-00000-of-00001.parquet", "image", labels, pixels, list("0123456789"))
