"""Renders the graph as Mermaid text, which code hosts draw in a README."""

from headrace.pipeline.page.view_graph import Graph, Node

_STYLES = {
    "source": "fill:#f3eefb,stroke:#8a5cd1",
    "ran": "fill:#e8f4ee,stroke:#178a52",
    "skipped": "fill:#edf1fb,stroke:#4a72d8",
    "failed": "fill:#fbeaed,stroke:#d0324b",
    "in-place": "fill:#eaf4f5,stroke:#2b8a94",
    "blocked": "fill:#fbf2e6,stroke:#b9770f",
    "cancelled": "fill:#fbf2e6,stroke:#b9770f",
    "never-run": "fill:#f6f7f9,stroke:#98a3b3,stroke-dasharray:4 3",
}


def mermaid(graph: Graph) -> str:
    """Return a flowchart from left to right."""
    ids = {name: f"n{index}" for index, name in enumerate(graph.nodes)}
    classes = sorted({node.style_class for node in graph.nodes.values()})
    return "\n".join(
        [
            "flowchart LR",
            *(
                f"  {ids[name]}{_shape(node)}:::{node.style_class}"
                for name, node in graph.nodes.items()
            ),
            *(f"  {ids[a]} --> {ids[b]}" for a, b in graph.edges),
            *(f"  classDef {name} {_STYLES[name]}" for name in classes),
            "",
        ]
    )


def _shape(node: Node) -> str:
    label = f'"{_quoted(node.name)}"'
    return f"([{label}])" if node.status is None else f"[{label}]"


def _quoted(text: str) -> str:
    """Escape a label; Mermaid encodes characters by their code points."""
    return "".join(c if c.isalnum() or c in " _.-" else f"#{ord(c)};" for c in text)
