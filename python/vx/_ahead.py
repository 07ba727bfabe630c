"""Batches that a thread fetches and converts while the step before them runs."""
import queue as _queue
import threading as _threading

from . import _runtime
from ._values import to_array, to_tensor

_ALIGNMENT = 64 # from here on the CPU reads arrays in place


def own(tensors):
    """Copies of tensors in the host's memory, so that a loader may fill the same arrays again for its next batch."""
    import numpy
    copies = {}
    for name, tensor in tensors.items():
        array = to_array(tensor) if tensor.__dlpack_device__()[0] == 1 else tensor
        if isinstance(array, numpy.ndarray) and array.dtype.kind != "O":
            room = numpy.empty(array.nbytes + _ALIGNMENT, numpy.uint8)
            begin = -room.ctypes.data % _ALIGNMENT
            copy = room[begin:begin + array.nbytes].view(array.dtype).reshape(array.shape)
            copy[...] = array
            tensor = to_tensor(copy)
        copies[name] = tensor
    return copies


class _Ahead:
    """The thread, and its queue of (batch, its error, the error of the iterator); all None is the end."""

    def __init__(self, batches, prepare, depth):
        self._batches, self._prepare = batches, prepare
        self._queue, self._is_ended = _queue.Queue(depth), False
        self._thread = _threading.Thread(target=self._work, name="vx prefetch", daemon=True)
        self._thread.start()

    def _work(self):
        last = (None, None, None)
        try:
            for batch in self._batches:
                try:
                    item = (own(self._prepare(batch)), None, None)
                except (TypeError, ValueError, _runtime.Error) as error:
                    item = (None, error, None)
                if not self._put(item):
                    break
        except BaseException as error: # of the user's iterator
            last = (None, None, error)
        finally:
            self._batches.close() # by the thread that has begun it
        self._put(last)

    def _put(self, item):
        while not self._is_ended:
            try:
                self._queue.put(item, timeout=0.05)
                return True
            except _queue.Full:
                pass
        return False

    def next(self):
        while True:
            try:
                return self._queue.get(timeout=0.1) # in parts, for Ctrl-C
            except _queue.Empty:
                pass

    def end(self):
        """Stops the thread after the batch that it fetches. An iterator that does not return from one for 5 seconds is not waited for any longer."""
        self._is_ended = True
        self._thread.join(5)


def prepared(batches, prepare, depth):
    """Yields a function for each batch of the generator `batches`, in its order, that returns prepare(batch) or raises its error. Errors of the generator are raised at their batch.
    With a `depth` a thread is ahead by as many batches, which are copies then."""
    if depth == 0:
        for batch in batches:
            yield lambda: prepare(batch)
        return
    ahead = _Ahead(batches, prepare, depth)

    def give(tensors, wrong):
        if wrong is not None:
            raise wrong
        return tensors

    try:
        while True:
            tensors, wrong, raised = ahead.next()
            if raised is not None:
                raise raised
            if tensors is None and wrong is None:
                return
            yield lambda: give(tensors, wrong)
    finally:
        ahead.end()
