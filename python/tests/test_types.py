"""The type declarations of the package."""

import os
import subprocess
import sys
from pathlib import Path

import weir

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "pyproject.toml"


def check(*args: str, cwd: Path) -> subprocess.CompletedProcess:
    # The folder where the package was installed, or this one.
    env = {**os.environ, "MYPYPATH": str(Path(weir.__file__).parents[1])}
    env.pop("MYPYPATH") if "site-packages" in weir.__file__ else None
    return subprocess.run([sys.executable, "-m", *args], cwd=cwd, env=env, capture_output=True, text=True)


def test_stubs_are_those_of_the_module(tmp_path):
    done = check("mypy.stubtest", "weir._native", "--mypy-config-file", str(CONFIG), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_is_typed(tmp_path):
    done = check("mypy", "--config-file", str(CONFIG), "-p", "weir", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_program_of_a_user_is_checked(tmp_path):
    program = tmp_path / "mine.py"
    program.write_text(
        "import weir\n"
        "result = weir.run('examples/minimal', seed=2, windows=[(1, '2 s')])\n"
        "reveal_type(result.flows.column_names)\n"
        "weir.run('examples/minimal', sed=2)\n"
    )
    said = check("mypy", "--config-file", str(CONFIG), str(program), cwd=tmp_path).stdout
    assert 'Revealed type is "list[str]"' in said or "builtins.list[builtins.str]" in said, said
    assert 'Unexpected keyword argument "sed"' in said and "Found 1 error" in said, said


def test_all_public_things_say_what_they_are():
    public = [getattr(weir, name) for name in weir.__all__ if name != "VERSION"]
    members = [
        member
        for thing in public
        if isinstance(thing, type)
        for name, member in vars(thing).items()
        if not name.startswith("_") and (callable(member) or hasattr(member, "__get__"))
    ]
    silent = [thing for thing in public + members if not (getattr(thing, "__doc__", None) or "").strip()]
    assert not silent
