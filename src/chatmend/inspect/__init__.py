"""The inspector: shows what is wrong with a request, where, and what chatmend would send.

`answer` is a function from JSON to JSON. The local app (`serving`) calls it over HTTP, the static
page in the documentation calls it in the browser, with Pyodide. The front end in `static` is the
same for both.
"""

from chatmend.inspect.answer import answer

__all__ = ["answer"]
