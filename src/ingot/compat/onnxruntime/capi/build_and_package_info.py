"""Under which name and version the package would be installed."""

from ingot.compat.onnxruntime.environment import API_VERSION

package_name = "onnxruntime"
__version__ = API_VERSION

__all__ = ["__version__", "package_name"]
