#!/bin/bash -eu
# Builds one fuzzer and one archive of seeds for each target of tests/fuzz_bytes.

pip3 install --constraint constraints.txt ".[cli,pdf]" hypothesis pytest
python3 -m tests.fuzz_bytes --seeds seeds
for target in $(python3 -m tests.fuzz_bytes --list); do
  cat > "fuzz_$target.py" <<PYTHON
import sys

from tests.fuzz_bytes.__main__ import fuzz

fuzz("$target", sys.argv[1:])
PYTHON
  compile_python_fuzzer "fuzz_$target.py" --collect-data chatmend --collect-submodules chatmend
  (cd "seeds/$target" && zip -q -r "$OUT/fuzz_${target}_seed_corpus.zip" .)
done
