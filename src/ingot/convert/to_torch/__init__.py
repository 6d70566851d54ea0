"""Models as PyTorch modules: readable source, weights under their own names, trainable and exportable again."""

from ingot.convert.to_torch.files import save_torch
from ingot.convert.to_torch.module import module_of, to_torch
from ingot.convert.to_torch.source import TorchSource, to_torch_source

__all__ = ["TorchSource", "module_of", "save_torch", "to_torch", "to_torch_source"]
