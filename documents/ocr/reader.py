"""Read pictures one after the other, within the limits on pages, processor time and wall time."""

import time
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from documents.extractors.limits import Limits, cpu_seconds_used
from documents.extractors.lines import Line
from documents.ocr.base import OcrEngine, OcrUnavailable

if TYPE_CHECKING:
    from PIL.Image import Image

MIN_SIDE = 8  # pixels; no letter is smaller
MIN_CONTRAST = 16  # of 255; a picture with less contrast is blank
SLOWDOWN = 2.0  # how much slower than the slowest picture the next one may be
RESERVE_SECONDS = 5.0  # for the work after the last picture


class PictureReader:
    """Loads the engine for the first picture that is not blank."""

    def __init__(
        self,
        entry: Mapping[str, Any],
        *,
        max_pages: int,
        limits: Limits,
        begin: Callable[[], None] = lambda: None,
    ) -> None:
        self.entry = entry
        self.max_pages = max_pages
        self.limits = limits
        self.begin = begin
        self.stopped = ""  # why no more pictures are read
        self._engine: OcrEngine | None = None
        self._pages = 0
        self._began = time.monotonic()
        self._slowest_cpu = self._slowest_wall = 0.0

    @property
    def name(self) -> str:
        try:
            return engine_class(self.entry).name
        except OcrUnavailable:
            return str(self.entry["BACKEND"])

    def read(self, picture: "Image") -> list[Line] | None:
        """Return lines in reading order, [] for a blank picture, None if not read (see
        `stopped`)."""
        if is_blank(picture):
            return []
        if self.stopped or not self._may_go_on():
            return None
        cpu, wall = cpu_seconds_used(), time.monotonic()
        lines = self._loaded().read(picture)
        self._pages += 1
        self._slowest_cpu = max(self._slowest_cpu, cpu_seconds_used() - cpu)
        self._slowest_wall = max(self._slowest_wall, time.monotonic() - wall)
        return lines

    def _may_go_on(self) -> bool:
        if self._pages >= self.max_pages:
            self.stopped = f"OCR ends after {self.max_pages} pages (OCR_MAX_PAGES)"
        elif self._pages and not self._has_time():
            self.stopped = "the time for OCR was used up (OCR_CPU_SECONDS, OCR_WALL_SECONDS)"
        return not self.stopped

    def _has_time(self) -> bool:
        """Stop in time and keep the pages read so far, instead of being killed and losing them."""
        cpu = cpu_seconds_used() + SLOWDOWN * self._slowest_cpu
        wall = time.monotonic() - self._began + SLOWDOWN * self._slowest_wall
        limits = self.limits
        return max(cpu - limits.cpu_seconds, wall - limits.wall_seconds) < -RESERVE_SECONDS

    def _loaded(self) -> OcrEngine:
        if self._engine is None:
            self.begin()
            self._began = time.monotonic()
            try:
                self._engine = engine_class(self.entry)(**self.entry.get("OPTIONS", {}))
            except (TypeError, ValueError) as error:
                raise OcrUnavailable(f"OCR_OPTIONS do not fit {self.name}: {error}") from error
        return self._engine


def engine_class(entry: Mapping[str, Any]) -> type[OcrEngine]:
    module, _, name = entry["BACKEND"].rpartition(".")
    try:
        found: type[OcrEngine] = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise OcrUnavailable(f"OCR_BACKEND names nothing that is there: {error}") from error
    return found


def is_blank(picture: "Image") -> bool:
    if min(picture.size) < MIN_SIDE:
        return True
    darkest, lightest = picture.convert("L").getextrema()
    return float(lightest) - float(darkest) < MIN_CONTRAST  # type: ignore[arg-type]
