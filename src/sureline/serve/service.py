"""The models that are served, with what answers for each."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sureline.errors import InvalidParameter, ModelFileError
from sureline.serve.hosted import Hosted
from sureline.serve.predictor import Predictor
from sureline.serve.requests import Limits

THREADS = 2  # that predict


class Unknown(Exception):
    """There is no such model."""


def find_models(place: Path) -> list[Path]:
    """The model files that a path names: itself, or those in it."""
    if place.is_dir():
        found = sorted(place.glob("*.sureline"))
        if not found:
            raise InvalidParameter(f"there is no model, *.sureline, in {place}")
        return found
    if not place.is_file():
        raise InvalidParameter(f"there is no file or folder {place}")
    return [place]


class Service:
    """The models of a file or a folder."""

    def __init__(self, place: Path, limits: Limits) -> None:
        self.limits = limits
        self.paths = {path.stem: path for path in find_models(place)}
        self.pool = ThreadPoolExecutor(THREADS, thread_name_prefix="predict")
        self.predictors: dict[str, Predictor] = {}
        try:
            for path in self.paths.values():
                self.predictors[path.stem] = Predictor(Hosted(path, limits), self.pool)
        except BaseException:
            self.close()
            raise

    def predictor(self, name: str) -> Predictor:
        """What answers for a model."""
        found = self.predictors.get(name)
        if found is None:
            raise Unknown(f"there is no model {name!r}; there are {', '.join(self.predictors)}")
        return found

    def path_of(self, name: str) -> Path:
        """The file of a model, by its name; only files that the service began with."""
        if name not in self.paths:
            raise Unknown(f"there is no model {name!r}; there are {', '.join(self.paths)}")
        return self.paths[name]

    def close(self) -> None:
        """Learn what was accepted, write snapshots, and end."""
        self.pool.shutdown()
        problem: ModelFileError | None = None
        for predictor in self.predictors.values():
            try:
                predictor.hosted.close()
            except ModelFileError as error:
                problem = error
        if problem is not None:
            raise problem
