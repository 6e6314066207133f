"""Results as a few lines, as a card of HTML, and as a table, from nothing but their fields."""

import dataclasses
import html
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from ethomarkov._core.result import Result, field_notes
from ethomarkov._core.words import count_of

if TYPE_CHECKING:
    import pandas as pd

MOST_LINES, MOST_ITEMS, LONGEST = 12, 4, 88
LABELS = {"individual": "individuals", "animal": "individuals", "from_state": "names", "to_state": "names"}
"""Fields that name the entries of a dimension; that of states is `names` too where there are as many."""
CARD = (
    '<div style="display:inline-block;border:1px solid color-mix(in srgb,currentColor 25%,transparent);'
    'border-radius:6px;padding:.5em .9em;font-size:90%;max-width:60em">{}</div>'
)
PLURALS = {
    "axis": "axes",
    "quantity": "quantities",
    "frequency": "frequencies",
    "radius": "radii",
    "space": "directions",
}
KEY = "text-align:left;padding:.1em 1em .1em 0;opacity:.65;font-weight:normal;vertical-align:top;white-space:nowrap"
VALUE = "text-align:left;padding:.1em 0"


# --- in words --------------------------------------------------------------------------------------------------------


def describe(result: Result) -> str:
    """Write a result in a few lines: its kind, its headline, and its fields."""
    rows = list(shown_fields(result))
    width = max((len(name) for name, _ in rows), default=0)
    lines = [f"  {name:<{width}}  {value}" for name, value in rows]
    return "\n".join([title(result), *lines])


def card(result: Result) -> str:
    """Write a result as a small table of HTML, with what each field is as a tooltip."""
    return name_and_rows(type(result).__name__, result.headline(), shown_fields(result), field_notes(type(result)))


def name_and_rows(
    name: str, headline: str, rows: Iterable[tuple[str, str]], notes: Mapping[str, str] | None = None
) -> str:
    """Write a card of HTML: a title, and rows of names and values.

    Parameters
    ----------
    name, headline
        What it is, and in a few words what it says.
    rows
        Names and values.
    notes
        What the names mean, shown where the mouse rests on them.
    """
    head = f"<strong>{html.escape(name)}</strong>" + (f" {html.escape(headline)}" if headline else "")
    cells = (
        f'<tr title="{html.escape((notes or {}).get(key, ""))}"><th style="{KEY}">{html.escape(key)}</th>'
        f'<td style="{VALUE}">{html.escape(value)}</td></tr>'
        for key, value in rows
    )
    return CARD.format(f'{head}<table style="border:0;margin:.3em 0 0 0">{"".join(cells)}</table>')


def title(result: Result) -> str:
    """Give the kind of a result with its headline."""
    headline = result.headline()
    return f"{type(result).__name__}: {headline}" if headline else type(result).__name__


def shown_fields(result: Result) -> Iterator[tuple[str, str]]:
    """Give the names of fields, and their values in a line each; what is too much is counted."""
    fields = [item for item in dataclasses.fields(result) if not item.name.startswith("_")]  # type: ignore[arg-type]
    shown = fields if len(fields) <= MOST_LINES else fields[: MOST_LINES - 1]
    for item in shown:
        yield item.name, in_a_line(getattr(result, item.name), item.metadata)
    if len(fields) > len(shown):
        yield "…", f"{len(fields) - len(shown)} more: {', '.join(item.name for item in fields[len(shown) :])}"[:LONGEST]


def in_a_line(value: object, metadata: Mapping[str, Any] | None = None) -> str:
    """Write any value in one line of bounded length."""
    about = metadata or {}
    unit = f" {about['unit']}" if about.get("unit") else ""
    if isinstance(value, np.ndarray):
        return _array_line(value, about, unit)
    text = _line(value)
    text = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return f"{text}{unit}" if isinstance(value, (int, float)) and not isinstance(value, bool) else text


def _line(value: object) -> str:
    return next((write(value) for kinds, write in IN_WORDS if isinstance(value, kinds)), " ".join(str(value).split()))


def _result_line(value: Any) -> str:  # noqa: ANN401 (a result)
    """Give a result that writes itself as text as that, another one by its title."""
    text = str(value) if "__str__" in vars(type(value)) else title(value)
    return text.partition("\n")[0]


def _matrix_line(value: Any) -> str:  # noqa: ANN401 (a sparse matrix)
    return f"{' x '.join(map(str, value.shape))} sparse, {value.nnz:,} entries"


def _sequence_line(value: Any) -> str:  # noqa: ANN401 (a tuple or a list)
    return _listed([_line(one) for one in value[:MOST_ITEMS]], len(value))


IN_WORDS: tuple[tuple[Any, Callable[[Any], str]], ...] = (
    ((bool, np.bool_), lambda value: "yes" if value else "no"),
    ((float, np.floating), lambda value: f"{value:.4g}"),
    (Result, _result_line),
    (sparse.sparray, _matrix_line),
    (Mapping, lambda value: _listed([str(key) for key in value], len(value))),
    ((tuple, list), _sequence_line),
)
"""How values of some kinds are written in a line; all others as they write themselves."""


def _listed(items: list[str], n: int) -> str:
    more = f", … ({n:,} in all)" if n > MOST_ITEMS else ""
    return ", ".join(items[:MOST_ITEMS]) + more if n else "none"


def _array_line(values: np.ndarray, about: Mapping[str, Any], unit: str) -> str:
    if values.ndim == 1 and 0 < values.size <= MOST_ITEMS:
        return ", ".join(_line(one) for one in values.tolist()) + unit
    dims = about.get("dims", ())
    names = dims if len(dims) == values.ndim and dims[-1:] != ("...",) else [""] * values.ndim
    shape = " x ".join(_count(n, name) for n, name in zip(values.shape, names, strict=True))
    known = values[np.isfinite(values)] if values.dtype.kind in "fiu" else np.empty(0)
    reach = f", {known.min():.3g} to {known.max():.3g}{unit}" if known.size else ""
    return f"{shape or 'one number'}{reach}"


def _count(n: int, dim: str) -> str:
    """Write the length of a dimension with its name."""
    noun = dim.replace("_", " ")
    return f"{n:,} {PLURALS[noun]}" if n != 1 and noun in PLURALS else count_of(n, noun).strip() if noun else f"{n:,}"


# --- as a table ------------------------------------------------------------------------------------------------------


def tabulate(result: Result) -> "pd.DataFrame":
    """Lay a result out as a table: the arrays with most dimensions in common as columns, or rows of parts, or one row.

    Parameters
    ----------
    result
        Of any kind.
    """
    arrays = _arrays(result)
    rows = _rows(result)
    if arrays:
        found = _array_table(result, arrays)
    elif rows:
        found = frame_of(flatten(one) for one in rows)
    else:
        found = frame_of([flatten(result)])
    found.attrs["units"] = {name: unit for name, unit in _units(result).items() if name in found}
    return found


def frame_of(rows: Any) -> "pd.DataFrame":  # noqa: ANN401 (rows of any source)
    """Make a table of rows of named values."""
    import pandas as pd

    return pd.DataFrame(list(rows))


def frame_of_columns(columns: Mapping[str, Any]) -> "pd.DataFrame":
    """Make a table of columns by name."""
    import pandas as pd

    return pd.DataFrame(dict(columns))


def flatten(value: object, prefix: str = "") -> dict[str, object]:
    """List the numbers and words of a result and of its parts in one row; intervals take a column for each limit."""
    row: dict[str, object] = {}
    for item in dataclasses.fields(value):  # type: ignore[arg-type]
        name, here = f"{prefix}{item.name}", getattr(value, item.name)
        if dataclasses.is_dataclass(here):
            row |= _flat_interval(name, here) if hasattr(here, "estimate") else flatten(here, f"{name}_")
        elif isinstance(here, (int, float, str, np.generic)) or here is None:
            row[name] = here
    return row


def _flat_interval(name: str, value: Any) -> dict[str, object]:  # noqa: ANN401 (an interval)
    return {name: value.estimate, f"{name}_low": value.low, f"{name}_high": value.high}


def _units(result: Result) -> dict[str, str]:
    fields = dataclasses.fields(result)  # type: ignore[arg-type]
    return {item.name: item.metadata["unit"] for item in fields if item.metadata.get("unit")}


def _rows(result: Result) -> tuple[Any, ...]:
    """Give the longest tuple of parts of one kind."""
    values = (getattr(result, item.name) for item in dataclasses.fields(result))  # type: ignore[arg-type]
    tuples = [value for value in values if isinstance(value, tuple) and value and dataclasses.is_dataclass(value[0])]
    return max(tuples, key=len, default=())


def _arrays(result: Result) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """Give arrays with names for all of their dimensions."""
    found = {}
    for item in dataclasses.fields(result):  # type: ignore[arg-type]
        value, dims = getattr(result, item.name), item.metadata.get("dims", ())
        if isinstance(value, np.ndarray) and value.ndim and len(dims) == value.ndim and dims[-1:] != ("...",):
            found[item.name] = (dims, value)
    return found


def _array_table(result: Result, arrays: Mapping[str, tuple[tuple[str, ...], np.ndarray]]) -> "pd.DataFrame":
    import pandas as pd

    shapes = [(dims, value.shape) for dims, value in arrays.values()]
    # what most arrays have in common; of equally common ones the finer
    dims, shape = max(dict.fromkeys(shapes), key=lambda one: (shapes.count(one), len(one[0])))
    places = np.indices(shape).reshape(len(shape), -1)
    columns: dict[str, Any] = {}
    for dim, n, place in zip(dims, shape, places, strict=True):
        labels = _labels(result, dim, n)
        columns[dim] = place if labels is None else np.asarray(labels, dtype=object)[place]
    for name, (own, value) in arrays.items():
        if (own, value.shape) == (dims, shape):
            columns[name] = value.ravel()
        elif len(own) == 1 and own[0] in dims and value.size == shape[dims.index(own[0])]:
            columns[name] = value[places[dims.index(own[0])]]
    return pd.DataFrame(columns)


def _labels(result: Result, dim: str, n: int) -> tuple[str, ...] | None:
    """Give names for the entries of a dimension, where the result has as many."""
    for field in (LABELS.get(dim), "names" if dim == "state" else None, f"{dim}s"):
        value = getattr(result, field, None) if field else None
        if isinstance(value, tuple) and len(value) == n and all(isinstance(one, str) for one in value):
            return value
    return None


# --- for a picture ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LeadingArray:
    """The array that a picture of a result shows if nothing better is known.

    Parameters
    ----------
    values
        Real numbers in one or two dimensions; the parts of more are averaged over the first dimensions.
    dims
        Names of the dimensions.
    label
        What the values are, with their unit.
    labels
        Names of the entries of the first dimension, if there are any.
    """

    values: np.ndarray
    dims: tuple[str, ...]
    label: str
    labels: list[str]


def leading_array(result: Result) -> LeadingArray | None:
    """Find the first array of numbers of a result, its own or that of its parts; None where there is none."""
    shown = ((name, *found) for name, found in _arrays(result).items() if found[1].dtype.kind in "fiub")
    for name, dims, values in shown:
        if values.size:
            unit = _units(result).get(name)
            flat = values.mean(axis=tuple(range(values.ndim - 2))) if values.ndim > 2 else values
            names = _labels(result, dims[-flat.ndim], len(flat)) or ()
            label = name.replace("_", " ") + (f" ({unit})" if unit else "")
            return LeadingArray(values=flat, dims=dims[-flat.ndim :], label=label, labels=list(names))
    parts = (getattr(result, item.name) for item in dataclasses.fields(result))  # type: ignore[arg-type]
    nested = (leading_array(one) for part in parts for one in _parts(part))
    return next((found for found in nested if found is not None), None)


def _parts(value: object) -> list[Result]:
    several = value if isinstance(value, tuple) else tuple(value.values()) if isinstance(value, Mapping) else (value,)
    return [one for one in several if isinstance(one, Result)]
