"""Prints the first payment that a client's README shows, which docs/clients.md shows as well: first_payment.py LANGUAGE."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
page = (HERE / "../../docs/clients.md").read_text()
readme = (HERE / sys.argv[1] / "README.md").read_text()
_, block, _ = readme.split("```", 2)
if f"```{block}```" not in page:
    sys.exit(f"docs/clients.md does not show the first payment of packages/clients/{sys.argv[1]}/README.md")
print(block.split("\n", 1)[1], end="")
