"""Modules of models, kept between processes in the folder where the tools keep theirs."""
import hashlib as _hashlib
import os as _os
import shutil as _shutil
import threading as _threading


def default_folder():
    """VX_CACHE, or vx in XDG_CACHE_HOME, or .cache/vx in HOME: of the first of these variables that is not empty. None, for no cache, if none is set."""
    for name, folder in (("VX_CACHE", ""), ("XDG_CACHE_HOME", "vx"), ("HOME", _os.path.join(".cache", "vx"))):
        if _os.environ.get(name):
            return _os.path.join(_os.environ[name], folder) if folder else _os.environ[name]
    return None


def _hash(text):
    return _hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()


def _state(path):
    """A text that is another one when a model has changed, by names, sizes and times: of the file and of those beside it whose names begin as its own does, where its weights are; or of
    all files of a folder."""
    folder, beginning = (path, "") if _os.path.isdir(path) else (_os.path.dirname(path), _os.path.splitext(_os.path.basename(path))[0])
    files = []
    if beginning:
        files = [_os.path.join(folder, name) for name in _os.listdir(folder) if name.startswith(beginning)]
    else:
        for place, _, names in _os.walk(folder):
            files += [_os.path.join(place, name) for name in names]
    text = ""
    for file in sorted(files):
        if _os.path.isfile(file):
            facts = _os.stat(file)
            text += f"{file} {facts.st_size} {facts.st_mtime_ns}\n"
    return text


class Entry:
    """The place of a model's module for these options of vx.compile and this compiler. `path` is None if the cache cannot be used.

    With `has_folder` the module has a folder of its own, for links to the files of a language model that it refers to."""

    def __init__(self, model, options, version, has_folder=False):
        self.folder, self.path = default_folder(), None
        if self.folder is None:
            return
        place = _os.path.realpath(model)
        what = repr(sorted((name, value) for name, value in options.items()))
        stem = _os.path.splitext(_os.path.basename(place))[0]
        self._beginning = f"{stem}-{_hash(place)}-{_hash(what)}-"
        models = _os.path.join(self.folder, "models")
        try:
            _os.makedirs(models, exist_ok=True)
            state = _state(place)
        except OSError:
            return
        if _os.access(models, _os.W_OK | _os.X_OK):
            self._own = _os.path.join(models, f"{self._beginning}{_hash(version + chr(10) + state)}" + (".vxm" if not has_folder else ""))
            self.path = _os.path.join(self._own, "model.vxm") if has_folder else self._own

    def link(self, model):
        """Makes links to the weights of a GGUF file or of a folder beside the module. False on a file system without links."""
        folder, name = (model, "") if _os.path.isdir(model) else _os.path.split(model)
        begin, number, end = name.rpartition("-00001-of-")
        names = [name]
        if not name:
            names = [other for other in _os.listdir(folder) if other.endswith(".safetensors")]
        elif number:
            names = [other for other in _os.listdir(folder or ".") if other.startswith(begin + "-") and other.endswith("-of-" + end)]
        try:
            _os.makedirs(self._own, exist_ok=True)
            for other in names:
                link, target = _os.path.join(self._own, other), _os.path.realpath(_os.path.join(folder, other))
                if _os.path.islink(link) and _os.readlink(link) == target:
                    continue # of another thread or process, which may be at work with it
                made = f"{link}.{_os.getpid()}.{_threading.get_ident()}"
                _os.symlink(target, made)
                _os.replace(made, link)
        except OSError:
            return False
        return True

    def remove_older(self):
        """Removes the modules that were made of the same model before it or the compiler changed."""
        models = _os.path.dirname(self._own)
        for name in _os.listdir(models):
            place = _os.path.join(models, name)
            if not name.startswith(self._beginning) or place == self._own:
                continue
            if _os.path.isdir(place):
                _shutil.rmtree(place, ignore_errors=True) # links, and not the files that they name
            elif name.endswith(".vxm"):
                try:
                    _os.remove(place)
                except OSError:
                    pass # of another process, which has removed it
