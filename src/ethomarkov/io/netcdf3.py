"""Classic netCDF (version 3): the header is parsed here, and only variables that are asked for are touched.

The layout is that of "The NetCDF Classic Format Specification" of Unidata: a header of dimensions, attributes and
variables in big-endian numbers, padded to four bytes; then the data of each variable, or one record after the other.
"""

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethomarkov.exceptions import InputFormatError

SIGNATURE = b"CDF"
DIMENSION, VARIABLE, ATTRIBUTE = 10, 11, 12
TYPES = {1: ">i1", 2: "S1", 3: ">i2", 4: ">i4", 5: ">f4", 6: ">f8"}
STREAMING = 2**32 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicVariable:
    """What the header says of a variable.

    Parameters
    ----------
    dims
        Names of its dimensions.
    shape
        Their lengths; the number of records for the first one of a record variable.
    dtype
        Of its numbers, as stored.
    begin
        Byte at which they start.
    in_records
        Are its rows interleaved with those of others?
    attrs
        Its attributes.
    """

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    begin: int
    in_records: bool
    attrs: dict[str, Any]

    @property
    def row_bytes(self) -> int:
        """Bytes of one record, without padding."""
        return math.prod(self.shape[1:]) * self.dtype.itemsize

    @property
    def inner_strides(self) -> tuple[int, ...]:
        """Bytes from one number to the next along every dimension but the first."""
        return tuple(math.prod(self.shape[place + 1 :]) * self.dtype.itemsize for place in range(1, len(self.shape)))


class ClassicFile:
    """A classic netCDF file in memory.

    Parameters
    ----------
    data
        All of its bytes.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 4
        try:
            self._parse()
        except (struct.error, IndexError, KeyError) as error:
            raise InputFormatError(f"The netCDF header is damaged ({error!r}). Copy or export it again.") from error

    def read(self, name: str) -> NDArray[Any]:
        """Give the numbers of a variable, as a view of the file's bytes."""
        variable = self.variables[name]
        strides = (self._record_bytes(), *variable.inner_strides) if variable.in_records else None
        try:
            return np.ndarray(variable.shape, variable.dtype, self._data, variable.begin, strides)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputFormatError(
                f"{name} of shape {variable.shape} does not fit into the {len(self._data)} bytes of the file. It is "
                "damaged or truncated; copy it again."
            ) from error

    def _parse(self) -> None:
        if self._data[:3] != SIGNATURE or self._data[3] not in (1, 2):
            raise InputFormatError(
                f"It starts with {self._data[:4]!r}; netCDF of the versions 3 (classic, 64-bit offsets) and 4 can be "
                "read. Save it again as netCDF4."
            )
        n_records = self._number()
        dims = [(self._name(), self._number()) for _ in self._count(DIMENSION)]
        self.attrs = self._attributes()
        self.variables: dict[str, ClassicVariable] = {}
        for _ in self._count(VARIABLE):
            name = self._name()
            self.variables[name] = self._variable(dims, 0 if n_records == STREAMING else n_records)

    def _variable(self, dims: list[tuple[str, int]], n_records: int) -> ClassicVariable:
        own = [dims[self._number()] for _ in self._items(self._number())]
        attrs = self._attributes()
        dtype = np.dtype(TYPES[self._number()])
        self._number()  # the size that is stated follows from the shape
        begin = self._number() if self._data[3] == 1 else self._take(struct.Struct(">Q"))
        in_records = bool(own) and own[0][1] == 0
        shape = tuple(length for _, length in own)
        return ClassicVariable(
            dims=tuple(name for name, _ in own),
            shape=(n_records, *shape[1:]) if in_records else shape,
            dtype=dtype,
            begin=begin,
            in_records=in_records,
            attrs=attrs,
        )

    def _record_bytes(self) -> int:
        rows = [variable.row_bytes for variable in self.variables.values() if variable.in_records]
        return rows[0] if len(rows) == 1 else sum(_padded(row) for row in rows)

    def _attributes(self) -> dict[str, Any]:
        return {self._name(): self._attribute() for _ in self._count(ATTRIBUTE)}

    def _attribute(self) -> Any:  # noqa: ANN401 (text, a number or several)
        dtype, length = np.dtype(TYPES[self._number()]), self._number()
        data = self._bytes(length * dtype.itemsize)
        if dtype.kind == "S":
            return data.decode("utf-8", "replace")
        values = np.frombuffer(data, dtype)
        return values[0].item() if values.size == 1 else values

    def _count(self, tag: int) -> Iterator[int]:
        """Read how many dimensions, attributes or variables follow."""
        found, length = self._number(), self._number()
        if found not in (0, tag):
            raise InputFormatError("The netCDF header is damaged (an unexpected tag). Copy or export it again.")
        return self._items(length)

    def _items(self, length: int) -> Iterator[int]:
        return iter(range(length))  # a length beyond the file ends at its last byte with an error

    def _name(self) -> str:
        return self._bytes(self._number()).decode("utf-8", "replace")

    def _number(self) -> int:
        return self._take(struct.Struct(">I"))

    def _take(self, form: struct.Struct) -> int:
        value: int = form.unpack_from(self._data, self._place)[0]
        self._place += form.size
        return value

    def _bytes(self, length: int) -> bytes:
        data = self._data[self._place : self._place + length]
        if len(data) < length:
            raise IndexError(f"{length} bytes at {self._place}")
        self._place += _padded(length)
        return data


def _padded(length: int) -> int:
    return -(-length // 4) * 4
