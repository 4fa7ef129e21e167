"""Files on their way in: large ones are written to a folder of temporary files."""

from django.core.files.uploadhandler import TemporaryFileUploadHandler


class TidyUploadHandler(TemporaryFileUploadHandler):
    """Leaves no file behind when the disk is full: Django only closes those that are complete."""

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        try:
            super().receive_data_chunk(raw_data, start)
        except OSError:
            self.file.close()
            raise
