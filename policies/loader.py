"""Policy files from the disk: the only file here with I/O."""

from pathlib import Path

from seconder.errors import Fault, PolicyInvalid
from seconder.policies.policy import Policy
from seconder.policies.schema import Source, read

SUFFIXES = (".yml", ".yaml")
MAX_BYTES = 1024 * 1024


def load(path: Path) -> Policy:
    """A file, or all YAML files directly in a folder, in the order of their names.

    Raises: PolicyInvalid with every fault, also where there is nothing to read.
    """
    faults: list[Fault] = []
    sources = [_source(file, faults) for file in _files(path)]
    if faults:
        raise PolicyInvalid(faults)
    return read(sources)


def parse(text: str, *, name: str) -> Policy:
    """The policy in `text`; `name` stands for the file in faults and in the source of verdicts.

    Raises: PolicyInvalid with every fault.
    """
    return read([Source(name, text)])


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise PolicyInvalid([Fault(f"{path}:1", "there is no such file or folder; set SECONDER_POLICY to the policy")])
    found = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES and file.is_file())
    if not found:
        raise PolicyInvalid([Fault(f"{path}:1", "there is no .yml or .yaml file in this folder; add one")])
    return found


def _source(file: Path, faults: list[Fault]) -> Source:
    data = b""
    try:
        data = file.read_bytes()
        if len(data) > MAX_BYTES:
            faults.append(Fault(f"{file.name}:1", f"is larger than {MAX_BYTES:,} bytes; make several files of it"))
        return Source(file.name, data.decode("utf-8-sig"))
    except OSError as error:
        faults.append(Fault(f"{file.name}:1", f"cannot be read: {error.strerror or error}"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        faults.append(Fault(f"{file.name}:{line}", "is not UTF-8; save it as UTF-8"))
    return Source(file.name, "")
