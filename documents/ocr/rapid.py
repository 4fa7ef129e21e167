"""RapidOCR: PaddleOCR's models on onnxruntime, installed from the package index."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from documents.extractors.cleaning import clean
from documents.extractors.lines import Box, Line, boxed, tidy
from documents.ocr.base import OcrEngine, OcrUnavailable
from documents.ocr.layout import Quad, in_reading_order, tilt, upright

if TYPE_CHECKING:
    from PIL.Image import Image

MODELS = {
    "Det": "PP-OCRv6_det_small.onnx",
    "Rec": "PP-OCRv6_rec_small.onnx",
    "Cls": "ch_ppocr_mobile_v2.0_cls_mobile.onnx",
}
ORIENTATION_SAMPLES = 20  # pieces of text that decide which way up a page is
FEW_CHARACTERS = 2  # leaves and shadows look like short texts ...
MIN_CONFIDENCE_OF_FEW = 0.8  # ... so these need more confidence
MAX_ASPECT_RATIO = 8  # RapidOCR enlarges the shorter side, which makes the longer one expensive
TALL = 1.5  # height to width; the text runs up or down the page


class RapidOcr(OcrEngine):
    """Finds pieces of text, determines which way up the page is, then reads the pieces."""

    name = "rapidocr"

    def __init__(
        self, *, threads: int = 1, longest_side: int = 2000, least_confidence: float = 0.5
    ) -> None:
        try:
            import cv2
            import rapidocr
        except ImportError as error:
            raise OcrUnavailable(f"OCR is set to RapidOCR, which is not there: {error}") from error
        cv2.setNumThreads(threads)
        folder = Path(rapidocr.__file__).parent / "models"
        runtime = "EngineConfig.onnxruntime"
        # With a path, each model is loaded from there and never downloaded.
        models = {f"{step}.model_path": str(folder / name) for step, name in MODELS.items()}
        self.engine: Any = rapidocr.RapidOCR(
            params={
                "Global.log_level": "critical",
                "Global.max_side_len": longest_side,
                f"{runtime}.intra_op_num_threads": threads,
                f"{runtime}.inter_op_num_threads": 1,
                **models,
            }
        )
        self.least_confidence = least_confidence

    def read(self, picture: "Image") -> list[Line]:
        import numpy

        page = _broad_enough(picture)
        pixels = numpy.asarray(page.convert("RGB"))[:, :, ::-1]
        quads, crops = self._found(pixels)
        turns = 0  # by 90 degrees, counter-clockwise, until the text is upright
        if _runs_up_or_down(quads):
            turns = 1
            quads, crops = self._found(numpy.rot90(pixels))
        if not quads:
            return []
        if self._is_upside_down(crops):
            turns += 2
            quads = [_turned_twice(quad, page.size, turns) for quad in quads]
            crops = [numpy.ascontiguousarray(crop[::-1, ::-1]) for crop in crops]
        found = self.engine.recognize_txt(crops)
        angle = tilt(quads)
        lines = [
            _line(
                text, confidence, upright(quad, angle), _share(quad, turns, page.size, picture.size)
            )
            for text, confidence, quad in zip(found.txts, found.scores, quads, strict=True)
            if confidence
            >= (self.least_confidence if len(text) > FEW_CHARACTERS else MIN_CONFIDENCE_OF_FEW)
        ]
        return in_reading_order([line for line in lines if line.text])

    def _found(self, pixels: Any) -> tuple[list[Quad], list[Any]]:
        """Return the boxes of the text, and the image in each."""
        import numpy
        from rapidocr.main import RapidOCRError, map_boxes_to_original

        height, width = pixels.shape[:2]
        image, record = self.engine.preprocess_img(numpy.ascontiguousarray(pixels))
        try:
            crops, found = self.engine.detect_and_crop(image, record)
        except RapidOCRError:  # raised if there is no text
            return [], []
        boxes = map_boxes_to_original(found.boxes, record, height, width)
        return [[(float(x), float(y)) for x, y in box] for box in boxes], crops

    def _is_upside_down(self, crops: Sequence[Any]) -> bool:
        """Decide by the longest pieces: the classifier is unreliable for single ones."""
        longest = sorted(crops, key=lambda crop: -crop.shape[1] / crop.shape[0])[
            :ORIENTATION_SAMPLES
        ]
        _, classified = self.engine.cls_and_rotate(longest)
        votes = sum(
            confidence if "180" in label else -confidence
            for label, confidence in classified.cls_res
        )
        return bool(votes > 0)


def _broad_enough(picture: "Image") -> "Image":
    """Pad a narrow strip with white: RapidOCR would shrink it to nothing and fail."""
    from PIL import Image

    min_side = max(picture.size) // MAX_ASPECT_RATIO
    if min(picture.size) >= min_side:
        return picture
    width, height = picture.size
    page = Image.new("RGB", (max(width, min_side), max(height, min_side)), "white")
    page.paste(picture, (0, 0))
    return page


def _runs_up_or_down(quads: Sequence[Quad]) -> bool:
    tall = flat = 0.0
    for quad in quads:
        left, top, right, bottom = upright(quad, 0)
        area = (right - left) * (bottom - top)
        if bottom - top > TALL * (right - left):
            tall += area
        else:
            flat += area
    return tall > flat


def _size(size: tuple[int, int], turns: int) -> tuple[int, int]:
    return size if turns % 2 == 0 else (size[1], size[0])


def _turned_twice(quad: Quad, size: tuple[int, int], turns: int) -> Quad:
    width, height = _size(size, turns)
    lower_right, lower_left, upper_left, upper_right = [(width - x, height - y) for x, y in quad]
    return upper_left, upper_right, lower_right, lower_left


def _line(text: str, confidence: float, place: Box, box: Box) -> Line:
    left, top, right, bottom = place
    words = tidy(clean(text))
    line = boxed(words, left, right, -bottom, -top)
    return line._replace(box=box, confidence=min(1.0, float(confidence)))


def _share(quad: Quad, turns: int, page: tuple[int, int], picture: tuple[int, int]) -> Box:
    """Return the box on the original picture, as fractions of its width and height."""
    points = list(quad)
    if turns >= 2:
        width, height = _size(page, turns)
        points = [(width - x, height - y) for x, y in points]
    if turns % 2:
        points = [(page[0] - y, x) for x, y in points]
    left, top, right, bottom = upright(points, 0)
    width, height = picture
    return left / width, top / height, min(1.0, right / width), min(1.0, bottom / height)
