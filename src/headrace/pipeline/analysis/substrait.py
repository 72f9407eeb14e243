"""Substrait plans in canonical form: the same plan has the same bytes in every process.

DataFusion lists and numbers the functions of a plan in the order of a hash map. Here they are
numbered by name, the producer version is omitted, and the bytes are written deterministically. A
scan names only the columns that it reads, so an unused column changes no plan.

Renumbering means rewriting every reference. A reference inside a field that the protobuf classes do
not know, or inside an extension, would keep its old number and point to another function, so a plan
with either is refused. The classes are those of the Substrait version that DataFusion writes.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256

from google.protobuf.any_pb2 import Any
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.internal import api_implementation
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet
from substrait.algebra_pb2 import Expression, JoinRel, ReadRel
from substrait.plan_pb2 import Plan
from substrait.type_pb2 import NamedStruct, Type

_REFERENCE = "function_reference"
"""The suffix of all field names that refer to a function by number."""

# By default, messages may be nested 100 deep, which an expression of 30 levels exceeds.
if hasattr(api_implementation._c_module, "SetAllowOversizeProtos"):  # noqa: SLF001
    api_implementation._c_module.SetAllowOversizeProtos(True)  # noqa: SLF001


class UnknownFieldError(Exception):
    """A plan has a field that the installed Substrait classes do not know."""


class MixedJoinError(UnknownFieldError):
    """A join by both `=` and `<=>`, which DataFusion reads back as a join by `<=>` alone."""


def canonical_plan(encoded: bytes) -> Plan:
    """Decode a plan and bring it into canonical form.

    Raises:
        DecodeError: it is nested too deeply to be read.
        UnknownFieldError: it has a field or a declaration that cannot be renumbered.
        MixedJoinError: it has a join that would be read back as another one.
    """
    plan = Plan()
    plan.ParseFromString(encoded)
    plan.ClearField("version")
    nodes = list(_messages(plan))
    for node in nodes:
        _check_known(node)
    for extension in plan.extensions:
        kind = extension.WhichOneof("mapping_type")
        if kind != "extension_function":
            reason = f"its Substrait plan declares a {kind}, which cannot be renumbered"
            raise UnknownFieldError(reason)
    declared = sorted(
        (extension.extension_function for extension in plan.extensions),
        key=lambda function: (function.name, function.function_anchor),
    )
    anchors = {function.function_anchor: place for place, function in enumerate(declared)}
    for node in nodes:
        for field in _reference_fields(node.DESCRIPTOR):
            if not field.has_presence or node.HasField(field.name):
                setattr(node, field.name, anchors[getattr(node, field.name)])
        if isinstance(node, ReadRel):
            _narrow(node)
    names = [function.name for function in declared]
    _check_joins(nodes, names)
    references = [function.extension_urn_reference for function in declared]
    del plan.extensions[:]
    for place, (name, reference) in enumerate(zip(names, references, strict=True)):
        added = plan.extensions.add().extension_function
        added.name, added.function_anchor, added.extension_urn_reference = name, place, reference
    return plan


def _check_joins(nodes: Sequence[Message], names: Sequence[str]) -> None:
    mixed = {"equal", "is_not_distinct_from"}
    for node in nodes:
        if isinstance(node, JoinRel) and mixed <= set(_conjuncts(node.expression, names)):
            raise MixedJoinError("its Substrait plan has a join by both = and <=>")


def _conjuncts(expression: Expression, names: Sequence[str]) -> Iterator[str]:
    """Yield the functions that an expression connects by AND."""
    waiting = [expression]
    while waiting:
        current = waiting.pop()
        if current.WhichOneof("rex_type") != "scalar_function":
            continue
        name = names[current.scalar_function.function_reference]
        if name == "and":
            waiting += [argument.value for argument in current.scalar_function.arguments]
        else:
            yield name


@cache
def _reference_fields(kind: Descriptor) -> tuple[FieldDescriptor, ...]:
    return tuple(field for field in kind.fields if field.name.endswith(_REFERENCE))


def _check_known(node: Message) -> None:
    unknown = UnknownFieldSet(node)
    if len(unknown):
        numbers = ", ".join(str(field.field_number) for field in unknown)
        reason = (
            f"its Substrait plan has fields that substrait-protobuf does not know: {numbers} of "
            f"{node.DESCRIPTOR.full_name}"
        )
        raise UnknownFieldError(reason)
    if isinstance(node, Any):
        reason = f"its Substrait plan has an extension, {node.type_url or 'without a type'}"
        raise UnknownFieldError(reason)


def _narrow(read: ReadRel) -> None:
    """Keep only the columns that a scan projects, in that order."""
    if not read.HasField("projection") or read.HasField("filter"):
        return
    places = [item.field for item in read.projection.select.struct_items]
    types = list(read.base_schema.struct.types)
    names = column_names(read.base_schema)
    narrowed = NamedStruct(names=[name for place in places for name in names[place]])
    narrowed.struct.types.extend(types[place] for place in places)
    narrowed.struct.nullability = read.base_schema.struct.nullability
    read.base_schema.CopyFrom(narrowed)
    read.ClearField("projection")


def column_names(schema: NamedStruct) -> list[list[str]]:
    """Return the names of each column: its own, then those of nested struct members."""
    columns, place = [], 0
    for kind in schema.struct.types:
        width = 1 + _nested_names(kind)
        columns.append(list(schema.names[place : place + width]))
        place += width
    return columns


def _nested_names(kind: Type) -> int:
    match kind.WhichOneof("kind"):
        case "struct":
            return sum(1 + _nested_names(member) for member in kind.struct.types)
        case "list":
            return _nested_names(kind.list.type)
        case "map":
            return _nested_names(kind.map.key) + _nested_names(kind.map.value)
        case _:
            return 0


def plan_bytes(plan: Plan) -> bytes:
    """Return the bytes of a canonical plan."""
    return bytes(plan.SerializeToString(deterministic=True))


def plan_digest(encoded: bytes) -> str:
    """Return the digest that represents the plan in a fingerprint."""
    return sha256(encoded).hexdigest()


def _messages(message: Message) -> Iterator[Message]:
    """Yield every nested message; without recursion, since plans may be deep."""
    waiting = [message]
    while waiting:
        current = waiting.pop()
        yield current
        for field, value in current.ListFields():
            if field.message_type is None:
                continue
            waiting.extend(value if field.is_repeated else (value,))
