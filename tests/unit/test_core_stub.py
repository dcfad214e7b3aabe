"""The type stub of the core describes the compiled module: names, arguments, defaults and types."""

import ast
import re
from pathlib import Path

import pytest

import adaptag._native
from adaptag._native import core

STUB = ast.parse((Path(adaptag._native.__file__).parent / "core.pyi").read_text())
ALIASES = {
    node.target.id: ast.unparse(node.value)
    for node in STUB.body
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
}
SIMPLE = re.compile(r"(int|float|str|bool|NDArray\[np\.\w+\]|[A-Z]\w+)( \| None)?")


def plain_type(text):
    """A type in the stub's notation, or None where the module only says that it is an object."""
    for alias, meaning in ALIASES.items():
        text = re.sub(rf"\b{alias}\b", meaning, text)
    text = re.sub(r"ndarray\[dtype=(\w+)[^]]*\]", r"NDArray[np.\1]", text)
    text = re.sub(r"adaptag\._native\.\w+\.", "", text)
    return text if SIMPLE.fullmatch(text) and text != "Any" else None


def arguments(function):
    """(name, type, whether it has a default) of each argument."""
    names = function.args.args
    required = len(names) - len(function.args.defaults)
    return [
        (a.arg, plain_type(ast.unparse(a.annotation)) if a.annotation else None, k >= required)
        for k, a in enumerate(names)
    ]


def described(body):
    """Functions (all overloads), attributes and classes of the stub."""
    functions, attributes, classes = {}, set(), {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            functions.setdefault(node.name, []).append(arguments(node))
        elif isinstance(node, ast.ClassDef):
            classes[node.name] = node
        elif isinstance(node, ast.AnnAssign) and not node.target.id.startswith("_"):
            attributes.add(node.target.id)
    return functions, attributes, classes


def compiled(scope):
    """The same of the module or of one of its classes."""
    functions, attributes, classes = {}, set(), set()
    for name, value in vars(scope).items():
        if hasattr(value, "__nb_signature__"):
            functions[name] = [signature(text) for text, *_ in value.__nb_signature__]
        elif isinstance(value, type):
            classes.add(name)
        elif not name.startswith("__"):
            attributes.add(name)
    return functions, attributes, classes


def signature(text):
    text = re.sub(r"= \\\d+", "= ...", text)
    text = re.sub(r"ndarray\[dtype=(\w+)[^]]*\]", r"NDArray[np.\1]", text)
    return arguments(ast.parse(text + ": ...").body[0])


def assert_same(functions, stub_functions):
    assert set(functions) == set(stub_functions)
    for name, overloads in functions.items():
        stub_overloads = stub_functions[name]
        assert len(overloads) == len(stub_overloads), name
        for args, stub_args in zip(
            sorted(overloads, key=len), sorted(stub_overloads, key=len), strict=True
        ):
            assert [(a, d) for a, _, d in args] == [(a, d) for a, _, d in stub_args], name
            for (argument, kind, _), (_, stub_kind, _) in zip(args, stub_args, strict=True):
                if kind and stub_kind:
                    assert kind == stub_kind, f"{name}: {argument}"


def test_functions_and_classes_are_those_of_the_module():
    functions, _, classes = compiled(core)
    stub_functions, _, stub_classes = described(STUB.body)
    assert classes == set(stub_classes)
    assert_same(functions, stub_functions)


@pytest.mark.parametrize("name", sorted(described(STUB.body)[2]))
def test_methods_are_those_of_the_class(name):
    node = described(STUB.body)[2][name]
    if node.bases:
        assert issubclass(getattr(core, name), Exception)
        return
    functions, attributes, _ = compiled(getattr(core, name))
    stub_functions, stub_attributes, _ = described(node.body)
    functions.pop("__new__", None)
    assert attributes == stub_attributes
    assert_same(functions, stub_functions)
