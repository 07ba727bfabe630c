"""Models whose wanted outputs ONNX Runtime gives, as checks of a plan: networks of pictures whose sizes are all free, networks that are rounded to integers,
and trained models of packages. Their weights travel."""
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))

import rounding  # noqa: E402
import run_models  # noqa: E402
import run_trained  # noqa: E402


class WantedPack:
    """The checks of one model; its arrays go to wanted/NAME."""

    def __init__(self, pack, name, model):
        self.pack, self.name, self.checks = pack, name, []
        pack.compile(model, f"{name}.vxm", "f32", "--no-cache", "--threads=1", cpu=False)

    def save(self, file, array):
        path = os.path.join("wanted", self.name, f"{len(self.checks)}.{file}.npy")
        os.makedirs(os.path.dirname(self.pack.path(path)), exist_ok=True)
        np.save(self.pack.path(path), array)
        return path

    def add(self, title, inputs, wanted, rule):
        """`rule` makes that of a wanted array of floats; all others are exact."""
        results = [{"output": output, "want": self.save(f"want_{place}", want)} | (rule(place, want) if np.issubdtype(want.dtype, np.floating) else {"rule": "exact"})
                   for place, (output, want) in enumerate(wanted.items())]
        files = {key: self.save(f"in_{place}", array) for place, (key, array) in enumerate(inputs.items())}
        self.checks.append(self.pack.entry("f32", f"{self.name}.vxm", name=title, inputs=files, results=results))

    def add_limited(self, title, inputs, wanted, terms):
        """Under the bound that `terms` rounded sums give."""
        self.add(title, inputs, wanted, lambda place, want: {"rule": "limit", "limit": self.save(f"limit_{place}", np.full(want.shape, rounding.limit(want, terms)))})


def pack_pictures(pack, name, scratch):
    model = run_models.make_model_file(SOURCE, scratch, name)
    wanted = WantedPack(pack, name, model)
    for case in run_models.evaluate_pictures(name, model):
        wanted.add_limited(*case)
    pack.plan(name, wanted.checks)


def pack_rounded(pack, name, scratch):
    model = run_models.make_model_file(SOURCE, scratch, name)
    wanted = WantedPack(pack, name, model)
    for title, inputs, outputs, share, _ in run_models.evaluate_rounded(name, model):
        # A number in the middle between two integers becomes either: what that makes of one element has no bound but that of the whole.
        wanted.add(title, inputs, outputs, lambda place, want, share=share: {"rule": "close", "rms": float(share), "largest": float(share * np.sqrt(want.size))})
    pack.plan(name, wanted.checks)


def pack_trained(pack, name, scratch, cache):
    trained = run_trained.MODELS[name]
    model, measured = run_trained.unpack_model(name, trained, run_trained.download(trained, cache), scratch)
    wanted = WantedPack(pack, name, model)
    for case in run_trained.evaluate(name, trained, model, measured):
        wanted.add_limited(case.title, case.inputs, case.want, case.terms)
    pack.plan(name, wanted.checks)
