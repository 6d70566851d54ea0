"""Hints in the words of the command line: the library's name Python arguments, and here there are options."""

from __future__ import annotations

OPTIONS = {
    "load(path, trusted=[cache])": "--trusted CACHE",
    "decode(data, folder=...)": "--folder DIR",
    "connect={'output': 'input'}": "--connect output=input",
    "trust_pickle=True, or --trust-pickle": "--trust-pickle",
    "give output_names": "--output-name NAME for each output",
    "give an example: convert(model, example)": "--example FILE",
    "verify=False gives the model as it is": "--no-verify writes the model as it is",
    "ask for a newer opset_version": "--opset N, newer",
    "prefixes=('first/', 'second/')": "--prefix-first first/ --prefix-second second/",
}
"""What hints of the library say, and what does the same here; a test looks for each in the library."""


def for_the_command_line(hint: str) -> str:
    """`hint` with the options that stand for the arguments it names."""
    for phrase, option in OPTIONS.items():
        hint = hint.replace(phrase, option)
    return hint
