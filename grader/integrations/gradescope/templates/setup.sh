#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the image. It makes venv/ beside source/ with the grader's
# dependencies in the versions of requirements.lock.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# The CPU build of torch. The default build for Linux includes gigabytes of CUDA.
torch_index=https://download.pytorch.org/whl/cpu

has_library() { python3 -c 'import ctypes; ctypes.CDLL("libseccomp.so.2")' 2>/dev/null; }
makes_environments() { "$1" -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }
find_python() {
  for python in python3 python3.14 python3.13 python3.12 python3.11; do
    if makes_environments "$python"; then return; fi
  done
  return 1
}

if ! has_library || ! find_python; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update
  apt-get install --yes --no-install-recommends libseccomp2 python3-venv
  # Ubuntu 22.04 has 3.10 by default and also packages 3.11.
  find_python || apt-get install --yes --no-install-recommends python3.11-venv || true
fi
if ! find_python; then
  echo "The grader needs Python 3.11 or later, and this image has $(python3 --version)." >&2
  echo "Choose another base image in Gradescope, such as Ubuntu 24.04, and build again." >&2
  exit 1
fi

"$python" -m venv ../venv
pip() { ../venv/bin/python -I -m pip --disable-pip-version-check "$@"; }
torch=$(grep '^torch==' requirements.lock)
pip install --quiet --no-deps --retries 0 --index-url "$torch_index" "$torch" || pip install --quiet "$torch"
pip install --quiet --constraint requirements.lock --requirement requirements.txt

# The grader runs from this folder, with its suites and solutions.
../venv/bin/python -I -c 'import sysconfig; print(sysconfig.get_path("purelib"))' | {
  read -r packages
  pwd > "$packages/grader.pth"
}
../venv/bin/python -I -m compileall -q grader

# The build may have fewer permissions than the runs, so this only informs.
../venv/bin/python -I -m grader doctor || true
