"""Runs the code samples in a folder: samples.py FOLDER. Their tokens are examples, so the server refuses many; it must have read them."""

import sys
from pathlib import Path

from card_payments_client import ApiError

samples = sorted(Path(sys.argv[1]).glob("*.py"))
for file in samples:
    try:
        exec(compile(file.read_text(), file, "exec"), {"print": str})
    except ApiError as refused:
        if refused.status in (405, 415) or refused.status >= 500 or refused.code == "bad_request":
            raise
print(f"{len(samples)} samples passed")
