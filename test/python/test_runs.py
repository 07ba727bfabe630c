"""Threads, runs, signals and messages of the package vx."""
import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np

import package_test
from package_test import DIGITS, FOREVER, SIZED, SPIN, read
import vx


# Variables that instances share, that they do not, and one of a size that an instance is made with.
KEPT = b"""vx.symbol instance "room" min = 1 max = 1024
vx.symbol "n"
vx.variable @w role = parameter : tensor<2xf32> = dense<[1.0, 2.0]> : tensor<2xf32>
vx.variable @count : tensor<2xf32>
vx.variable @cache role = cache : tensor<?xf32, #vx.enc<[room]>>
func.func @main(%x: tensor<?xf32, #vx.enc<[n]>> {vx.name = "x"})
    -> (tensor<?xf32, #vx.enc<[n]>> {vx.name = "y"}, tensor<2xf32> {vx.name = "w"}, tensor<?xf32, #vx.enc<[room]>> {vx.name = "cache"}) {
  %y = vx.add %x, %x : tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[n]>>
  %w = vx.variable_load @w : tensor<2xf32>
  %before = vx.variable_load @count : tensor<2xf32>
  %after = vx.add %before, %w : tensor<2xf32>, tensor<2xf32>
  vx.variable_store %after, @count : tensor<2xf32>
  %cache = vx.variable_load @cache : tensor<?xf32, #vx.enc<[room]>>
  return %y, %w, %cache : tensor<?xf32, #vx.enc<[n]>>, tensor<2xf32>, tensor<?xf32, #vx.enc<[room]>>
}
"""


def code_of(call):
    try:
        call()
    except vx.Error as error:
        return error.code
    return "ok"


class interrupted_after:
    """As if somebody pressed Ctrl-C so many seconds later."""

    def __init__(self, seconds):
        self.timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))

    def __enter__(self):
        self.timer.start()

    def __exit__(self, *_):
        self.timer.cancel()
        self.timer.join()


def count_during(work):
    """How often another thread gets on while `work` goes on."""
    counted, is_done = 0, False

    def count():
        nonlocal counted
        while not is_done:
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    work()
    is_done = True
    thread.join()
    return counted


class Runs(package_test.Package):
    def test_threads_go_on_meanwhile(self):
        counted = count_during(lambda: vx.compile_bytes(read(os.path.join(DIGITS, "digits.onnx")), targets="cpu"))
        self.assertGreater(counted, 20)
        a = np.ones((3000000, 3), np.float32)
        self.assertGreater(count_during(lambda: [self.model(a, a) for _ in range(20)]), 5)
        results = []
        small = np.ones((1000, 3), np.float32)
        threads = [threading.Thread(target=lambda i=i: results.extend(self.model(small * i, small)["sum"][0, 0] for _ in range(50))) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(set(results)), [float(i + 1) for i in range(8)])
        self.assertEqual(len(results), 400)

    def test_assets(self):
        assets = vx.Module(self.training_module()).assets()
        self.assertTrue(all(sorted(asset) == ["bytes", "kind", "name"] and isinstance(asset["bytes"], bytes) for asset in assets), assets)
        self.assertTrue(any(b"Gemm" in asset["bytes"] for asset in assets))  # what export_onnx completes
        self.assertEqual(self.module.assets(), [])

    def test_short_runs_stay_on_their_thread(self):
        """The kernel counts how often each thread got a processor: the thread beside it does so for each of its runs. It has those of functions with loops, for
        Ctrl-C, and the first run of each size."""
        def turns_of_others():
            turns = 0
            for task in os.listdir("/proc/self/task"):
                if int(task) != threading.get_native_id():
                    with open(f"/proc/self/task/{task}/schedstat", encoding="ascii") as file:
                        turns += int(file.read().split()[2])
            return turns

        def beside(model, *arguments, runs=100):
            before = turns_of_others()
            for _ in range(runs):
                model.run("main", *arguments)
            return turns_of_others() - before

        model, one, two = vx.Instance(self.module, device="cpu", threads=1), np.ones((1, 3), np.float32), np.ones((2, 3), np.float32)
        model.run("main", one, one)
        self.assertLess(beside(model, one, one), 10)
        sizes = 0
        for _ in range(50):
            sizes += beside(model, one, one, runs=1) + beside(model, two, two, runs=1)
        self.assertGreater(sizes, 80)
        self.assertGreater(beside(self.spinning(), np.array(1), np.array([1, 1], np.float32)), 80)

    def test_a_size_that_an_element_gives(self):
        module = vx.Module(vx.compile_bytes(SIZED, "sized.mlir"))
        estimate = module.estimate_memory(device="cpu")  # of the largest one
        self.assertEqual((estimate["arena"], estimate["is_least"], estimate["open_size"]), (100 * 4 * 4, False, None))
        model, x = vx.Instance(module, device="cpu"), np.arange(4, dtype=np.float32).reshape(1, 1, 4)
        for size in (100, 1, 7, 0, 99):
            want = x[0] * size if size else np.full((1, 4), -np.inf, np.float32)
            np.testing.assert_array_equal(model(n=np.array(size), x=x)["y"], want)
        for size in (-1, 101, 2**62):
            with self.assertRaisesRegex(vx.Error, rf"size 'k' is {size}, allowed is \[0, 101\)"):
                model(n=np.array(size), x=x)
        np.testing.assert_array_equal(model(n=np.array(3), x=x)["y"], x[0] * 3)

    def test_estimates(self):
        module = vx.Module(self.digits)
        model = vx.Instance(module, device="cpu")
        one, many = model.estimate_memory(batch=1), model.estimate_memory("main", batch=450)
        self.assertEqual((one["results"], many["results"]), (64, 450 * 40 + -(450 * 40) % 64) if one["results"] == 64 else (40, 450 * 40))
        self.assertGreater(many["arena"], one["arena"])
        self.assertEqual(one["total"], sum(one[part] for part in ("constants", "variables", "arena", "inputs", "results")))
        self.assertEqual((one["fits"], one["open_size"], one["memory_limit"]), (True, None, 0))
        self.assertEqual(module.estimate_memory(device="cpu", batch=450), many)
        limited = module.estimate_memory(device="cpu", memory_limit=1000, batch=450)
        self.assertEqual((limited["fits"], limited["memory_limit"]), (False, 1000))
        for ask in (module.estimate_memory, model.estimate_memory):
            for how, error, text, code in (({}, vx.Error, "batch", "invalid_argument"), ({"batch": 1, "width": 3}, vx.Error, "width", "invalid_argument"),
                                           ({"batch": -1}, vx.Error, "-1", "invalid_argument"), ({"function": "f", "batch": 1}, vx.Error, "f", "not_found"),
                                           ({"batch": 1.5}, TypeError, "size 'batch': expected a whole number, got float", None), ({"batch": "1"}, TypeError, "got str", None),
                                           ({"batch": 2**70}, ValueError, "size 'batch'", None)):
                with self.assertRaisesRegex(error, text) as raised:
                    ask(**how)
                self.assertEqual(getattr(raised.exception, "code", None), code)
        with self.assertRaisesRegex(ValueError, "Device: expected one of auto, .*, got 'tpu'"):
            module.estimate_memory(device="tpu", batch=1)
        with self.assertRaisesRegex(ValueError, "memory_limit: expected 0 to .*, got -1"):
            module.estimate_memory(memory_limit=-1, batch=1)

    def test_the_next_device_after_a_failed_call(self):
        module = vx.Module(self.digits)
        numbers = np.random.default_rng(0).random((256, *module.functions()[0]["inputs"][0]["shape"][1:]), dtype=np.float32)
        x = vx.tensor(numbers) # aligned, so that the CPU reads it in place
        name = module.functions()[0]["name"]
        # The null device copies inputs and the CPU reads them in place: within the limit the call fits on the CPU alone.
        bare = vx.Instance(module, device="cpu").estimate_memory(batch=256)
        limit = bare["total"] - bare["constants"] + numbers.nbytes // 2
        expected = vx.Instance(module, device="cpu")(x)
        place = lambda **more: vx.Instance(module, device="null", memory_limit=limit, **more)
        model, told = place(), []
        with self.assertRaises(vx.Error) as raised:
            model(x)
        self.assertEqual(raised.exception.code, "out_of_memory")
        vx.set_log(lambda level, message: told.append((level, message)))
        try:
            results = model.try_with_fallback(name, x)
        finally:
            vx.set_log(None)
        self.assertEqual(list(results), list(expected))
        for key, value in expected.items():
            np.testing.assert_array_equal(results[key], value)
        report = model.report()
        self.assertEqual(report["taken"]["device"], "cpu:0")
        self.assertEqual([(one["device"], one["code"]) for one in report["failed"]], [("null:0", "out_of_memory")])
        self.assertIn("limit", report["failed"][0]["reason"])
        self.assertEqual(told[-1], ("warning", f"null:0 failed (out_of_memory: {report['failed'][0]['reason']}); falling back to cpu"))
        np.testing.assert_array_equal(list(model(x).values())[0], list(expected.values())[0]) # it stays there
        with self.assertRaises(vx.Error) as raised:
            place(fallback=False).try_with_fallback(name, x)
        self.assertEqual(raised.exception.code, "out_of_memory")
        self.assertIn("; no fallback: the instance was made without fallback", str(raised.exception))
        # Where the second run fails as well, its failure is raised, and the instance is there.
        model = vx.Instance(module, device="null", memory_limit=1)
        with self.assertRaises(vx.Error) as raised:
            model.try_with_fallback(name, x)
        self.assertEqual((raised.exception.code, model.report()["taken"]["device"]), ("out_of_memory", "cpu:0"))
        # Without a function of set_log the line is on standard error.
        done = subprocess.run([sys.executable, "-c", f"import vx\nvx.Instance({self.digits!r}, device='null', memory_limit={limit}).try_with_fallback({name!r}, vx.zeros({numbers.shape}))"],
                              capture_output=True, text=True)
        self.assertRegex(done.stderr, r"\Avx: null:0 failed \(out_of_memory: .*\); falling back to cpu\n\Z")

    def test_the_next_device_has_the_sizes_of_the_instance(self):
        module = vx.Module(vx.compile_bytes(KEPT, "kept.mlir"))
        x = vx.tensor(np.ones(1000, np.float32))
        estimate = vx.Instance(module, device="cpu", symbols={"room": 7}).estimate_memory(n=1000)
        model = vx.Instance(module, device="null", symbols={"room": 7}, memory_limit=estimate["total"] - estimate["constants"] + 2000)
        results = model.try_with_fallback(module.functions()[0]["name"], x)
        self.assertEqual((model.report()["taken"]["device"], results["cache"].shape), ("cpu:0", (7,)))
        np.testing.assert_array_equal(results["y"], np.full(1000, 2, np.float32))
        # The run has written a variable, whose value would be lost.
        self.assertEqual([one["code"] for one in model.report()["failed"]], ["out_of_memory"])
        with self.assertRaisesRegex(vx.Error, "no fallback: variables have been written") as raised:
            model.try_with_fallback(module.functions()[0]["name"], vx.tensor(np.ones(100000, np.float32)))
        self.assertEqual(raised.exception.code, "out_of_memory")

    def test_instances_that_share(self):
        module = vx.Module(vx.compile_bytes(KEPT, "kept.mlir"))
        self.assertEqual(module.estimate_memory(device="cpu", room=100, n=1)["variables"] - module.estimate_memory(device="cpu", room=10, n=1)["variables"], 4 * 90)
        first = vx.Instance(module, device="cpu", symbols={"room": 7})
        second = vx.Instance(module, symbols={"room": 9}, share=first)
        x = np.ones(3, np.float32)
        self.assertEqual([model(x)["cache"].shape for model in (first, second)], [(7,), (9,)])
        first.write_variable("w", np.array([5, 6], np.float32))
        del first
        gc.collect()
        self.assertEqual((second(x)["w"].tolist(), second(x)["y"].tolist()), ([5, 6], [2, 2, 2]))
        self.assertEqual(second.read_variable("count").tolist(), [11, 14])  # its own
        other = vx.Instance(vx.Module(vx.compile_bytes(KEPT, "kept.mlir")), device="cpu", symbols={"room": 7})
        for how, error, text in (({}, vx.Error, "room"), ({"symbols": {"room": 0}}, vx.Error, "room"), ({"symbols": {"room": 1, "n": 2}}, vx.Error, "n"),
                                 ({"symbols": {"room": 1.5}}, TypeError, "size 'room': expected a whole number, got float"),
                                 ({"symbols": {"room": 1}, "share": other}, vx.Error, "module"), ({"symbols": {"room": 1}, "share": module}, TypeError, "share: expected an instance, got Module"),
                                 ({"symbols": {"room": 1}, "share": second, "device": "cpu"}, ValueError, "share: device"),
                                 ({"symbols": {"room": 1}, "threads": -1}, ValueError, "threads: expected 0 to"), ({"symbols": {"room": 1}, "seed": 0.5}, TypeError, "seed: expected")):
            with self.assertRaisesRegex(error, text, msg=how):
                vx.Instance(module, **how)
        with self.assertRaises(vx.Error) as raised:
            vx.Instance(module, device="cpu", symbols={"room": 7}, memory_limit=640)(np.ones(1000, np.float32))
        self.assertEqual(raised.exception.code, "out_of_memory")

    def test_runs_beside_this_thread(self):
        model, x = self.spinning(), np.array([1, 2], np.float32)
        pending = self.forever(model, x)
        self.assertFalse(pending.done())
        for timeout in (0, 0.05, 0.12):
            began = time.monotonic()
            with self.assertRaises(vx.Error) as raised:
                pending.wait(timeout)
            self.assertEqual((raised.exception.code, str(raised.exception)), ("timed_out", f"the run is not done after {float(timeout)} s; it goes on"))
            self.assertGreaterEqual(time.monotonic() - began, timeout)
        self.assertGreater(count_during(lambda: self.assertRaises(vx.Error, pending.wait, 0.2)), 10)  # others go on while it waits
        pending.cancel()
        for _ in range(2):
            with self.assertRaisesRegex(vx.Error, "the run was cancelled") as raised:
                pending.wait()
            self.assertEqual(raised.exception.code, "cancelled")
        self.assertTrue(pending.done())
        late = self.forever(model, x, deadline_ms=30)
        with self.assertRaisesRegex(vx.Error, "not done after its deadline of 30 ms") as raised:
            late.wait(timeout=20)
        self.assertEqual(raised.exception.code, "cancelled")
        dropped = [model.submit("main", FOREVER, x, deadline_ms=300)]
        self.assertGreater(count_during(dropped.clear), 10)  # who drops it waits, and others go on
        self.assertEqual(model.read_variable("kept").tolist(), [0, 0])  # as if they had not been
        done = model.submit("main", np.array(3), x=x, deadline_ms=60000)
        self.assertEqual(done.wait(60)["y"].tolist(), [4, 8])
        done.cancel()
        self.assertEqual((done.wait()["y"].tolist(), done.done()), ([4, 8], True))
        # Those that store the same variable, in their order.
        runs = [model.submit("main", np.array(i), x) for i in range(8)]
        self.assertEqual([run.wait()["y"].tolist() for run in runs], [[i + 1, 2 * i + 2] for i in range(8)])
        self.assertEqual(model.read_variable("kept").tolist(), [40, 80])
        fault = model.submit("pick", np.ones(4, np.float32), np.array(9))
        with self.assertRaisesRegex(vx.Error, "index is 9, allowed is") as raised:
            fault.wait()
        self.assertEqual((raised.exception.code, fault.done()), ("fault", True))
        for call, error, text in ((lambda: model.submit("f"), KeyError, "no function 'f'"), (lambda: model.submit("main", np.array(1)), TypeError, "got none for x"),
                                  (lambda: model.submit("main", np.array(1), np.ones(3, np.float32)), vx.Error, "3"),
                                  (lambda: model.submit("main", np.array(1), x, deadline_ms=-1), ValueError, "deadline_ms: expected 0 to 4294967295, got -1"),
                                  (lambda: model.submit("main", np.array(1), x, deadline_ms=0.5), TypeError, "deadline_ms: expected a whole number, got float"),
                                  (lambda: done.wait(-1), ValueError, "timeout: expected 0 seconds or more, got -1"), (lambda: done.wait(float("nan")), ValueError, "got nan"),
                                  (lambda: done.wait("1"), TypeError, "")):
            with self.assertRaisesRegex(error, text):
                call()

    def test_what_a_run_reads_lives_as_long_as_it(self):
        model = self.spinning()
        x = np.array([1, 2], np.float32)
        gone = weakref.ref(x)
        pending = model.submit("main", np.array(20000), x)
        del x, model
        gc.collect()
        self.assertEqual(pending.wait()["y"].tolist(), [20001, 40002])
        del pending
        gc.collect()
        self.assertIsNone(gone())

    def test_threads_that_share_an_instance(self):
        model, x, failed = self.spinning(), np.array([1, 1], np.float32), []

        def work(i):
            try:
                for k in range(20):
                    pending = model.submit("main", np.array(i + k), x)
                    if k % 3 == 0:
                        pending.cancel()
                        self.assertIn(code_of(pending.wait), ("cancelled", "ok"))
                    elif k % 3 == 1:
                        self.assertEqual(pending.wait(60)["y"][0], i + k + 1)
                    self.assertEqual(model(np.array(i), x)["y"][0], i + 1)
                    self.assertEqual(model.run("pick", np.arange(4, dtype=np.float32), np.array(i % 4))["y"], i % 4)
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])
        # One run, for which several threads wait.
        pending, told = self.forever(model, x), []
        waiting = [threading.Thread(target=lambda: told.append(code_of(pending.wait))) for _ in range(4)]
        for thread in waiting:
            thread.start()
        time.sleep(0.05)
        self.assertEqual(told, [])
        pending.cancel()
        for thread in waiting:
            thread.join()
        self.assertEqual(told, ["cancelled"] * 4)

    def test_ctrl_c(self):
        model, x = self.spinning(), np.array([1, 1], np.float32)
        pending = self.forever(model, x)
        late = threading.Timer(20, pending.cancel)
        late.start()
        began = time.monotonic()
        with interrupted_after(0.1), self.assertRaises(KeyboardInterrupt):
            pending.wait()
        late.cancel()
        self.assertLess(time.monotonic() - began, 10)
        self.assertFalse(pending.done())  # it was the waiting that ended
        pending.cancel()
        self.assertEqual(code_of(pending.wait), "cancelled")
        # A run that this thread waits in is cancelled, also while it waits for its turn, and has changed nothing.
        for is_queued in (False, True):
            before = self.forever(model, x) if is_queued else None
            late = threading.Timer(20, os._exit, (1,))
            late.start()
            began = time.monotonic()
            with interrupted_after(0.2), self.assertRaises(KeyboardInterrupt):
                model.run("main", FOREVER, x)
            late.cancel()
            self.assertLess(time.monotonic() - began, 10)
            if is_queued:
                self.assertFalse(before.done())
                before.cancel()
                self.assertEqual(code_of(before.wait), "cancelled")
        self.assertEqual(model.read_variable("kept").tolist(), [0, 0])
        self.assertEqual(model.run("main", np.array(1), x)["y"].tolist(), [2, 2])  # and it goes on
        session, data = self.training()
        folder = self.path("interrupted")

        def press():
            while not os.path.isdir(folder):
                time.sleep(0.01)
            time.sleep(0.05)
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=press)
        thread.start()
        with self.assertRaises(KeyboardInterrupt):
            session.fit(data, epochs=10**9, batch=32, max_steps=20000, checkpoint=(folder, 10**8))
        thread.join()
        step = session.progress()["step"]
        self.assertLess(step, 20000)
        self.assertEqual(os.listdir(folder), [f"checkpoint-{step:012}.safetensors"])
        session.fit(data, epochs=10**9, max_steps=step + 1, batch=32)  # and it goes on
        self.assertEqual(session.progress()["step"], step + 1)
        # What evaluates ends at once, a step of many batches at the second time, and the session stands before it.
        many = {name: np.repeat(values, 4000, 0) for name, values in data.items()}
        session, _ = self.training()
        weights = session.read_variable("fc1.weight")
        for seconds, call in (((0.3,), lambda: session.evaluate(many, batch=1)), ((0.3,), lambda: session.predict(many, batch=1)),
                              ((0.3, 0.8), lambda: session.fit(many, batch=1, accumulate=10**6)), ((0.8,), lambda: session.fit(data, batch=1, validation=many))):
            late = threading.Timer(60, os._exit, (1,))
            late.start()
            began = time.monotonic()
            with contextlib.ExitStack() as stack:
                for second in seconds:
                    stack.enter_context(interrupted_after(second))
                stack.enter_context(self.assertRaises(KeyboardInterrupt))
                call()
            late.cancel()
            self.assertLess(time.monotonic() - began, 20)
            self.assertEqual(session.progress()["epoch"], 0)
            if len(seconds) == 2:
                self.assertEqual(session.progress()["step"], 0)
                np.testing.assert_array_equal(session.read_variable("fc1.weight"), weights)
        self.assertEqual(len(session.fit(data, batch=1, validation=data)), 1)  # the epoch ends with its validation, and no step is made twice
        self.assertEqual((session.progress()["step"], session.progress()["epoch"]), (96, 1))

    def test_the_end_of_the_process(self):
        """A run that would go on forever, a function that receives messages, results and a session are there when it ends."""
        with open(self.path("spin.vxm"), "wb") as file:
            file.write(vx.compile_bytes(SPIN, "spin.mlir"))
        done = subprocess.run([sys.executable, "-c", """if True:
            import sys
            import numpy as np, vx
            vx.set_log(lambda level, text: None, "info")
            model = vx.Instance(sys.argv[1], device="cpu")
            x = np.ones(2, np.float32)
            runs = [model.submit("main", np.array(1 << 40), x) for _ in range(2)]
            results = model.run("pick", np.ones(4, np.float32), np.array(1))
            print("ends", flush=True)
            """, self.path("spin.vxm")], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "ends\n", ""))

    def test_log(self):
        told = []
        vx.set_log(lambda level, text: told.append((level, text)), "info")
        try:
            vx.Instance(self.digits, device="cpu")
            self.assertEqual([level for level, _ in told], ["info"])
            self.assertRegex(told[0][1], r"digits.vxm: device cpu:0 \(.*\) is taken$")
            vx.set_log(lambda level, text: told.append((level, text)))
            del told[:]
            vx.Instance(self.digits, device="cuda:9")
            self.assertEqual([level for level, _ in told], ["warning"])
            # On several threads, one message at a time, while others use the runtime.
            del told[:]
            vx.set_log(lambda level, text: (time.sleep(0.001), told.append(level)), "info")
            threads = [threading.Thread(target=lambda: [vx.Instance(self.module, device="cpu") for _ in range(10)]) for _ in range(4)]
            for thread in threads:
                thread.start()
            for i in range(20):  # the one before is not called any more when set_log returns
                vx.set_log(lambda level, text, i=i: told.append(level), "info")
            for thread in threads:
                thread.join()
            self.assertGreater(len(told), 0)
            # What it raises is nobody's failure.
            unraised = []
            hook, sys.unraisablehook = sys.unraisablehook, lambda what: unraised.append(repr(what.exc_value))
            try:
                vx.set_log(lambda level, text: 1 // 0, "info")
                vx.Instance(self.digits, device="cpu")
            finally:
                sys.unraisablehook = hook
            self.assertEqual(unraised, ["ZeroDivisionError('integer division or modulo by zero')"])
        finally:
            vx.set_log(None)
        del told[:]
        vx.Instance(self.digits, device="cuda:9")
        self.assertEqual(told, [])


if __name__ == "__main__":
    package_test.main()
