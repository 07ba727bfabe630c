#!/usr/bin/env python3
"""Trains a small encoder of texts from nothing and finds the nearest texts by it: embed_texts.py

Words become numbers by a hash, so that there is no vocabulary to keep. The encoder is a layer of a transformer and the mean over the words; it learns from pairs of sentences of one topic.
Its loss is a function of the outputs. Exit code 1: a sentence that it has not seen is nearest to another topic."""
import sys
import zlib

import numpy as np

import vx
from vx import nn

WORDS, LENGTH, WIDTH = 512, 8, 32
TOPICS = {
    "weather": "rain falls on the hills tonight|snow and cold wind tomorrow morning|the sun shines after the storm|clouds and rain until the evening|a warm wind brings the sun|cold rain and snow on the hills|the storm brings clouds tonight",
    "cooking": "boil the rice with salt|fry the onions in hot oil|bake the bread in the oven|stir the soup with salt and pepper|cut the onions and boil the soup|serve the bread with butter|fry the rice in butter and oil",
    "music": "the violin plays a slow song|drums and bass begin the song|she sings the chorus of the song|the band plays the chorus twice|a piano joins the violin|drums join the band for the chorus|he plays the bass and sings",
}
UNSEEN = {"weather": "cold clouds and wind tonight", "cooking": "stir the onions with butter", "music": "the piano and the drums begin"}


def numbers(sentence):
    words = [zlib.crc32(word.encode()) % (WORDS - 1) + 1 for word in sentence.split()][:LENGTH]
    return words + [0] * (LENGTH - len(words)) # 0 is no word


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.layer = nn.TransformerEncoderLayer(WIDTH, 4, 64, dropout=0.0, activation="gelu", norm_first=True)

    def forward(self, ids):
        is_pad = ids == 0
        x = self.layer(self.words(ids) + self.places(nn.arange(ids, 1)), src_key_padding_mask=is_pad)
        weights = (~is_pad).to("f32").unsqueeze(-1)
        mean = (x * weights).sum(1) / weights.sum(1)
        return mean / nn.sqrt((mean * mean).sum(-1, keepdim=True) + 1e-12)


def loss(embeddings, topic):
    """Embeddings of one topic are to be nearer to each other than to all others: a cross entropy over the batch, itself left out."""
    scores = embeddings @ embeddings.T * 10.0
    row, column = nn.arange(topic, 0).unsqueeze(1), nn.arange(topic, 0).unsqueeze(0)
    is_other = row != column
    is_same = (topic.unsqueeze(1) == topic.unsqueeze(0)) & is_other
    scores = nn.where(is_other, scores, -1e9)
    hits = nn.where(is_same, nn.log_softmax(scores), 0.0).sum() / is_same.to("f32").sum()
    return -hits


def main():
    sentences = [(text, name) for name, texts in TOPICS.items() for text in texts.split("|")]
    ids = np.array([numbers(text) for text, _ in sentences])
    topics = np.array([list(TOPICS).index(name) for _, name in sentences])
    model = Encoder().compile({"ids": nn.Input("batch", LENGTH, dtype="i64")}, "embedding", loss=loss, labels={"topic": nn.Input("batch", dtype="i64")}, optimizer=vx.AdamW(3e-3), seed=2)
    history = model.fit({"ids": ids, "topic": topics}, epochs=60, batch_size=len(ids), seed=2, verbose=0)
    print(f"loss {history[0]['loss']:.3f} to {history[-1]['loss']:.3f}")
    known, asked = model.predict(ids)["embedding"], model.predict(np.array([numbers(text) for text in UNSEEN.values()]))["embedding"]
    is_right = True
    for (topic, text), scores in zip(UNSEEN.items(), asked @ known.T):
        nearest, name = sentences[scores.argmax()]
        print(f"{text!r} is nearest to {nearest!r} ({name}, {scores.max():.2f})")
        is_right &= name == topic
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
