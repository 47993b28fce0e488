"""Imports every module of the packages that it is told."""

import importlib
import pkgutil
import sys

sys.path.insert(0, "")
for name in sys.argv[1:]:
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(getattr(package, "__path__", []), f"{name}."):
        importlib.import_module(module.name)
