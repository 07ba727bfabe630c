"""Training with the package vx."""
import contextlib
import json
import os
import resource
import signal
import threading

import numpy as np

import package_test
from package_test import read
import vx


@contextlib.contextmanager
def no_room():
    """Files may not grow, as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)


class Training(package_test.Package):
    def test_training(self):
        module = self.training_module()
        session = vx.Session(module, device="cpu", seed=1)
        data = {"image": self.images[:350], "label": self.labels[:350]}
        test = {"image": self.images[350:], "label": self.labels[350:]}
        before = session.evaluate(test)["accuracy"]
        seen = []
        history = session.fit(data, epochs=12, batch=32, validation=test, rate=3e-3, schedule="cosine:1e-4", seed=2, on_epoch=seen.append)
        self.assertEqual(seen, history)
        self.assertEqual(len(history), 12)
        self.assertLess(before, 0.4)
        self.assertGreater(history[-1]["validation"]["accuracy"], 0.85)
        self.assertAlmostEqual(session.evaluate(test)["loss"], history[-1]["validation"]["loss"], places=5)
        logits = session.predict(test)["logits"]
        self.assertAlmostEqual((logits.argmax(1) == test["label"]).mean(), history[-1]["validation"]["accuracy"], places=6)
        path = os.path.join(self.folder.name, "t.safetensors")
        session.save(path)
        other = vx.Session(module, device="cpu")
        other.load(path)
        np.testing.assert_array_equal(other.predict(test)["logits"], logits)
        session.export_onnx(os.path.join(self.folder.name, "t.onnx"))
        again = vx.Instance(vx.Module(vx.compile_bytes(read(os.path.join(self.folder.name, "t.onnx")))), device="cpu")
        np.testing.assert_allclose(again(test["image"])["logits"], logits, atol=1e-4)

        with self.assertRaisesRegex(vx.TrainError, "label"):
            session.fit({"image": data["image"]})
        with self.assertRaisesRegex(vx.TrainError, "row 0 has 14, expected 0 to 9"):
            session.fit({"image": data["image"], "label": data["label"] + 12}, epochs=30)

    def test_callbacks(self):
        session, data = self.training()
        steps, every, epochs = [], [], []
        history = session.fit(data, epochs=2, batch=32, on_step=steps.append, on_epoch=epochs.append)
        self.assertEqual([(step["epoch"], step["step"], step["step_in_epoch"]) for step in steps], [(1, 1, 1), (1, 2, 2), (1, 3, 3), (2, 4, 1), (2, 5, 2), (2, 6, 3)])
        self.assertEqual(sorted(steps[0]), ["accuracy", "epoch", "loss", "rate", "step", "step_in_epoch"])
        self.assertAlmostEqual(np.mean([step["loss"] for step in steps[:3]]), epochs[0]["loss"], places=5)
        self.assertEqual((steps[0]["rate"], epochs), (1e-3, history))
        session.fit(data, epochs=6, batch=32, on_step=(every.append, 5))
        self.assertEqual([step["step"] for step in every], [10, 15])
        # What a callback raises ends training behind its step, and the next fit goes on from there.
        kept = []

        def fail(facts):
            kept.append(facts["step"])
            raise RuntimeError(f"step {facts['step']}")

        for how in ({"on_step": fail}, {"on_epoch": fail}, {"on_step": (fail, 2)}):
            with self.assertRaisesRegex(RuntimeError, r"^step \d+$"):
                session.fit(data, epochs=100, batch=32, **how)
        self.assertEqual(kept, [19, 21, 22])
        self.assertEqual(session.progress(), {"step": 22, "epoch": 7, "row": 32, "seed": 0})
        self.assertEqual(session.fit(data, epochs=8, batch=32).stopped, None)
        self.assertEqual(session.progress()["step"], 24)
        # In a callback the session may be asked, and stopped; it does not train twice.
        scores = []
        history = session.fit(data, epochs=100, batch=32, on_step=lambda step: (scores.append(session.evaluate(data)["loss"]), session.stop()))
        self.assertEqual((history, history.stopped, session.progress()["step"], len(scores)), ([], "stopped", 25, 1))
        with self.assertRaisesRegex(vx.TrainError, "fit: called by what a fit calls"):
            session.fit(data, epochs=100, batch=32, on_step=lambda step: session.fit(data, epochs=100))

    def test_a_session_in_two_threads(self):
        session, data = self.training()
        told, started = [], threading.Event()

        def other():
            started.wait(30)
            for ask in (lambda: session.evaluate(data), lambda: session.fit(data), session.summary, lambda: session.read_variable("step")):
                with self.assertRaisesRegex(vx.TrainError, "the session is used by another thread") as raised:
                    ask()
                told.append(raised.exception.code)
            session.stop()

        thread = threading.Thread(target=other)
        thread.start()
        history = session.fit(data, epochs=1000000, batch=32, on_step=lambda step: started.set())
        thread.join()
        self.assertEqual((told, history.stopped), (["argument"] * 4, "stopped"))

    def test_training_that_goes_on(self):
        session, data = self.training()
        folder, file = self.path("checkpoints"), self.path("history.json")
        whole = dict(batch=32, schedule="cosine:1e-5", warmup=2, rate=1e-2, seed=3)
        history = session.fit(data, epochs=4, **whole, history=file)
        self.assertEqual((history.schedule, history.seed, history.optimizer, history.stopped), ("warmup(2, cosine(0.01, 1e-05))", 3, "adamw:beta1=0.9,beta2=0.999,eps=1e-08,weight_decay=0.01", None))
        self.assertEqual([epoch["loss"] for epoch in json.loads(read(file))["epochs"]], [epoch["loss"] for epoch in history])
        want = session.predict(data)["logits"]
        first = vx.Session(self.training_module(), device="cpu", seed=1)
        history = first.fit(data, epochs=4, checkpoint=(folder, 2), on_step=lambda step: step["step"] == 7 and first.stop(), **whole)
        self.assertEqual((len(history), history.stopped), (2, "stopped"))
        self.assertEqual(sorted(os.listdir(folder)), ["checkpoint-000000000006.safetensors", "checkpoint-000000000007.safetensors"])
        second = vx.Session(self.training_module(), device="cpu", seed=77)
        second.fit(data, epochs=4, resume=folder, checkpoint=folder, **whole)
        np.testing.assert_array_equal(second.predict(data)["logits"], want)  # bit by bit
        rates = []
        session, _ = self.training()
        session.fit(data, epochs=2, batch=32, rate=1e-2, warmup=3, schedule="step:1,0.5", on_step=lambda step: rates.append(round(step["rate"], 6)))
        self.assertEqual(rates, [0.003333, 0.006667, 0.01, 0.01, 0.01, 0.01])
        session, _ = self.training()
        steps = []
        session.fit(data, batch=32, accumulate=2, on_step=steps.append)
        self.assertEqual(len(steps), 2)
        session.fit(data, epochs=50, batch=32, rate=0, early_stop=2)
        self.assertEqual(session.progress()["epoch"], 4)
        session, _ = self.training()
        self.assertRegex(session.fit(data, epochs=50, batch=32, early_stop=(3, 100)).stopped, "^early stopping: loss .* by more than 100 in 3 epochs$")
        broken = {"image": np.full_like(data["image"], np.nan), "label": data["label"]}
        self.assertRegex(session.fit(broken, epochs=50, batch=32, stop_on_nan=True).stopped, "the loss is nan")
        self.assertTrue(any("nan" in note for note in session.fit(broken, epochs=session.progress()["epoch"] + 1, batch=32).notes))

    def test_data_of_other_types(self):
        """Labels of any integers, and images in f64, are the same training."""
        want = None
        for image, label in ((np.float32, np.int64), (np.float64, np.int32), (np.float64, np.uint8)):
            session, data = self.training()
            converted = {"image": data["image"].astype(image), "label": data["label"].astype(label)}
            history = session.fit(converted, epochs=2, batch=32, validation=converted)
            got = [(epoch["loss"], epoch["validation"]["loss"]) for epoch in history], session.evaluate(converted, batch=5)["accuracy"], session.predict(converted)["logits"].tolist()
            want = want or got
            self.assertEqual(got, want)

    def test_labels_that_do_not_count(self):
        module = self.path("ignoring.vxm")
        vx.compile(os.path.join(os.environ["VX_SOURCE"], "examples", "train_digits", "network.onnx"), module, targets="cpu", train="auto", loss="cross_entropy:ignore_index=-1",
                   optimizer="sgd", init="random", dropout="frozen")
        session = vx.Session(module, device="cpu", seed=1)
        images, labels = self.images[:40], self.labels[:40].copy()
        labels[3:20] = labels[25:39] = -1
        data, kept = {"image": images, "label": labels}, labels >= 0
        logits = session.predict(data)["logits"].astype(np.float64)
        logs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
        want = {"loss": -logs[kept, labels[kept]].mean(), "accuracy": (logits.argmax(1) == labels)[kept].mean()}
        for batch in (1, 7, 40):
            epoch, = session.fit(data, epochs=session.progress()["epoch"] + 1, batch=batch, validation=data, rate=0)
            for got in (session.evaluate(data, batch=batch), epoch, epoch["validation"]):
                for name, value in want.items():
                    self.assertAlmostEqual(got[name], value, places=5)

    def test_mistakes_of_training(self):
        session, data = self.training()
        form = "schedule: expected constant, cosine\\[:END\\], step:EPOCHS\\[,FACTOR\\], exponential:FACTOR or one-cycle\\[:PART\\], got "
        for how, error, text in (({"schedule": "magic"}, ValueError, form + "'magic'"), ({"schedule": "cosine:"}, ValueError, form), ({"schedule": "step"}, ValueError, form),
                                 ({"schedule": "step:0.5"}, ValueError, form), ({"schedule": "cosine:1,2"}, ValueError, form), ({"schedule": 3}, ValueError, form),
                                 ({"schedule": "cosine:nan"}, ValueError, form), ({"schedule": "one-cycle:7"}, vx.TrainError, "7"),
                                 ({"epochs": 1.5}, TypeError, "epochs: expected a whole number, got float"), ({"epochs": -1}, ValueError, "epochs: expected 0 to .*, got -1"),
                                 ({"batch": 2**40}, ValueError, "batch: expected 0 to 2147483647, got 1099511627776"), ({"accumulate": 0}, ValueError, "accumulate: expected 1 to"),
                                 ({"rate": "fast"}, ValueError, "fast"), ({"rate": -1}, vx.TrainError, "-1"), ({"early_stop": 0}, ValueError, "early_stop: expected 1 to"),
                                 ({"early_stop": (1, 2, 3)}, ValueError, "early_stop: expected one or a pair, got 3"), ({"checkpoint": (self.path("x"), 0)}, ValueError, "checkpoint: expected 1 to"),
                                 ({"checkpoint": 5}, TypeError, "int"), ({"on_step": 5}, TypeError, "on_step: expected a function, got int"),
                                 ({"on_step": (print, 0)}, ValueError, "on_step: expected 1 to"), ({"on_epoch": "print"}, TypeError, "on_epoch: expected a function, got str"),
                                 ({"resume": self.path("nosuch")}, vx.TrainError, "nosuch"), ({"validation": [1]}, TypeError, "data: expected a dict of arrays, got list"),
                                 ({"history": self.path("nosuch/h.json")}, vx.TrainError, "nosuch"), ({"end": 1}, TypeError, "end")):
            with self.assertRaisesRegex(error, text, msg=how):
                session.fit(data, **{"batch": 32, **how})
        far, large = data["image"].astype(np.float64), data["label"].astype(np.uint64)
        far[1].flat[5] = 1e39
        large[2] = 2**64 - 1
        for given, error, text in (([1], TypeError, "data: expected a dict of arrays, got list"), ({"image": 1.0, "label": data["label"]}, vx.TrainError, "image"),
                                   ({"image": data["image"], "label": data["label"][:5]}, vx.TrainError, "label"),
                                   ({"image": data["image"].astype(np.uint8), "label": data["label"]}, vx.TrainError, "u8 does not become f32 by itself, since only you know"),
                                   ({"image": data["image"].astype(np.float16), "label": data["label"]}, vx.TrainError, "f16 does not become f32 by itself, since that may lose"),
                                   ({"image": data["image"], "label": data["label"].astype(np.float32)}, vx.TrainError, "f32 does not become i64 by itself, since that may lose"),
                                   ({"image": far, "label": data["label"]}, vx.TrainError, r"image: row 1, element 5, has 1e\+39, expected a value that f32 holds"),
                                   ({"image": data["image"], "label": large}, vx.TrainError, f"label: row 2 has {2**64 - 1}"), ({}, vx.TrainError, "")):
            with self.assertRaisesRegex(error, text):
                session.fit(given)
        with self.assertRaises(vx.TrainError) as raised:
            session.save(self.path("nosuch/s.safetensors"))
        self.assertEqual(raised.exception.code, "io")
        session, data = self.training()
        with self.assertRaises(vx.TrainError) as raised:
            session.fit(data, epochs=2, batch=32, history=self.path("nosuch/h.json"))
        self.assertEqual((raised.exception.code, len(raised.exception.history), session.progress()["epoch"]), ("io", 2, 2))
        # A disk that is full leaves the session as it is, and what the steps have trained can go elsewhere.
        with no_room(), self.assertRaises(vx.TrainError) as raised:
            session.save(self.path("full.safetensors"))
        self.assertEqual((raised.exception.code, os.path.exists(self.path("full.safetensors"))), ("io", False))
        with no_room(), self.assertRaises(vx.TrainError) as raised:
            session.fit(data, epochs=5, batch=32, checkpoint=self.path("full"))
        self.assertEqual((raised.exception.code, os.listdir(self.path("full")), session.progress()["epoch"]), ("io", [], 3))
        session.save(self.path("rescued.safetensors"))
        session.fit(data, epochs=4, batch=32)
        with self.assertRaises(vx.TrainError) as raised:
            session.load(self.path("nosuch.safetensors"))
        self.assertEqual(raised.exception.code, "data")


if __name__ == "__main__":
    package_test.main()
