"""What test/gpu/fill_weights.cpp needs to make the weights of a module compiled with --weights=external, byte for byte.

A model's skeleton (test/models) draws its large tensors from a generator that is seeded by the tensor's name. The module keeps them as they are, in another
type, transposed, or with a factor for each row where a normalisation behind was folded in. A constant that is none of these travels by its bytes. The lines
are explained in fill_weights.cpp.
"""
import json
import subprocess
import zlib

import numpy as np
import onnx

# A constant of more bytes that cannot be drawn makes the pack too large; it is an error.
LARGEST_BY_BYTES = 1 << 18
# Of the header of a weights file, see runtime/include/vx/abi/module_header.h.
HEADER_BYTES = 64


def round_to(values, kind):
    """The bits of f32 values in a narrower type."""
    if kind == "f32":
        return values.view(np.uint32)
    if kind == "f16":
        with np.errstate(over="ignore"):
            return values.astype(np.float16).view(np.uint16)
    bits = values.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def to_f32(bits, kind):
    if kind == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32)
    return bits.view(np.float16).astype(np.float32) if kind == "f16" else bits.view(np.float32)


def row_factors(drawn, kept, kind):
    """A factor for each row of `drawn` that makes `kept` of it, or None."""
    if kind != "f32" or drawn.ndim < 2:
        return None
    rows, want = drawn.reshape(drawn.shape[0], -1), to_f32(kept, kind).reshape(drawn.shape[0], -1)
    place = abs(rows).argmax(1)[:, None]
    guess = (np.take_along_axis(want, place, 1) / np.take_along_axis(rows, place, 1))[:, 0].astype(np.float32)
    found = np.zeros_like(guess)
    open_rows = np.ones(len(guess), bool)
    for step in (0, 1, -1, 2, -2, 3, -3):
        factor = (guess.view(np.int32) + np.int32(step)).view(np.float32)
        good = open_rows & (rows * factor[:, None] == want).all(1)
        found[good] = factor[good]
        open_rows &= ~good
    return None if open_rows.any() else found


class Recipe:
    """`facts` are the skeleton's: of each drawn tensor its shape and mean, deviation, least and greatest value."""

    def __init__(self, skeleton, make_values, missing_tensors):
        model = onnx.load(skeleton, load_external_data=False)
        facts = json.loads(next(entry.value for entry in model.metadata_props if entry.key == "vx.fill"))
        self.drawn = {}
        for tensor in missing_tensors(model.graph):
            assert onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type) == np.float32, tensor.name
            shape = tuple(tensor.dims)
            self.drawn[tensor.name] = (make_values(tensor.name, shape, np.float32, *facts[tensor.name]), facts[tensor.name])

    def source(self, kept, dims, kind):
        """The drawn tensor that a constant was made of: its name, whether it is transposed, and factors of its rows."""
        factored = None
        for name, (values, _) in self.drawn.items():
            if values.size != kept.size:
                continue
            for transposed in (False, True) if values.ndim == 2 else (False,):
                seen = values.T if transposed else values
                head = np.ascontiguousarray(seen.reshape(-1)[:64])
                if (round_to(head, kind) == kept[:64]).all() and (round_to(np.ascontiguousarray(seen).reshape(-1), kind) == kept).all():
                    return name, transposed, None
            if factored is None and tuple(dims) == values.shape:
                factors = row_factors(values, kept, kind)
                if factors is not None:
                    factored = name, False, factors
        return factored

    def lines(self, description, data):
        """`description` is what vx-info says of the module, `data` the bytes of its weights."""
        yield f"size {data.size}"
        yield f"bytes 0 {data[:HEADER_BYTES].tobytes().hex()}"
        for constant in description["constants"]:
            begin, size, kind = place_of(description, constant), constant["size"], constant["type"]
            part = data[begin:begin + size]
            found = None
            if kind in ("f32", "f16", "bf16") and size >= 512:
                found = self.source(part.view(np.uint32 if kind == "f32" else np.uint16), constant["dims"], kind)
            if found:
                name, transposed, factors = found
                values, (mean, deviation, low, high) = self.drawn[name]
                state = np.random.PCG64(zlib.crc32(name.encode())).state["state"]
                rows = values.shape[0] if values.ndim else 1
                yield (f"drawn {kind} {begin} {values.size} {state['state']:032x} {state['inc']:032x} "
                       f"{' '.join(np.float32(x).tobytes()[::-1].hex() for x in (mean, deviation, low, high))} {'transposed' if transposed else 'plain'} {rows} "
                       f"{factors.astype('<f4').tobytes().hex() if factors is not None else '-'}")
            elif size > LARGEST_BY_BYTES:
                raise SystemExit(f"weight_recipe.py: error: constant '{constant['name']}' {kind}{constant['dims']} is none of the tensors that are drawn")
            elif size:
                yield f"bytes {begin} {part.tobytes().hex()}"


def place_of(description, constant):
    """Where the bytes of a constant begin in the weights' file."""
    return description["sections"][constant["section"]]["offset"] + constant["offset"]


def describe(vx_info, module):
    return json.loads(subprocess.run([vx_info, "--json", module], check=True, capture_output=True, text=True).stdout)
