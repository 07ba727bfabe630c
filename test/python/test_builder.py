"""Models of vx.nn are the same graphs as those of the C++ builder, and so have the same kernels: test_builder.py SAME_GRAPHS, the program of same_graphs.cpp."""
import subprocess
import sys
import unittest

import vx
from vx import nn


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(64, 512), nn.Linear(512, 10)
        self.drop_in, self.drop = nn.Dropout(0.2), nn.Dropout(0.5)

    def forward(self, x):
        return self.fc2(self.drop(nn.relu(self.fc1(self.drop_in(x)))))


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.conv2, self.norm2 = nn.Conv2d(8, 16, (3, 5), stride=(2, 1), padding=(1, 2), groups=2, bias=False), nn.GroupNorm(4, 16)
        self.head = nn.Linear(64, 10)
        self.pools = nn.MaxPool2d(2), nn.AvgPool2d((1, 2))

    def forward(self, x):
        y = self.pools[0](nn.relu(self.norm1(self.conv1(x))))
        z = self.pools[1](nn.gelu(self.norm2(self.conv2(y))))
        return self.head(z.flatten(1))


class Texts(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.attention = nn.Embedding(50, 32), nn.MultiheadAttention(32, 4, dropout=0.1)
        self.norm1, self.norm2, self.head = nn.LayerNorm(32), nn.RMSNorm(32), nn.Linear(32, 50)
        self.attention.out_proj.bias.init = nn.Init.kaiming_uniform(32) # PyTorch begins with 0, the C++ builder as its other linear layers

    def forward(self, ids):
        x = self.tokens(ids)
        y = x + self.attention(self.norm1(x), is_causal=True)[0]
        return self.head(nn.silu(self.norm2(y)))


class Series(nn.Module):
    """With the states [batch, hidden] of the C++ layers, which have one layer."""

    def __init__(self):
        super().__init__()
        self.core, self.second = nn.LSTM(6, 12), nn.GRU(12, 5)

    def forward(self, x, h, g):
        y, _ = self.core._layer(0, x, [h, h])
        z, (end,) = self.second._layer(0, y, [g])
        return (z * 2.0 - 1.0).mean(0), nn.exp(end).sum()


class Graphs(unittest.TestCase):
    def test_graphs(self):
        text = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout
        wanted = {part.partition("\n")[0]: part.partition("\n")[2] for part in text.split("== ")[1:]}
        training = {"loss": "cross_entropy", "optimizer": vx.AdamW(1e-3, weight_decay=0.01), "training": (1.0, 0.0, False, 0, 0)}
        graphs = {
            "mlp": lambda model: model._build({"image": ("batch", 64)}, "logits", name="mlp", **training),
            "images": lambda model: model._build({"image": ("batch", 1, 8, 8)}, "logits", name="images", **training),
            "texts": lambda model: model._build({"ids": nn.Input("batch", "time", dtype="i64")}, "logits", name="texts", **training),
            "series": lambda model: model._build({"x": ("time", "batch", 6), "h": ("batch", 12), "g": ("batch", 5)}, ["mean", "sum"], name="series"),
        }
        self.assertEqual(list(wanted), list(graphs))
        for (name, build), make in zip(graphs.items(), (Mlp, Images, Texts, Series)):
            with self.subTest(name):
                self.maxDiff = 4000
                self.assertEqual(build(make()).text("import"), wanted[name])
        # And not, if a layer is another one.
        model = Mlp()
        model.drop.p = 0.4
        self.assertNotEqual(graphs["mlp"](model).text("import"), wanted["mlp"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
