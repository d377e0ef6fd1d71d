"""Changes of valid files: of their bytes as they are, and of what is inside, packed again so that sums are right.

Promises: what comes out depends on the seed and on the generator alone. Structure is known where a format has one that
hides its content from changes of single bytes: gzip, zip, headers of numpy, folders of zarr, the schema of model files.
"""

from __future__ import annotations

import gzip
import re
import zipfile
import zlib
from collections.abc import Callable
from random import Random

from .seeds import Content, members, packed

#: What a number in text becomes.
NUMBERS = (
    *(b"0", b"-1", b"1", b"2", b"3", b"7", b"255", b"256", b"65536", b"300000000", b"2147483647", b"2147483648"),
    *(
        b"4294967296",
        b"9223372036854775807",
        b"18446744073709551616",
        b"1" + b"0" * 30,
        b"1e400",
        b"2.5E-",
        b"1e",
        b"nan",
    ),
    *(b"inf", b"-", b".", b"", b"1.5", b"0x10", b"1_0"),
)
#: Whole numbers that replace some bytes.
EXTREMES = (
    0,
    1,
    2,
    127,
    128,
    255,
    256,
    2**15,
    2**16 - 1,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**40,
    2**62,
    2**63 - 1,
    2**64 - 1,
)
#: Words of formats that mean something else elsewhere.
WORDS = {
    "npz": (
        b"<f8",
        b"<i8",
        b"|O",
        b"<U9",
        b"<c16",
        b"|V8",
        b"<M8[s]",
        b"|b1",
        b"True",
        b"False",
        b"csr",
        b"csc",
        b"coo",
        b"dia",
    ),
    "mtx": (
        b"real",
        b"integer",
        b"complex",
        b"pattern",
        b"coordinate",
        b"array",
        b"general",
        b"symmetric",
        b"hermitian",
    ),
    "zarr": (
        b"<f8",
        b"|O",
        b"<i4",
        b"pickle",
        b"blosc",
        b"zstd",
        b"gzip",
        b"vlen-utf8",
        b"float64",
        b"int32",
        b"string",
    ),
    "h5ad": (
        b"csr_matrix",
        b"csc_matrix",
        b"array",
        b"dataframe",
        b"categorical",
        b"string-array",
        b"anndata",
        b"0.1.0",
    ),
    "skops": (
        *(b"fuzz_canary", b"sing", b"Singer", b"os", b"system", b"posix", b"builtins", b"eval", b"exec", b"getattr"),
        *(
            b"operator",
            b"methodcaller",
            b"functools",
            b"partial",
            b"numpy",
            b"ndarray",
            b"sklearn.base",
            b"BaseEstimator",
        ),
        *(b"FunctionNode", b"TypeNode", b"ObjectNode", b"MethodNode", b"OperatorFuncNode", b"PartialNode", b"JsonNode"),
        *(
            b"NdArrayNode",
            b"DictNode",
            b"ListNode",
            b"TupleNode",
            b"SetNode",
            b"ReduceNode",
            b"DtypeNode",
            b"CachedNode",
        ),
        *(
            b"RandomStateNode",
            b"RandomGeneratorNode",
            b"SparseMatrixNode",
            b"BytesNode",
            b"SliceNode",
            b"MaskedArrayNode",
        ),
    ),
    "text": (
        b'"',
        b"\0",
        b"\r",
        b"\n\n",
        b";",
        b"\t",
        b",",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"NA",
        b"\xe9",
        b"1,000",
        b"\\",
    ),
}
WORDS |= {"npy": WORDS["npz"], "moments": WORDS["npz"], "csv": WORDS["text"], "tsv": WORDS["text"]}
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WORD = re.compile(rb"[A-Za-z_|<>][\w.\-|<>]*")
CHANGES = (1, 1, 1, 2, 3)  # of one file


def damaged(content: Content, name: str, random: Random) -> Content:
    """A seed of a format, changed at one to three places."""
    for _ in range(random.choice(CHANGES)):
        content = _change(content, name, random)
    return content


def _change(content: Content, name: str, random: Random) -> Content:
    base = name.removesuffix(".gz")
    if isinstance(content, dict):
        return _folder(content, base, random)
    if name.endswith(".gz") and random.random() < 0.6:
        return _unpacked(content, base, random)
    if name in ("npz", "moments", "xlsx", "ods", "skops") and random.random() < 0.75:
        return _archive(content, base, random)
    return _bytes(content, base, random)


def _bytes(data: bytes, name: str, random: Random) -> bytes:
    """Bytes changed in one of the ways below; most formats are partly text."""
    ways: list[Callable[[bytes, str, Random], bytes]] = [_cut, _flip, _insert, _remove, _repeat, _swap, _integer]
    if name in WORDS or name in ("xlsx", "ods"):
        ways += [_number] * 4 + [_word] * 3
    return random.choice(ways)(data, name, random)


def _place(data: bytes, random: Random) -> int:
    """A place in a file; the beginning and the end, where headers and footers are, more often than the rest."""
    where = random.random()
    if where < 0.3:
        return random.randrange(min(len(data), 128) + 1)
    return max(0, len(data) - random.randrange(129)) if where < 0.5 else random.randrange(len(data) + 1)


def _cut(data: bytes, _: str, random: Random) -> bytes:
    return data[: _place(data, random)]


def _flip(data: bytes, _: str, random: Random) -> bytes:
    out = bytearray(data)
    for _unused in range(random.choice((1, 1, 2, 8))):
        if out:
            out[min(_place(data, random), len(out) - 1)] ^= random.choice((1, 2, 4, 8, 16, 32, 64, 128, 255))
    return bytes(out)


def _insert(data: bytes, _: str, random: Random) -> bytes:
    place = _place(data, random)
    return data[:place] + random.randbytes(random.choice((1, 1, 2, 4, 16, 200))) + data[place:]


def _remove(data: bytes, _: str, random: Random) -> bytes:
    place = _place(data, random)
    return data[:place] + data[place + random.choice((1, 1, 2, 4, 16, 200)) :]


def _repeat(data: bytes, _: str, random: Random) -> bytes:
    place, length = _place(data, random), random.choice((1, 8, 64, 512))
    return data[: place + length] + data[place : place + length] * random.choice((1, 2, 100)) + data[place + length :]


def _swap(data: bytes, _: str, random: Random) -> bytes:
    a, b = sorted((_place(data, random), _place(data, random)))
    length = min(random.choice((1, 8, 64)), b - a)
    return data[:a] + data[b : b + length] + data[a + length : b] + data[a : a + length] + data[b + length :]


def _integer(data: bytes, _: str, random: Random) -> bytes:
    """A whole number written over some bytes, where it is aligned more often than not."""
    size = random.choice((1, 2, 4, 8))
    place = _place(data, random)
    place -= place % size if random.random() < 0.7 else 0
    value = random.choice(EXTREMES) % 256**size
    return data[:place] + value.to_bytes(size, random.choice(("little", "little", "big"))) + data[place + size :]


def _number(data: bytes, _: str, random: Random) -> bytes:
    return _replaced(data, list(_NUMBER.finditer(data)), random.choice(NUMBERS), random)


def _word(data: bytes, name: str, random: Random) -> bytes:
    """A word in place of another, one of the format or one of the file."""
    found = list(_WORD.finditer(data))
    words = WORDS.get(name, ()) if random.random() < 0.8 or not found else (random.choice(found)[0],)
    return _replaced(data, found, random.choice(words or (b"",)), random)


def _replaced(data: bytes, found: list[re.Match[bytes]], new: bytes, random: Random) -> bytes:
    if not found:
        return _flip(data, "", random)
    match = random.choice(found[:20] if random.random() < 0.5 else found)
    return data[: match.start()] + new + data[match.end() :]


def _unpacked(data: bytes, name: str, random: Random) -> bytes:
    try:
        inner = gzip.decompress(data)
    except (OSError, EOFError, zlib.error):  # after an earlier change
        return _bytes(data, name, random)
    return gzip.compress(_bytes(inner, name, random), mtime=0)


def _archive(data: bytes, name: str, random: Random) -> bytes:
    """A zip archive with one file in it changed, left out, or under the name of another."""
    try:
        files = members(data)
        victim = random.choice(sorted(files))
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        OSError,
        NotImplementedError,
        RuntimeError,
        IndexError,
        ValueError,
    ):
        return _bytes(data, name, random)
    if name == "skops" and "schema.json" in files and random.random() < 0.8:
        victim = "schema.json"
    way = random.random()
    if way < 0.05:
        del files[victim]
    elif way < 0.1:
        files[victim] = files[random.choice(sorted(files))]
    elif name in ("npz", "moments", "skops") and files[victim].startswith(b"\x93NUMPY") and way < 0.6:
        files[victim] = _numpy_header(files[victim], name, random)
    else:
        files[victim] = _bytes(files[victim], name, random)
    try:
        return packed(files, random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))
    except (ValueError, UnicodeError):
        return _bytes(data, name, random)


def _numpy_header(data: bytes, name: str, random: Random) -> bytes:
    """Shape or type in a header of numpy changed, and its length kept right."""
    end = 10 + int.from_bytes(data[8:10], "little")
    change = random.choice((_number, _word))
    text = change(data[10:end].rstrip(), "npz", random) + b"\n"
    return data[:8] + (len(text) % 65536).to_bytes(2, "little") + text + data[end:]


def _folder(files: dict[str, bytes], name: str, random: Random) -> dict[str, bytes]:
    """One file of a folder changed, left out, or in place of another; those that describe arrays more often."""
    names = sorted(files)
    about = [each for each in names if each.endswith((".json", ".zarray", ".zattrs", ".zgroup", ".zmetadata"))]
    victim = random.choice(about if about and random.random() < 0.6 else names)
    way = random.random()
    out = dict(files)
    if way < 0.08:
        del out[victim]
    elif way < 0.16:
        out[victim] = files[random.choice(names)]
    else:
        out[victim] = _bytes(files[victim], name, random)
    return out or {"zarr.json": b"{}"}
