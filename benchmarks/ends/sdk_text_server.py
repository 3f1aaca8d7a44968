"""The official SDK's server, configured to send every text only once."""

from __future__ import annotations

from benchmarks.ends.sdk_server import main

if __name__ == "__main__":
    main(structured_output=False)
