"""Files in and out: recordings from every format, results as netCDF."""

from ethomarkov.io.options import ReadOptions
from ethomarkov.io.registry import formats, read, write_recording

__all__ = ["ReadOptions", "formats", "read", "write_recording"]
