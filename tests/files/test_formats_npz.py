"""An archive that is not ours says what is wrong, and in which entry."""

import io
import struct
import zipfile

import numpy as np
import pytest
from format_zoo import ZOO, arrays_of, lower, npz_of, with_raw

from plefka.errors import InvalidFile
from plefka.files import load, native_npz


def replaced(name, **arrays):
    """The archive of a network with some entries replaced, or left out if None."""
    return npz_of(**{key: value for key, value in {**arrays_of(name), **arrays}.items() if value is not None})


def npy(header, body=b"", version=b"\x01\x00"):
    return b"\x93NUMPY" + version + struct.pack("<H", len(header)) + header.encode() + body


def header(descr="'<f8'", shape="(4,)"):
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"


def too_long():
    """An entry that says it is larger than the file."""
    content = bytearray(native_npz.dumps(ZOO["dense"]))
    at = content.index(b"PK\x01\x02")
    content[at + 20 : at + 28] = struct.pack("<II", 2**31, 2**31)
    return bytes(content)


def twice():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as new:
        new.writestr("bias.npy", b"")
        new.writestr("bias", b"")
    return out.getvalue()


class Code:
    """What a pickle would run."""

    def __reduce__(self):
        return (pytest.fail, ("a pickle was run",))


GOOD_NPZ = native_npz.dumps(ZOO["dense"])
NPZ_ERRORS = {
    "empty": (b"", "must be a NumPy archive; got an empty file"),
    "foreign": (b'{"format": "plefka"}', "must be a NumPy archive; got BadZipFile"),
    "cut off": (GOOD_NPZ[:-30], "must be a NumPy archive; got BadZipFile.*Was the file cut off"),
    "a damaged number": (
        GOOD_NPZ.replace(np.float64(3e-310).tobytes(), bytes(8)),
        "entry 'bias' must be an array .*Bad CRC",
    ),
    "compressed": (
        with_raw("dense", "bias", b"", zipfile.ZIP_DEFLATED),
        "must not be compressed. Write the file with numpy.savez",
    ),
    "larger than the file": (too_long(), "entries must fit into the file"),
    "something before it": (b"x" + replaced("dense"), "must be a NumPy archive alone; got other bytes"),
    "something after it": (replaced("dense") + b"x", "must be a NumPy archive alone; got other bytes"),
    "an entry twice": (twice(), "the names of entries must be unique"),
    "no array": (
        with_raw("dense", "bias", b"hello"),
        "entry 'bias' must be an array as NumPy writes it; got ValueError",
    ),
    "no header": (with_raw("dense", "bias", npy("(")), "entry 'bias' must be an array as NumPy writes it"),
    "deep header": (with_raw("dense", "bias", npy("(" * 5000)), "entry 'bias' must be an array as NumPy writes it"),
    "odd header version": (
        with_raw("dense", "bias", npy(header(), version=b"\x09\x00")),
        "entry 'bias' must be an array as",
    ),
    "a huge promise": (
        with_raw("dense", "bias", npy(header(shape="(1000000000,)"))),
        r"entry 'bias' must have as many bytes as its header says, float64 of shape \(1000000000,\); got 0 bytes",
    ),
    "beyond counting": (
        with_raw("dense", "bias", npy(header(shape=f"(0, {2**62})"))),
        "entry 'bias' must be one number for each unit",
    ),
    "negative": (
        with_raw("dense", "bias", npy(header(shape="(-2, -2)"), bytes(32))),
        "entry 'bias' must be one number for",
    ),
    "wide text": (
        with_raw("dense", "format", npy(header("'<U100000000'", "()"))),
        "entry 'format' must have as many bytes",
    ),
    "endless empty text": (
        with_raw("dense, upwards", "names", npy(header("'<U0'", f"({2**31 - 1},)"))),
        "entry 'names' must be a list of strings; got <U0",
    ),
    "no letters": (with_raw("dense", "format", npy(header("'<U1'", "()"), b"\xff" * 4)), "entry 'format' .* not text"),
    "a pickle": (
        replaced("dense", bias=np.array([Code()] * 4)),
        "entry 'bias' must be one number .*; got object of shape",
    ),
    "fields": (replaced("dense", bias=np.zeros(4, "f8,f8")), "entry 'bias' must be one number"),
    "complex": (replaced("dense", bias=np.zeros(4, complex)), "got complex128"),
    "bool": (replaced("dense", bias=np.zeros(4, bool)), "got bool"),
    "long double": (replaced("dense", bias=np.zeros(4, np.longdouble)), "entry 'bias' must be one number"),
    "no format": (replaced("dense", format=None), "entry 'format' is missing; got 'version', "),
    "another format": (replaced("dense", format="other"), "format must be 'plefka'; got 'other'"),
    "format type": (replaced("dense", format=3), "entry 'format' must be one string; got int64"),
    "newer": (replaced("dense", version=5), "version must be at most 4; got 5"),
    "old": (replaced("dense", version=0), "version must be a whole number from 1 on; got 0"),
    "version type": (replaced("dense", version=1.0), "entry 'version' must be one whole number; got float64"),
    "activation": (replaced("dense", activation="sigmoyd"), "activation must be one of .*Did you mean 'sigmoid'?"),
    "no activation": (
        replaced("dense", activation=None),
        "exactly one of the entries activation and custom; got both or none",
    ),
    "two activations": (
        replaced("dense", custom="f"),
        "exactly one of the entries activation and custom; got both or none",
    ),
    "unknown": (replaced("dense", nmes=["a"]), "entries must be among format, .*; got 'nmes'. Did you mean 'names'?"),
    "odd": (replaced("dense", qqqqq=["a"]), "got 'qqqqq'. Remove it"),
    "names type": (replaced("dense", names=[1, 2, 3, 4]), "entry 'names' must be a list of strings"),
    "names twice": (replaced("dense", names=["a"] * 4), "names must be unique"),
    "too few names": (
        replaced("dense", names=["a"]),
        r"entry 'bias' must be one number for each of the 1 units .*shape \(4,\)",
    ),
    "no bias": (replaced("dense", bias=None), "entry 'bias' is missing"),
    "bias shape": (
        replaced("dense", bias=np.zeros((1, 1, 4))),
        r"entry 'bias' must be one number .*; got float64 of shape \(1, 1, 4\)",
    ),
    "no units": (replaced("dense", bias=[]), "entry 'bias' must have at least one number"),
    "bias nan": (replaced("dense", bias=[np.nan] * 4), "biases must be finite; got nan at unit 0"),
    "no weights": (replaced("dense", matrix=None), "exactly one of the entries edges .*; got none of them"),
    "weights twice": (replaced("dense", layers=[4]), "exactly one of the entries edges .*; got matrix, layers"),
    "matrix shape": (
        replaced("dense", matrix=lower(3)),
        r"entry 'matrix' must be one row for each unit, shape \(4, 4\); got float64",
    ),
    "cycle": (replaced("dense", matrix=np.ones((4, 4))), "got the cycle 0 -> 0"),
    "stack": (
        replaced("dense stack", bias=np.zeros(4)),
        r"entry 'matrix' must be .*\(4, 4\); got float64 of shape \(2, 4, 4\)",
    ),
    "edges shape": (replaced("sparse", edges=[1, 2]), r"entry 'edges' must be pairs \(parent, child\)"),
    "edges type": (replaced("sparse", edges=np.zeros((6, 2))), "entry 'edges' must be pairs .*; got float64"),
    "index below": (
        replaced("sparse", edges=np.full((6, 2), -1)),
        r"indices of units, from 0 to 3; got -1 at edges\[0\]\[0\]",
    ),
    "index above": (
        replaced("sparse", edges=np.full((6, 2), 2**64 - 1, np.uint64)),
        "from 0 to 3; got 18446744073709551615",
    ),
    "edge twice": (
        replaced("sparse", edges=[[0, 1]] * 5),
        r"edges\[1\] repeats edges\[0\]",
    ),
    "weights shape": (
        replaced("sparse", weights=np.zeros(4)),
        r"entry 'weights' must be one number for each edge, shape \(5,\)",
    ),
    "layers type": (replaced("layered", layers=[2.0, 3, 1]), "entry 'layers' must be the sizes of the layers"),
    "layers sum": (
        replaced("layered", layers=[2, 3, 2]),
        "entry 'layers' must be sizes that add up to the 6 units; got 2, 3, 2",
    ),
    "layers below": (replaced("layered", layers=[7, -3, 2]), "entry 'layers' must be sizes that add up"),
    "no layers": (replaced("layered", layers=np.zeros(0, int)), "entry 'layers' must be sizes that add up"),
    "no block": (replaced("layered", block_1=None), "entry 'block_1' is missing"),
    "block shape": (
        replaced("layered", block_1=np.zeros((3, 1))),
        r"entry 'block_1' must be numbers of shape \(1, 3\)",
    ),
    "block too many": (replaced("layered", block_2=np.zeros((3, 1))), "got 'block_2'. Did you mean 'block_"),
}


@pytest.mark.parametrize(("content", "message"), NPZ_ERRORS.values(), ids=NPZ_ERRORS)
def test_what_is_wrong_with_an_archive(content, message, tmp_path):
    path = tmp_path / "wrong.npz"
    path.write_bytes(content)
    with pytest.raises(InvalidFile, match=f"wrong.npz: .*{message}"):
        load(path)
