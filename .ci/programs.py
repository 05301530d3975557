"""Runs test programs that cargo has built, one after the other: programs.py MESSAGES PACKAGE[:PROGRAM]...

MESSAGES has what `cargo test --no-run --message-format=json` printed. Of a package without a program all run; `-PACKAGE`
and `-PACKAGE:PROGRAM` leave out, and then all others run. Each runs in the folder of its package, as under `cargo test`."""

import json
import pathlib
import subprocess
import sys


def programs(messages):
    """The folder of its package, the package, the name and the path of each program."""
    for line in pathlib.Path(messages).read_text().splitlines():
        message = json.loads(line)
        if message.get("executable") and message["profile"]["test"]:
            folder = pathlib.Path(message["manifest_path"]).parent
            package = message["package_id"].partition("#")[2].partition("@")[0]
            if "@" not in message["package_id"]:
                package = message["package_id"].partition("#")[0].rpartition("/")[2]
            yield folder, package, message["target"]["name"], message["executable"]


def is_named(package, program, words):
    """Whether one of the words is the package, or the package and the program."""
    return package in words or f"{package}:{program}" in words


def main():
    messages, *words = sys.argv[1:]
    leave_out = {word[1:] for word in words if word.startswith("-")}
    take = {word for word in words if not word.startswith("-")}
    failed, count = [], 0
    for folder, package, program, path in programs(messages):
        if is_named(package, program, leave_out) or take and not is_named(package, program, take):
            continue
        count += 1
        print(f"== {package}, {program}", flush=True)
        if subprocess.run([path], cwd=folder, check=False).returncode != 0:
            failed.append(f"{package}, {program}")
    if failed or count == 0:
        sys.exit(f"FAILED: {'; '.join(failed) or 'no such program'}")


main()
