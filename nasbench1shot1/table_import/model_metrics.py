"""NAS-Bench-101's protobuf message `ModelMetrics`, described at run time: no generated code, no `protoc`.

Only what a table needs is declared; other fields are skipped. So are fields from 6 on, where other projects keep
other things (EC-NAS its energy, where NAS-Bench-101 has the path of a checkpoint).
"""

from typing import Any

_PACKAGE = "nasbench"
_EVALUATION = ("current_epoch", "training_time", "train_accuracy", "validation_accuracy", "test_accuracy")


def model_metrics() -> Any:
    """The class of the message: `evaluation_data` at the start, half-way and end of a training; `trainable_parameters`.

    A number that is lacking reads as NaN, parameters as -1. The message lives in a pool of its own, so that
    a program that also loads `nasbench` does not register it twice.
    """
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message_factory import GetMessageClass

    file = FileDescriptorProto(name="model_metrics.proto", package=_PACKAGE, syntax="proto2")
    evaluation, metrics = file.message_type.add(name="EvaluationData"), file.message_type.add(name="ModelMetrics")
    for number, name in enumerate(_EVALUATION, start=1):
        evaluation.field.add(name=name, number=number, **_kind("DOUBLE", "OPTIONAL"), default_value="nan")
    metrics.field.add(
        name="evaluation_data",
        number=1,
        **_kind("MESSAGE", "REPEATED"),
        type_name=f".{_PACKAGE}.EvaluationData",
    )
    metrics.field.add(name="trainable_parameters", number=2, **_kind("INT32", "OPTIONAL"), default_value="-1")
    pool = DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.ModelMetrics"))


def _kind(kind: str, label: str) -> dict[str, Any]:
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field

    return {"type": getattr(Field, f"TYPE_{kind}"), "label": getattr(Field, f"LABEL_{label}")}
