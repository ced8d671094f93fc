"""Convert a GGUF model to the safetensors that vLLM reads: `python convert.py MODEL.gguf FOLDER`.

Runs in the engine's environment. vLLM does not read GGUF on a CPU, but transformers does.
"""

import sys
from pathlib import Path

import torch  # type: ignore[import-not-found]  # is in .engine/venv, not in ours
from transformers import (  # type: ignore[import-not-found]  # likewise
    AutoModelForCausalLM,
    AutoTokenizer,
)


def convert(source: Path, target: Path) -> None:
    """Write the model as bfloat16 with its tokenizer and chat template."""
    folder, name = str(source.parent), source.name
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.bfloat16)
    # The weights are plain numbers now, but the model still calls itself quantized and could not be saved.
    model.hf_quantizer = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
