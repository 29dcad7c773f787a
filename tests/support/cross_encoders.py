"""Small cross-encoders, written to a folder as optimum writes large ones: a graph and a tokenizer."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import onnx
from onnx import NodeProto, TensorProto, helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
EVERY_SIZE = ["batch", "sequence"]


def write_cross_encoder(folder: Path, texts: Iterable[str], graph: onnx.GraphProto, *, limit: int | None = 512) -> Path:
    """A folder that holds a graph and a tokenizer that knows the words of some texts."""
    folder.mkdir(parents=True, exist_ok=True)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(made)
    (folder / "model.onnx").write_bytes(made.SerializeToString())
    words = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    words.normalizer, words.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
    known = sorted({word for text in texts for word, _ in words.pre_tokenizer.pre_tokenize_str(text.lower())})
    words.model = models.WordLevel({word: id for id, word in enumerate([*SPECIAL, *known])}, unk_token="[UNK]")
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    if limit:
        words.enable_truncation(limit)
    words.save(str(folder / "tokenizer.json"))
    return folder


def shared_words(start: int = -3) -> onnx.GraphProto:
    """How often a word of the query stands in the text, counted from a number on."""
    weighed = [
        node("Not", ["token_types"], "in_query"),
        node("Greater", ["input_ids", "last_special"], "is_word"),
        node("And", ["is_word", "mask"], "word"),
        node("And", ["word", "in_query"], "of_query"),
        node("And", ["word", "token_types"], "of_text"),
        node("Unsqueeze", ["of_query", "two"], "queries"),
        node("Unsqueeze", ["of_text", "one"], "texts"),
        node("And", ["queries", "texts"], "pairs"),
        node("Unsqueeze", ["input_ids", "two"], "rows"),
        node("Unsqueeze", ["input_ids", "one"], "columns"),
        node("Equal", ["rows", "columns"], "equal"),
        node("And", ["equal", "pairs"], "shared"),
        node("Cast", ["shared"], "counted", to=TensorProto.FLOAT),
        node("ReduceSum", ["counted", "both"], "sums", keepdims=0),
        node("Unsqueeze", ["sums", "one"], "column"),
        node("Add", ["column", "start"], "logits"),
    ]
    read = [
        node("Cast", ["token_type_ids"], "token_types", to=TensorProto.BOOL),
        node("Cast", ["attention_mask"], "mask", to=TensorProto.BOOL),
    ]
    numbers = {"last_special": 3, "one": [1], "two": [2], "both": [1, 2]}
    given = [integer_tensor(name, value) for name, value in numbers.items()]
    given.append(helper.make_tensor("start", TensorProto.FLOAT, [1], [float(start)]))
    return graph([*read, *weighed], given)


def length(columns: int = 1) -> onnx.GraphProto:
    """How many tokens a pair has, without being told which are whose; in several columns none is the score."""
    nodes = [
        node("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT),
        node("ReduceSum", ["mask", "one"], "sums", keepdims=1),
        node("Expand", ["sums", "shape"], "wide"),
        node("Mul", ["wide", "hundredth"], "logits"),
    ]
    given = [integer_tensor("one", [1]), integer_tensor("shape", [1, columns])]
    given.append(helper.make_tensor("hundredth", TensorProto.FLOAT, [1], [0.01]))
    return graph(nodes, given, inputs=INPUTS[:2], columns=columns)


def endless() -> onnx.GraphProto:
    """A model that is never done."""
    body = helper.make_graph(
        [node("Identity", ["goes_on"], "still"), node("Add", ["so_far", "so_far"], "further")],
        "turn",
        [
            helper.make_tensor_value_info("turn", TensorProto.INT64, []),
            helper.make_tensor_value_info("goes_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("so_far", TensorProto.FLOAT, None),
        ],
        [
            helper.make_tensor_value_info("still", TensorProto.BOOL, []),
            helper.make_tensor_value_info("further", TensorProto.FLOAT, None),
        ],
    )
    nodes = [
        node("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT),
        node("ReduceSum", ["mask", "one"], "sums", keepdims=1),
        helper.make_node("Loop", ["turns", "yes"], ["logits"], body=body),
    ]
    nodes[-1].input.append("sums")
    given = [integer_tensor("one", [1]), integer_tensor("turns", 2**62)]
    given.append(helper.make_tensor("yes", TensorProto.BOOL, [], [True]))
    return graph(nodes, given, inputs=INPUTS[:2])


def not_finite() -> onnx.GraphProto:
    """A model whose scores are no numbers."""
    nodes = [
        node("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT),
        node("ReduceSum", ["mask", "one"], "sums", keepdims=1),
        node("Neg", ["sums"], "negative"),
        node("Log", ["negative"], "logits"),
    ]
    return graph(nodes, [integer_tensor("one", [1])], inputs=INPUTS[:2])


def graph(
    nodes: list[NodeProto], given: list[TensorProto], *, inputs: Iterable[str] = INPUTS, columns: int = 1
) -> onnx.GraphProto:
    """A graph over batches of pairs."""
    taken = [helper.make_tensor_value_info(name, TensorProto.INT64, EVERY_SIZE) for name in inputs]
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", columns])
    return helper.make_graph(nodes, "cross-encoder", taken, [logits], given)


def node(kind: str, inputs: list[str], output: str, **more: Any) -> NodeProto:
    """One operation."""
    return helper.make_node(kind, inputs, [output], **more)


def integer_tensor(name: str, value: int | list[int]) -> TensorProto:
    """A constant of whole numbers."""
    values = value if isinstance(value, list) else [value]
    return helper.make_tensor(name, TensorProto.INT64, [len(values)] if isinstance(value, list) else [], values)
