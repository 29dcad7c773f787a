"""Builds the graph of all-MiniLM-L6-v2 without weights: `python -m memories.providers.minilm_graph`."""

from pathlib import Path
from typing import Any

from onnx import ModelProto, NodeProto, TensorProto, helper

from memories.providers.token_matrix import TOKEN_DIMENSIONS

GRAPH = Path(__file__).with_name("minilm.onnx")
LAYERS, HEADS, WIDTH, INNER, VOCABULARY, POSITIONS = 6, 12, 384, 1536, 30522, 512
EPSILON = 1e-12  # config.json of the model
FUSED = "com.microsoft"  # the domain of onnxruntime's own operators


def external_tensor(name: str, *shape: int) -> TensorProto:
    """A weight that is passed to onnxruntime when the graph is loaded."""
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="model.safetensors")
    return tensor


def weight_tensors() -> list[TensorProto]:
    """Every weight, by name and shape."""
    tensors = [external_tensor("words", VOCABULARY, WIDTH), external_tensor("positions", POSITIONS, WIDTH)]
    tensors += [external_tensor("axes", WIDTH, TOKEN_DIMENSIONS)]
    tensors += [external_tensor("embedded.gamma", WIDTH), external_tensor("embedded.beta", WIDTH)]
    for i in range(LAYERS):
        tensors += [external_tensor(f"{i}.qkv", WIDTH, 3 * WIDTH), external_tensor(f"{i}.qkv.bias", 3 * WIDTH)]
        for name, rows, columns in (("mixed", WIDTH, WIDTH), ("inner", WIDTH, INNER), ("outer", INNER, WIDTH)):
            tensors += [external_tensor(f"{i}.{name}", rows, columns), external_tensor(f"{i}.{name}.bias", columns)]
        for name in ("mixed", "outer"):
            tensors += [external_tensor(f"{i}.{name}.gamma", WIDTH), external_tensor(f"{i}.{name}.beta", WIDTH)]
    return tensors


def transformer_layer(i: int, source: str, target: str) -> list[NodeProto]:
    """One layer: attention and feed-forward, each with a residual connection."""

    def fused_node(kind: str, inputs: list[str], output: str, **attributes: Any) -> NodeProto:
        return helper.make_node(kind, inputs, [output], domain=FUSED, **attributes)

    def product(name: str, value: str) -> NodeProto:
        return helper.make_node("MatMul", [value, f"{i}.{name}"], [f"{i}.{name}.product"])

    def normalise(name: str, residual: str, output: str) -> NodeProto:
        norm = [f"{i}.{name}.product", residual, f"{i}.{name}.gamma", f"{i}.{name}.beta", f"{i}.{name}.bias"]
        return fused_node("SkipLayerNormalization", norm, output, epsilon=EPSILON)

    return [
        fused_node("Attention", [source, f"{i}.qkv", f"{i}.qkv.bias", "mask"], f"{i}.attention", num_heads=HEADS),
        product("mixed", f"{i}.attention"),
        normalise("mixed", source, f"{i}.mid"),
        product("inner", f"{i}.mid"),
        fused_node("BiasGelu", [f"{i}.inner.product", f"{i}.inner.bias"], f"{i}.gelu"),
        product("outer", f"{i}.gelu"),
        normalise("outer", f"{i}.mid", target),
    ]


def mean_pooling() -> list[NodeProto]:
    """The mean of a text's token states, without its padding."""
    return [
        helper.make_node("Cast", ["mask"], ["mask.float"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask.float", "axis"], ["mask.row"]),
        helper.make_node("MatMul", ["mask.row", "states"], ["sum.row"]),
        helper.make_node("Squeeze", ["sum.row", "axis"], ["sum"]),
        helper.make_node("ReduceSum", ["mask.float", "axis"], ["tokens"], keepdims=1),
        helper.make_node("Div", ["sum", "tokens"], ["mean"]),
    ]


def axes_projection() -> list[NodeProto]:
    """The token states projected on the axes, as unit vectors."""
    return [
        helper.make_node("MatMul", ["states", "axes"], ["states.kept"]),
        helper.make_node("LpNormalization", ["states.kept"], ["projected"], axis=-1, p=2),
    ]


def build_model() -> ModelProto:
    """Token ids and mask in; mean, full states and projected states of the last layer out."""
    embedded = ["ids", "", "words", "positions", "", "embedded.gamma", "embedded.beta"]
    nodes = [
        helper.make_node("EmbedLayerNormalization", embedded, ["layer.0", "unused"], domain=FUSED, epsilon=EPSILON)
    ]
    for i in range(LAYERS):
        nodes += transformer_layer(i, f"layer.{i}", f"layer.{i + 1}" if i + 1 < LAYERS else "states")
    graph = helper.make_graph(
        nodes + mean_pooling() + axes_projection(),
        "all-MiniLM-L6-v2",
        inputs=[
            helper.make_tensor_value_info(name, TensorProto.INT32, ["texts", "tokens"]) for name in ("ids", "mask")
        ],
        outputs=[
            helper.make_tensor_value_info("mean", TensorProto.FLOAT, ["texts", WIDTH]),
            helper.make_tensor_value_info("states", TensorProto.FLOAT, ["texts", "tokens", WIDTH]),
            helper.make_tensor_value_info("projected", TensorProto.FLOAT, ["texts", "tokens", TOKEN_DIMENSIONS]),
        ],
        initializer=[*weight_tensors(), helper.make_tensor("axis", TensorProto.INT64, [1], [1])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(FUSED, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


if __name__ == "__main__":
    GRAPH.write_bytes(build_model().SerializeToString(deterministic=True))
