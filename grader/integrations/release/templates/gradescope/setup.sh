#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the image. It makes venv/ beside source/ with the grader's
# dependencies in the versions of requirements.lock.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# `python` in autograder.yml.
course_python=@PYTHON@
# The CPU build of torch. The default build for Linux includes gigabytes of CUDA.
torch_index=https://download.pytorch.org/whl/cpu

has_library() { python3 -c 'import ctypes; ctypes.CDLL("libseccomp.so.2")' 2>/dev/null; }
makes_environments() { "$1" -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }
find_python() {
  for python in "python$course_python" python3 python3.14 python3.13 python3.12 python3.11; do
    if makes_environments "$python"; then return; fi
  done
  return 1
}

if ! has_library || ! makes_environments "python$course_python"; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update
  apt-get install --yes --no-install-recommends libseccomp2 python3-venv
  # An image packages few versions: Ubuntu 22.04 has 3.10 by default and also 3.11.
  apt-get install --yes --no-install-recommends "python$course_python-venv" ||
    find_python || apt-get install --yes --no-install-recommends python3.11-venv || true
fi
if ! find_python; then
  echo "The grader needs Python 3.11 or later, and this image has $(python3 --version)." >&2
  echo "Choose another base image in Gradescope, such as Ubuntu 24.04, and build again." >&2
  exit 1
fi

if ! "$python" -c "import sys; sys.exit('{}.{}'.format(*sys.version_info) != '$course_python')"; then
  echo "autograder.yml names Python $course_python, and this image has none: $("$python" --version) grades." >&2
  echo "Set \`python\` in autograder.yml to a version that the image has, or choose another base image." >&2
fi
"$python" -m venv ../venv
pip() { ../venv/bin/python -I -m pip --disable-pip-version-check "$@"; }
torch=$(grep '^torch==' requirements.lock)
pip install --quiet --no-deps --retries 0 --index-url "$torch_index" "$torch" || {
  echo "The CPU build of torch could not be installed from $torch_index, for the reason above." >&2
  echo "The default build is installed instead. It has CUDA, so the image becomes gigabytes larger." >&2
  pip install --quiet "$torch"
}
pip install --quiet --constraint requirements.lock --requirement requirements.txt

# The grader runs from this folder, with its suites and solutions.
../venv/bin/python -I -c 'import sysconfig; print(sysconfig.get_path("purelib"))' | {
  read -r packages
  pwd > "$packages/grader.pth"
}
../venv/bin/python -I -m compileall -q grader

# The build may have fewer permissions than the runs, so this only informs.
../venv/bin/python -I -m grader doctor || true
