"""NAS-Bench-101's protobuf message `ModelMetrics`, declared at run time without generated code or `protoc`.

Only the fields that a table needs are declared; others are skipped. Field 6 and later ones differ between projects: in
NAS-Bench-101 it is the path of a checkpoint, in EC-NAS the energy.
"""

from typing import Any

_PACKAGE = "nasbench"
_EVALUATION = ("current_epoch", "training_time", "train_accuracy", "validation_accuracy", "test_accuracy")


def model_metrics() -> Any:
    """Return the message class, with `trainable_parameters`, and `evaluation_data` at the start, middle and end.

    A missing number is NaN, and a missing number of parameters -1. The message has its own descriptor pool, so that a
    program that also loads `nasbench` does not register it twice.
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
