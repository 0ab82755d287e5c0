"""A small repository in two languages, with what a real one has beside its code."""

from __future__ import annotations

from pathlib import Path

FILES = {
    ".gitignore": "drafts/\n*.log\n",
    "README.md": "# Jar\n\nKeeps cookies.\n\n## Eviction\n\nOld cookies are evicted when the jar is full.\n",
    "jar/__init__.py": (
        '"""Keeps cookies of sessions."""\n\nfrom jar.store import CookieJar\n\n__all__ = ["CookieJar"]\n'
    ),
    "jar/store.py": (
        '"""Where cookies are kept."""\n\nimport json\nfrom jar.clock import now\n\nLIMIT = 100\n\n\n'
        "class CookieJar:\n"
        '    """A jar of cookies by session."""\n\n'
        "    def __init__(self, limit=LIMIT):\n        self.cookies = {}\n        self.limit = limit\n\n"
        "    def put(self, session, cookie):\n"
        '        """Keep a cookie, and evict the oldest when the jar is full."""\n'
        "        self.cookies[session] = (now(), cookie)\n        if len(self.cookies) > self.limit:\n"
        "            self._evict()\n\n"
        "    def _evict(self):\n        oldest = min(self.cookies, key=self.cookies.get)\n"
        "        del self.cookies[oldest]\n\n\n"
        "def dump(jar, path):\n"
        '    """Write the jar to the disk as JSON."""\n'
        "    with open(path, 'w') as file:\n        json.dump(jar.cookies, file)\n"
    ),
    "jar/clock.py": '"""What time it is."""\n\nimport time\n\n\ndef now():\n    return time.monotonic()\n',
    "jar/crypt.py": (
        "import hashlib\n\n\ndef hash_password(password, salt):\n"
        '    """Derive a key from a password, slowly, so that guessing it is expensive."""\n'
        "    return hashlib.pbkdf2_hmac('sha256', password, salt, 600_000)\n"
    ),
    "web/client.go": (
        'package web\n\nimport "net/http"\n\n// Retry calls a server again after it has timed out.\n'
        "func Retry(url string, times int) (*http.Response, error) {\n\tvar last error\n"
        "\tfor i := 0; i < times; i++ {\n\t\tresponse, err := http.Get(url)\n\t\tif err == nil {\n"
        "\t\t\treturn response, nil\n\t\t}\n\t\tlast = err\n\t}\n\treturn nil, last\n}\n"
    ),
    "tests/test_store.py": (
        "from jar.store import CookieJar\n\n\ndef test_the_oldest_cookie_is_evicted_when_the_jar_is_full():\n"
        "    jar = CookieJar(limit=1)\n    jar.put('a', 'cookie')\n    jar.put('b', 'cookie')\n"
        "    assert list(jar.cookies) == ['b']\n"
    ),
    "drafts/out.py": "def built(): pass\n",
    "noise.log": "nothing\n",
}


def write_repository(root: Path) -> Path:
    """Write the files below a folder."""
    for path, text in FILES.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root
