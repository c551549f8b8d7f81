"""The shapes in which secrets turn up in error text.

Each rule hides its group `secret`. Runs are bounded or possessive, so that no text makes a rule slow. Rather too much
is hidden than too little.
"""

from __future__ import annotations

import re
from typing import Final

_SCHEMES: Final = r"(?:basic|bearer|token|negotiate|apikey|aws4-hmac-sha256)"
_WORDS: Final = (
    r"(?:password|passwd|passphrase|pwd|secret|token|api[-_. ]?key|access[-_.]?key|private[-_.]?key|account[-_.]?key"
    r"|credentials?|signature|sasl\.jaas\.config)"
)
_IS: Final = r"\s{0,8}+(?::|=>?)\s{0,8}+"
_VALUE: Final = r"(?P<secret>\"(?:[^\"\\]|\\.)++\"?|'(?:[^'\\]|\\.)++'?|[^\s,;&\"'(){}\[\]]+)"
_ANY_CASE: Final = re.IGNORECASE

# One look for most text: no rule matches where none of these words stands. A test holds it against the rules.
HINT: Final = re.compile(
    r"://|auth|cookie|bearer|basic|passw|passphrase|pwd|secret|token|key|cred|sig|session|jwt|assertion|code=|sasl"
    r"|hooks\.slack|discord|webhook|telegram|gh[pousr]_|github_pat|glpat|xox|xapp|whs|a[ks]ia|[sr]k_|npm_|pypi-|aiza"
    r"|eyj|input_value|failing row",
    _ANY_CASE,
)

RULES: Final[tuple[re.Pattern[str], ...]] = (
    # Keys in PEM
    re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?P<secret>.+?)(?=-----END|\Z)", re.DOTALL),
    # Authorization headers: in a dict or list of headers; with a scheme; with anything
    re.compile(
        rf"authorization[\"']?\s{{0,8}}+[:=,]\s{{0,8}}+b?(?P<quote>[\"'])(?:{_SCHEMES}\s++)?+(?P<secret>(?:(?!(?P=quote)).)+)",
        _ANY_CASE,
    ),
    re.compile(rf"authorization\s{{0,8}}+[:=]\s{{0,8}}+{_SCHEMES}\s{{1,8}}+(?P<secret>[^\s\"',;]+)", _ANY_CASE),
    re.compile(rf"authorization\s{{0,8}}+[:=]\s{{0,8}}+(?!{_SCHEMES}\b)(?P<secret>[^\s\"'][^\r\n]*)", _ANY_CASE),
    re.compile(rf"\bcookie[\"']?{_IS}(?P<secret>[^\r\n]+)", _ANY_CASE),
    re.compile(r"\bbearer\s{1,8}+(?P<secret>[a-z0-9._~+/=-]{6,})", _ANY_CASE),
    re.compile(r"\bbasic\s{1,8}+(?=[a-z]{0,64}[0-9+/=])(?P<secret>[a-z0-9+/]{6,}={0,2})", _ANY_CASE),
    # Credentials in URLs and DSNs; also with an unescaped slash in the password
    re.compile(r"://(?P<secret>[^\s/?#@:\"'<>]{0,256}+:(?!\d{1,5}+(?:[/?#\s]|\Z))[^\s\"'<>]{1,256})@"),
    re.compile(r"://(?P<secret>[^\s/?#\"'<>]+)@"),
    # URLs that are secrets themselves
    re.compile(r"hooks\.slack(?:-gov)?\.com/\w{1,32}/(?P<secret>[^\s\"'<>]+)", _ANY_CASE),
    re.compile(r"discord(?:app)?\.com/api/webhooks/(?P<secret>[^\s\"'<>]+)", _ANY_CASE),
    re.compile(r"webhook\.office\.com/(?P<secret>[^\s\"'<>]+)", _ANY_CASE),
    re.compile(r"api\.telegram\.org/bot(?P<secret>[^\s/\"'<>]+)", _ANY_CASE),
    # Query parameters
    re.compile(
        r"[?&;][\w.%\[\]-]{0,64}?(?:token|secret|passw|pwd|sig|key|auth|cred|session|jwt|assertion)[\w.%\[\]-]{0,32}+="
        r"(?P<secret>[^&;\s#\"'<>]+)",
        _ANY_CASE,
    ),
    re.compile(r"[?&]code=(?P<secret>[^&;\s#\"'<>]+)", _ANY_CASE),
    # name = value and "name": "value", as in DSNs, settings, JSON and librdkafka's options
    re.compile(rf"{_WORDS}[\"']?{_IS}{_VALUE}", _ANY_CASE),
    # Tokens known by their prefix
    re.compile(
        r"\b(?P<secret>gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|xox[a-z]-[\w-]{10,}|xapp-[\w-]{10,}"
        r"|whs[ek][ck]?_[A-Za-z0-9+/=]{8,}|A[KS]IA[0-9A-Z]{16}|[sr]k_(?:live|test)_\w{10,}|npm_[A-Za-z0-9]{30,}"
        r"|pypi-[\w-]{50,}|AIza[\w-]{35})"
    ),
    re.compile(r"(?<![\w-])(?P<secret>eyJ[\w-]{5,}+\.[\w-]{5,}+(?:\.[\w-]*+)?)"),
    # Text that repeats its input: pydantic's, PostgreSQL's
    re.compile(r"input_value=(?P<secret>[^\r\n]{1,400}?)(?=, input_type=)"),
    re.compile(r"\bKey \([^()\r\n]{1,400}\)=\((?P<secret>[^\r\n]+?)\)(?=\W|\Z)"),
    re.compile(r"\bFailing row contains \((?P<secret>[^\r\n]+)"),
)
