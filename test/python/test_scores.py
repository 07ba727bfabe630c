"""The metrics vx.AUC and vx.F1, and the event files of vx.TensorBoard."""
import math
import os
import struct

import numpy as np

import package_test
from package_test import read
import vx
from vx import _tensorboard


def area(scores, truth):
    """The share of pairs of a positive and a negative in order: exact, and slow."""
    positive, negative = scores[truth == 1], scores[truth == 0]
    differences = positive[:, None] - negative[None]
    return ((differences > 0).sum() + 0.5 * (differences == 0).sum()) / differences.size


def sigmoid(logits):
    return 1 / (1 + np.exp(-logits))


def softmax(logits):
    shares = np.exp(logits - logits.max(1, keepdims=True))
    return shares / shares.sum(1, keepdims=True)


def result(metric, *batches):
    for batch in batches:
        metric.update(*(np.asarray(one) for one in batch))
    return metric.result()


def crc32c(data):
    """Bit by bit, from the polynomial: not as vx has it."""
    reflect = lambda value, bits: int(f"{value:0{bits}b}"[::-1], 2)
    register = 0xFFFFFFFF
    for byte in data:
        register ^= reflect(byte, 8) << 24
        for _ in range(8):
            register = (register << 1 ^ (0x1EDC6F41 if register >> 31 else 0)) & 0xFFFFFFFF
    return reflect(register, 32) ^ 0xFFFFFFFF


def fields(data):
    """[(number, value)] of a message of protobuf."""
    place, found = 0, []

    def varint():
        nonlocal place
        value = shift = 0
        while True:
            byte = data[place]
            place += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while place < len(data):
        key = varint()
        if key & 7 == 0:
            found.append((key >> 3, varint()))
            continue
        size = {1: 8, 5: 4}.get(key & 7) or varint()
        assert key & 7 in (1, 2, 5) and place + size <= len(data), key
        found.append((key >> 3, data[place:place + size]))
        place += size
    return found


def events(path):
    """[(step, {tag: value})] of an event file, whose sums are checked."""
    data, found = read(path), []
    while data:
        head, sum_of_head = data[:8], struct.unpack("<I", data[8:12])[0]
        size = struct.unpack("<Q", head)[0]
        body, sum_of_body = data[12:12 + size], struct.unpack("<I", data[12 + size:16 + size])[0]
        for part, stored in ((head, sum_of_head), (body, sum_of_body)):
            crc = crc32c(part)
            assert stored == ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
        data = data[16 + size:]
        entry = dict(fields(body))
        assert 1.6e9 < struct.unpack("<d", entry[1])[0] < 1e11
        if 3 in entry:
            assert entry[3] == b"brain.Event:2" and not found, entry
        scores = {}
        for _, value in fields(entry.get(5, b"")):
            one = dict(fields(value))
            scores[one[1].decode()] = struct.unpack("<f", one[2])[0]
        found.append((entry.get(2, 0), scores))
    return found


class Scores(package_test.Package):
    def draw(self, rows=3000, scale=1.0, seed=3):
        random = np.random.default_rng(seed)
        truth = random.integers(0, 2, rows)
        return (random.normal(size=rows) * 1.5 + truth) * scale, truth

    def test_auc_of_two_classes(self):
        for scale in (1e-3, 0.1, 1, 20, 1000):
            logits, truth = self.draw(scale=scale)
            want = area(logits, truth)
            self.assertLess(abs(result(vx.AUC(), (logits, truth)) - want), 1e-3, scale)
            two = np.stack([np.zeros_like(logits), logits], 1) + np.arange(len(logits))[:, None] % 7
            self.assertLess(abs(result(vx.AUC(), (two, truth)) - want), 1e-3, scale)
        logits, truth = self.draw()
        want = area(logits, truth)
        for scores in (sigmoid(logits), sigmoid(logits - 8), 1e-6 * sigmoid(logits), 1 - 1e-6 * sigmoid(-logits)):
            self.assertLess(abs(result(vx.AUC(), (scores, truth)) - area(scores, truth)), 1e-3)
            self.assertLess(abs(result(vx.AUC(), (np.stack([1 - scores, scores], 1), truth)) - area(scores, truth)), 1e-3)
        self.assertLess(abs(result(vx.AUC(), (sigmoid(logits).astype(np.float32)[:, None], truth)) - want), 1e-3)
        self.assertLess(abs(result(vx.AUC(), (sigmoid(logits)[:, None], truth.astype(np.float32)[:, None])) - want), 1e-3)
        # Batches of any size are one.
        batches = [(logits[begin:begin + 100], truth[begin:begin + 100]) for begin in range(0, len(logits), 100)]
        self.assertEqual(result(vx.AUC(), *batches), result(vx.AUC(), (logits, truth)))
        self.assertLess(abs(result(vx.AUC(), *batches) - want), 1e-3)
        # More scores than bins: of many sizes at once, in order or not, with equal ones, and with most of them beside each other.
        random = np.random.default_rng(1)
        for scores, truth in (self.draw(60000), self.draw(60000, 1e-6), (np.exp(self.draw(60000, 9)[0]), self.draw(60000)[1]), (self.draw(60000)[0].round(1), self.draw(60000)[1]),
                              (np.where(random.random(60000) < 0.99, 0.5 + 1e-9 * self.draw(60000)[0], self.draw(60000)[0]), self.draw(60000)[1])):
            positive, negative = np.sort(scores[truth == 1]), np.sort(scores[truth == 0])
            want = (np.searchsorted(negative, positive, "left") + np.searchsorted(negative, positive, "right")).sum() / 2 / len(positive) / len(negative)
            for order in (slice(None), np.argsort(scores), np.argsort(-scores)):
                for size in (500, 60000):
                    metric = vx.AUC()
                    got = result(metric, *((scores[order][begin:begin + size], truth[order][begin:begin + size]) for begin in range(0, 60000, size)))
                    self.assertLess(abs(got - want), 1e-4) # of 40 bins 4e-4
                    self.assertLessEqual(len(metric._curves[0]._scores), 10000)
        # 3 of 4 pairs are in order; equal scores count half; the wrong way round.
        self.assertEqual(result(vx.AUC(), ([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])), 0.75)
        self.assertEqual(result(vx.AUC(), ([5.0, 5.0], [0, 1])), 0.5)
        self.assertEqual(result(vx.AUC(), ([3.0, -2.0], [0, 1])), 0.0)
        self.assertEqual(result(vx.AUC(), ([np.inf, -np.inf, 0], [1, 0, 0])), 1.0)
        self.assertEqual(result(vx.AUC(), ([1.0, 0.0, 0.5], [1, 0, 0])), 1.0)

    def test_auc_of_classes(self):
        random = np.random.default_rng(5)
        labels = random.integers(0, 5, 2000)
        logits = (random.normal(size=(2000, 5)) + np.eye(5)[labels]) * 3
        shares = softmax(logits)
        want = np.mean([area(shares[:, one], labels == one) for one in range(5)])
        for scores in (logits, shares, shares.astype(np.float32), logits + 100):
            self.assertLess(abs(result(vx.AUC(), (scores, labels)) - want), 1e-3)
        self.assertLess(abs(result(vx.AUC(), (logits.reshape(20, 100, 5), labels.reshape(20, 100))) - want), 1e-3)
        # Rows that do not count, and classes without rows.
        ignored = np.where(np.arange(2000) % 3 == 0, -100, labels)
        kept = ignored >= 0
        self.assertLess(abs(result(vx.AUC(), (logits, ignored)) - result(vx.AUC(), (logits[kept], labels[kept]))), 1e-12)
        some = labels < 3
        self.assertLess(abs(result(vx.AUC(), (logits[some], labels[some])) - np.mean([area(softmax(logits[some])[:, one], labels[some] == one) for one in range(3)])), 1e-3)
        self.assertTrue(math.isnan(result(vx.AUC(), (logits[:0], labels[:0]))))
        self.assertTrue(math.isnan(result(vx.AUC(), ([0.5, 0.7], [1, 1]))))
        self.assertTrue(math.isnan(vx.AUC().result()))
        # Several columns of 0 and 1.
        truth = (random.random((2000, 3)) < 0.3).astype(np.float32)
        scores = sigmoid(random.normal(size=(2000, 3)) + truth * [[0, 1, 2]])
        want = np.mean([area(scores[:, one], truth[:, one]) for one in range(3)])
        self.assertLess(abs(result(vx.AUC(), (scores, truth)) - want), 1e-3)
        truth[:500] = -1
        self.assertLess(abs(result(vx.AUC(), (scores, truth)) - np.mean([area(scores[500:, one], truth[500:, one]) for one in range(3)])), 1e-3)

    def test_scores_of_scikit_learn(self):
        """roc_auc_score and f1_score of scikit-learn 1.9 for these rows."""
        self.assertLess(abs(result(vx.AUC(), SKLEARN["binary"][:2]) - SKLEARN["binary"][2]), 1e-3)
        labels, logits = np.array(SKLEARN["labels"]), np.array(SKLEARN["logits"])
        self.assertLess(abs(result(vx.AUC(), (logits, labels)) - SKLEARN["auc"]), 1e-3)
        for average in ("macro", "micro", "weighted"):
            self.assertAlmostEqual(result(vx.F1(average), (logits, labels)), SKLEARN[average], places=12)

    def test_f1(self):
        logits, truth = self.draw()
        tp, fp, fn = (((logits > 0) & (truth == 1)).sum(), ((logits > 0) & (truth == 0)).sum(), ((logits <= 0) & (truth == 1)).sum())
        want = 2 * tp / (2 * tp + fp + fn)
        two = np.stack([-logits, logits], 1)
        for metric, scores in ((vx.F1(), sigmoid(logits)), (vx.F1(from_logits=True), logits), (vx.F1("binary", threshold=0.0), logits), (vx.F1(), two), (vx.F1("binary"), two)):
            halves = [(scores[:1000], truth[:1000]), (scores[1000:], truth[1000:])]
            self.assertAlmostEqual(result(metric, *halves), want, places=12)
            self.assertEqual(metric.count, 3000)
        self.assertNotEqual(np.mean([result(vx.F1(), (two[:1000], truth[:1000])), result(vx.F1(), (two[1000:], truth[1000:]))]), want) # of counts, no mean of means
        other = 2 * (3000 - tp - fp - fn) / (2 * (3000 - tp - fp - fn) + fp + fn)
        self.assertAlmostEqual(result(vx.F1("macro"), (two, truth)), (want + other) / 2, places=12)
        self.assertAlmostEqual(result(vx.F1("weighted"), (two, truth)), np.average([other, want], weights=[(truth == 0).sum(), (truth == 1).sum()]), places=12)
        self.assertAlmostEqual(result(vx.F1("micro"), (two, truth)), ((logits > 0) == truth).mean(), places=12)
        # A class that is nowhere is left out; one without a right prediction is 0; rows that do not count.
        scores = np.eye(4)[[0, 1, 1, 0, 2]]
        self.assertAlmostEqual(result(vx.F1(), (scores, [0, 1, 0, 0, -1])), (0.8 + 2 / 3) / 2)
        self.assertAlmostEqual(result(vx.F1(), (scores, [0, 1, 0, 0, 0])), (2 * 2 / 6 + 2 / 3 + 0) / 3)
        self.assertEqual(result(vx.F1(), ([0.1, 0.2], [1, 0])), 0.0)
        columns, known = np.array([[0.9, 0.1], [0.8, 0.7], [0.2, 0.6]]), np.array([[1, 0], [0, -1], [1, 1.0]])
        self.assertAlmostEqual(result(vx.F1(), (columns, known)), (0.5 + 1) / 2)
        for empty in (vx.F1().result(), result(vx.F1(), (scores[:0], np.zeros(0, int)))):
            self.assertTrue(math.isnan(empty))

    def test_mistakes(self):
        for made in (vx.AUC(), vx.F1()):
            for output, target, text in ((np.zeros((4, 3)), np.zeros(5, int), r"expected labels of shape \[4\], or targets of the output's shape \[4, 3\], got \[5\]"),
                                         (np.zeros((4, 3)), np.zeros(4), r"expected integer labels of shape \[4\], got float64"), (np.zeros((4, 3)), np.array([0, 1, 3, 0]), "expected labels of 0 to 2, got 3 in row 2"),
                                         (np.zeros(3), np.array([0, 1, 2]), "expected targets of 0 and 1, .*, got 2 in row 2"), (np.zeros(2), np.array([0, 0.5]), "expected targets of 0 and 1, .*, got 0.5 in row 1")):
                with self.assertRaisesRegex(ValueError, f"^{made.name}: {text}"):
                    made.update(output, target)
            made.reset()
            made.update(np.zeros((4, 3)), np.zeros(4, int))
            with self.assertRaisesRegex(ValueError, f"{made.name}: expected outputs of 3 columns as before, got 4"):
                made.update(np.zeros((4, 4)), np.zeros(4, int))
        with self.assertRaisesRegex(ValueError, "auc: expected numbers, got NaN in row 1 of the output"):
            vx.AUC().update(np.array([0, np.nan]), np.array([0, 1]))
        with self.assertRaisesRegex(ValueError, r"f1: expected probabilities, got outputs of -2 to 3: give vx.F1\(from_logits=True\), or a threshold"):
            vx.F1().update(np.array([-2.0, 3]), np.array([0, 1]))
        with self.assertRaisesRegex(ValueError, "F1: average: expected auto, binary, macro, micro or weighted, got 'most'"):
            vx.F1("most")
        with self.assertRaisesRegex(ValueError, "f1: expected two classes or one column for the average 'binary', got 3"):
            vx.F1("binary").update(np.zeros((2, 3)), np.zeros(2, int))
        with self.assertRaisesRegex(ValueError, "TensorBoard: every: expected 0 steps or more, got -1"):
            vx.TensorBoard("logs", every=-1)

    def test_in_a_model(self):
        with vx_session(self) as model:
            x, y = self.images[:200], self.labels[:200]
            model.fit(x, y, epochs=3, rate=1e-2, verbose=0)
            logits = model.predict(x)["logits"]
            for data in ((x, y), ([(x[:70], y[:70]), (x[70:], y[70:])],)):
                got = model.evaluate(*data, metrics=["auc", "f1", vx.F1("micro")])
                self.assertLess(abs(got["auc"] - np.mean([area(softmax(logits.astype(float))[:, one], y == one) for one in range(10)])), 1e-3)
                self.assertAlmostEqual(got["f1"], got["accuracy"], places=6) # the last of a name: micro is the accuracy
            history = model.fit(x, y, epochs=2, validation_split=0.25, metrics=["auc", "f1"], verbose=0).history
            self.assertTrue(all(0.5 < value <= 1 for name in ("val_auc", "val_f1") for value in history[name]), history)
            stopping = vx.EarlyStopping("val_auc", restore_best=True)
            model.fit(x, y, epochs=2, validation_split=0.25, metrics="auc", callbacks=stopping, verbose=0)
            self.assertIsNotNone(stopping.best_epoch)
        self.assertTrue(vx._metrics.make_metrics(["f1"], [], "bce_logits:smoothing=0.1")[0][0].from_logits)
        self.assertFalse(vx._metrics.make_metrics(["f1"], [], "bce")[0][0].from_logits)

    def test_tensorboard(self):
        self.assertEqual([_tensorboard.masked_crc(data) for data in (b"", b"123456789")], [0xA282EAD8, (0xE3069283 >> 15 | 0xE3069283 << 17 & 0xFFFFFFFF) + 0xA282EAD8 & 0xFFFFFFFF])
        folder = self.path("logs")
        with vx_session(self) as model:
            x, y = self.images[:96], self.labels[:96]
            board = vx.TensorBoard(folder, every=2)
            history = model.fit(x, y, epochs=3, batch_size=32, validation_split=1 / 3, callbacks=board, schedule="step:1,0.5", rate=1e-2, verbose=0).history
            files = {part: sorted(os.listdir(os.path.join(folder, part))) for part in ("train", "validation")}
            self.assertTrue(all(len(names) == 1 and names[0].startswith("events.out.tfevents.") for names in files.values()), files)
            train, validation = (events(os.path.join(folder, part, files[part][0])) for part in ("train", "validation"))
            batches, epochs = ([(step, scores) for step, scores in train if f"{what}_loss" in scores] for what in ("batch", "epoch"))
            self.assertEqual([step for step, _ in batches], [2, 4, 6])
            self.assertEqual(sorted(batches[0][1]), ["batch_accuracy", "batch_learning_rate", "batch_loss"])
            self.assertEqual([step for step, _ in epochs], [0, 1, 2])
            for name, tag in (("loss", "epoch_loss"), ("accuracy", "epoch_accuracy"), ("rate", "epoch_learning_rate"), ("seconds", "epoch_seconds")):
                np.testing.assert_allclose([scores[tag] for _, scores in epochs], history[name], rtol=1e-6)
            self.assertEqual(sorted(epochs[0][1]), ["epoch_accuracy", "epoch_learning_rate", "epoch_loss", "epoch_seconds"])
            np.testing.assert_allclose([scores["epoch_loss"] for _, scores in validation[1:]], history["val_loss"], rtol=1e-6)
            self.assertEqual([step for step, _ in validation], [0, 0, 1, 2])
            # Another fit makes another file, one that fails too; its events are there.
            with self.assertRaisesRegex(ZeroDivisionError, "division"):
                model.fit(x, y, epochs=2, callbacks=[vx.TensorBoard(folder), Failing()], verbose=0)
            names = sorted(set(os.listdir(os.path.join(folder, "train"))) - set(files["train"]))
            self.assertEqual((len(names), [step for step, _ in events(os.path.join(folder, "train", names[0]))]), (1, [0, 0]))
            # A callback that is used again begins new files after a fit that failed.
            again, before = vx.TensorBoard(self.path("again")), 0
            for extra in ([Failing()], []):
                try:
                    model.fit(x, y, epochs=1, callbacks=[again, *extra], verbose=0)
                except ZeroDivisionError:
                    pass
                names = os.listdir(os.path.join(self.path("again"), "train"))
                self.assertEqual(len(names), before + 1)
                before += 1
            open(self.path("file"), "w").close()
            with self.assertRaises(OSError):
                model.fit(x, y, callbacks=vx.TensorBoard(self.path("file")), verbose=0)
            self.assertEqual(len(model.fit(x, y, verbose=0)), 1)
        # Steps of more than 7 bits, and numbers that f32 has not.
        file = _tensorboard.EventFile(self.path("numbers"))
        file.add(1 << 40, {"größe": 1e300, "low": -1e39, "nan": math.nan})
        file.close()
        step, scores = events(os.path.join(self.path("numbers"), os.listdir(self.path("numbers"))[0]))[1]
        self.assertEqual((step, scores["größe"], scores["low"], math.isnan(scores["nan"])), (1 << 40, math.inf, -math.inf, True))


class Failing(vx.Callback):
    def on_epoch(self, epoch):
        return 1 / 0


class vx_session:
    """The digits' model that trains, of the module that tests share."""

    def __init__(self, test):
        self.test = test

    def __enter__(self):
        return vx.Model(self.test.training_module(), device="cpu", seed=1)

    def __exit__(self, *error):
        pass


SKLEARN = {'auc': 0.8092348171152519,
 'binary': ([0.68, -0.14, 0.62, 0.46, 1.82, 0.8, 0.85, 0.69, -0.87, -1.51, 0.39, 0.33, -0.92, -0.81, 0.53, -1.19, -0.49, 1.04, 1.9, 0.77, 0.26, 0.38, 0.72, 0.7],
            [0, 0, 1, 0, 1, 1, 1, 0, 0, 0, 0, 1, 1, 0, 1, 0, 1, 1, 1, 1, 1, 0, 0, 1], 0.7552447552447552),
 'labels': [3, 2, 0, 0, 2, 3, 3, 0, 2, 0, 0, 0, 1, 1, 2, 1, 1, 3, 2, 2, 2, 1, 3, 0, 1, 0, 0, 3, 0, 1],
 'logits': [[0.8, 0.6, 0.4, 2.0], [-1.3, 0.6, 1.6, -1.8], [1.3, -0.3, 0.8, -0.4], [1.0, 0.3, -0.9, 0.6], [-0.1, 0.5, 0.5, 1.1], [0.6, -0.2, 0.6, 2.3],
            [1.8, -1.6, 0.9, 1.5], [0.9, -1.0, 1.3, -1.3], [0.6, 1.3, -0.6, -0.3], [-0.3, 0.2, 1.5, 2.0], [-0.8, -0.6, 0.7, 1.6], [1.4, -0.7, 0.3, -0.0],
            [-0.2, 0.3, 0.4, 0.3], [-0.1, 0.8, -1.3, -0.5], [1.2, -0.2, -0.4, 1.3], [0.5, 3.1, 0.1, -0.5], [-1.4, 2.3, 2.6, -0.8], [-0.6, 0.6, -0.8, 0.7],
            [-0.3, 0.2, 2.1, 0.0], [0.9, -0.4, 1.3, -2.1], [-1.4, 0.8, 0.4, 0.6], [0.5, 2.3, 0.8, 1.0], [-0.1, -0.7, -0.7, 0.5], [-0.1, -0.5, -0.1, 0.3],
            [-0.3, -0.9, -0.1, 0.2], [2.1, 0.6, -0.6, -0.7], [3.0, 0.8, 1.8, 2.1], [-0.8, 0.4, 0.5, 1.6], [1.5, 0.2, 0.2, -1.5], [-0.2, 0.3, 0.1, -0.5]],
 'macro': 0.5927601809954752,
 'micro': 0.6,
 'weighted': 0.6042232277526395}


if __name__ == "__main__":
    package_test.main()
