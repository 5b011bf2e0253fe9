"""What a process in compiled code has to do with: its environment, facilities, and words."""

# Whoever checks a program of theirs need not have all that this may import.
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, overload, register_model, typeof_impl

from .._models._compiler import PointerModel
from .._models._drawing import F64, I64
from ._facilities import Facility, Process, Resource, Resources


class EnvType(types.Type):
    """The environment of a process of one world."""

    def __init__(self, key: str, site: Any, parameters: Any) -> None:
        super().__init__(name=f"Env_{key}")
        self.site, self.parameters = site, parameters


class ConstantType(types.Dummy):
    """A constant of the model's module: a facility or several, or a kind of processes."""

    def __init__(self, value: Facility | Resources | Process) -> None:
        self.value = value
        super().__init__(name=f"{value!r} {id(value)}")


class OneOfType(types.Type):
    """One of several resources, which is known when the process runs: its number."""

    def __init__(self, value: Resource) -> None:
        #: The first one; all are of a kind.
        self.value = value
        super().__init__(name=f"one of {type(value).__name__}")


class NumberModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, of_numba: Any) -> None:
        super().__init__(dmm, of_numba, I64)


register_model(EnvType)(PointerModel)
register_model(ConstantType)(PointerModel)
register_model(OneOfType)(NumberModel)


@typeof_impl.register(Facility)
@typeof_impl.register(Resources)
@typeof_impl.register(Process)
def _typeof(value: Any, context: Any) -> Any:
    return ConstantType(value)


@intrinsic
def which(typing: Any, facility: Any) -> Any:
    """The number of a facility: a constant, unless it is one of several."""

    def generate(context: Any, builder: Any, of_call: Any, args: Any) -> Any:
        is_one_of_several = isinstance(facility, OneOfType)
        return args[0] if is_one_of_several else I64(facility.value.number)

    return types.int64(facility), generate


@intrinsic
def _one_of(typing: Any, several: Any, number: Any) -> Any:
    """A resource of several, by its number, which is in their range."""

    def generate(context: Any, builder: Any, of_call: Any, args: Any) -> Any:
        number = context.cast(builder, args[1], of_call.args[1], types.int64)
        return builder.add(number, I64(several.value.first))

    return OneOfType(several.value[0])(several, number), generate


# Numba compares these signatures, and what type checkers read in them, with those inside.


@overload(operator.getitem)
def _take_one(several, number):  # type: ignore[no-untyped-def]
    if not isinstance(several, ConstantType) or not isinstance(several.value, Resources):
        return None
    count, wrong = len(several.value), several.value.out_of_range

    def implementation(several, number):  # type: ignore[no-untyped-def]
        if number < 0 or number >= count:
            raise IndexError(wrong)
        return _one_of(several, number)

    return implementation


@overload(len)
def _count(several):  # type: ignore[no-untyped-def]
    if not isinstance(several, ConstantType) or not isinstance(several.value, Resources):
        return None
    count = len(several.value)
    return lambda several: count


def word_of(builder: Any, value: Any) -> Any:
    """A number as a word."""
    if isinstance(value.type, ir.DoubleType | ir.FloatType):
        value = builder.bitcast(value, ir.IntType(64 if value.type == F64 else 32))
    return value if value.type.width == 64 else builder.zext(value, I64)


def value_of(builder: Any, word: Any, kind: Any) -> Any:
    """The number of this type that a word is."""
    is_float = isinstance(kind, ir.DoubleType | ir.FloatType)
    bits = (64 if kind == F64 else 32) if is_float else kind.width
    value = word if bits == 64 else builder.trunc(word, ir.IntType(bits))
    return builder.bitcast(value, kind) if is_float else value
