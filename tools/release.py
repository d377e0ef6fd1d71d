"""Is this checkout ready to be released? ``make release VERSION=X.Y.Z``; the whole list is in docs/releasing.md.

It checks the tree, the version, the changelog and the citation, builds source distribution and wheel in a temporary folder,
installs the wheel in a clean virtual environment, and runs the README's first example and the program there. With
``--tag`` it then makes the tag, on this machine alone. It never pushes and never uploads: it prints how.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BRANCH = "main"
VERSION = re.compile(r"\d+\.\d+\.\d+")
HEADING = re.compile(r"^## (?P<title>.+)$", re.MULTILINE)


def sections(changelog: str) -> dict[str, str]:
    """Titles of the second level, and what stands below each."""
    parts = HEADING.split(changelog)[1:]
    return {title.strip(): body.strip() for title, body in zip(parts[::2], parts[1::2], strict=True)}


def version_problems(pyproject: str, version: str) -> list[str]:
    """The version is X.Y.Z and that of pyproject.toml."""
    if not VERSION.fullmatch(version):
        return [f"a version is three numbers, X.Y.Z; got {version!r}"]
    found = tomllib.loads(pyproject)["project"]["version"]
    return [] if found == version else [f"pyproject.toml has version {found}, not {version}"]


def changelog_problems(changelog: str, version: str) -> list[str]:
    """The first section that has entries is that of the version, with a date."""
    found = sections(changelog)
    problems = []
    if found.get("Unreleased"):
        problems.append(f"CHANGELOG.md has entries under Unreleased: move them to ## {version} (date)")
    dated = [title for title in found if title == version or title.startswith(f"{version} ")]
    released = [title for title in found if title != "Unreleased"]
    if not dated:
        problems.append(f"CHANGELOG.md has no section ## {version} (YYYY-MM-DD)")
    elif not re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", dated[0]):
        problems.append(f"CHANGELOG.md has ## {dated[0]}; it needs a date: ## {version} (YYYY-MM-DD)")
    elif released[0] != dated[0]:
        problems.append(f"CHANGELOG.md has ## {released[0]} above ## {dated[0]}: the newest comes first")
    elif not found[dated[0]]:
        problems.append(f"CHANGELOG.md has nothing under ## {dated[0]}")
    return problems


def citation_problems(citation: str, version: str) -> list[str]:
    """CITATION.cff has the version."""
    found = re.search(r"^version: *['\"]?([^'\"\s]+)", citation, re.MULTILINE)
    if found is None:
        return ["CITATION.cff has no version"]
    return [] if found[1] == version else [f"CITATION.cff has version {found[1]}, not {version}"]


def tree_problems(root: Path, version: str) -> list[str]:
    """Everything is committed, on the main branch, and the tag is free."""
    problems = []
    branch = git(root, "rev-parse", "--abbrev-ref", "HEAD")
    if branch != BRANCH:
        problems.append(f"the branch is {branch}, not {BRANCH}")
    changed = git(root, "status", "--porcelain").splitlines()
    if changed:
        problems.append(f"{len(changed)} files are not committed, first {changed[0][3:]}")
    if git(root, "tag", "--list", f"v{version}"):
        problems.append(f"the tag v{version} exists")
    return problems


def problems(root: Path, version: str) -> list[str]:
    """All that stands in the way of a release."""
    read = {
        name: (root / name).read_text(encoding="utf-8") for name in ("pyproject.toml", "CHANGELOG.md", "CITATION.cff")
    }
    return [
        *version_problems(read["pyproject.toml"], version),
        *changelog_problems(read["CHANGELOG.md"], version),
        *citation_problems(read["CITATION.cff"], version),
        *tree_problems(root, version),
    ]


def git(root: Path, *arguments: str) -> str:
    """What git says."""
    return subprocess.run(
        ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True
    ).stdout.rstrip()


def first_example(readme: str) -> str:
    """The first Python block of the README."""
    return readme.split("```python\n", 1)[1].split("```", 1)[0]


def build(root: Path, folder: Path) -> Path:
    """Source distribution, and the wheel made from it; the path of the wheel."""
    if find_spec("build") is None:
        raise SystemExit("the package build is missing: pip install build")
    # In the folder of the artefacts: a folder named build/ in the checkout would be taken for the package.
    run([sys.executable, "-m", "build", "--outdir", str(folder), str(root)], folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


def try_wheel(wheel: Path, example: str, version: str, folder: Path) -> None:
    """Install the wheel where nothing else is, and use it: import, the README's example, the program."""
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    run([str(python), "-m", "pip", "install", "--quiet", f"{wheel}[cli]"], folder)
    run(
        [str(python), "-W", "error", "-c", f"import uca; assert uca.__version__ == {version!r}, uca.__version__"],
        folder,
    )
    run([str(python), "-W", "error", "-c", example], folder)
    told = run([str(python), "-m", "uca.cli", "--version"], folder)
    if version not in told.split():
        raise SystemExit(f"uca --version says {told.strip()!r}, not {version}")


def run(arguments: list[str], folder: Path) -> str:
    """Run without this checkout on the path; end with what was said where it fails."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(arguments, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"failed: {' '.join(arguments[:4])} ...\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Check, build, try, and tag; 0 where everything holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", help="X.Y.Z, as in pyproject.toml")
    parser.add_argument("--tag", action="store_true", help="make the tag vX.Y.Z if everything holds")
    parser.add_argument("--dry-run", action="store_true", help="all checks, and no tag even with --tag (the default)")
    options = parser.parse_args(arguments)
    version = options.version
    found = problems(root, version)
    for problem in found:
        print(f"not ready: {problem}")
    if found and not options.dry_run:
        return 1
    with tempfile.TemporaryDirectory() as folder:
        wheel = build(root, Path(folder))
        print(f"built {', '.join(sorted(path.name for path in Path(folder).iterdir()))}")
        example = first_example((root / "README.md").read_text(encoding="utf-8"))
        built = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
        try_wheel(wheel, example, built, Path(folder))
        print("installed in a clean environment: import, the README's example and uca --version run")
    if found:
        return 1
    if options.tag and not options.dry_run:
        notes = next(
            body for title, body in sections((root / "CHANGELOG.md").read_text()).items() if title.startswith(version)
        )
        git(root, "tag", "--annotate", f"v{version}", "--cleanup=verbatim", "--message", f"uca {version}\n\n{notes}")
        print(f"made the tag v{version}. Now, by hand:\n  git push origin {BRANCH} v{version}")
    else:
        print(f"ready. The tag: make release VERSION={version} RELEASE=--tag")
    print("  what is left to do by hand: docs/releasing.md")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
