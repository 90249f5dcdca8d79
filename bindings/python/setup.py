# SPDX-License-Identifier: MIT
from setuptools import setup

setup(
    name="libredlock",
    version="0.1.0",
    description="Distributed locks over independent Redis or Valkey servers: the C library for Python",
    license="MIT",
    packages=["libredlock"],
    package_data={"libredlock": ["py.typed", "_native.pyi"]},
    python_requires=">=3.9",
    setup_requires=["cffi>=1.15"],
    install_requires=["cffi>=1.15"],
    cffi_modules=["libredlock/_build.py:ffi"],
    zip_safe=False,
)
