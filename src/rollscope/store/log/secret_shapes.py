"""Texts that are secrets by their shape alone, whatever they are called: one pattern a line.

Each pattern has a fixed beginning or a bounded length, so that a hostile text takes linear time.
"""

from __future__ import annotations

import re

_START = r"(?<![A-Za-z0-9_-])"  # not in the middle of a longer word
SHAPES = [
    re.compile(pattern)
    for pattern in (
        # keys in blocks
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^-]{0,65536}(?:-----END [A-Z0-9 ]{0,40}-----)?",
        r"AGE-SECRET-KEY-1[A-Z0-9]{20,100}",
        # model providers
        _START + r"sk-(?:ant-|proj-|or-|svcacct-|lf-)?[A-Za-z0-9_-]{16,256}",
        _START + r"(?:hf|api_org)_[A-Za-z0-9]{16,64}",
        _START + r"(?:nvapi|pplx|tvly|xai|fw|csk|lsv2_(?:pt|sk)|co|jina|voyage|rpa|esecret)[-_][A-Za-z0-9_-]{20,128}",
        _START + r"(?:gsk|r8|dsk)_[A-Za-z0-9]{20,128}",
        _START + r"(?:tgp_v1|wandb_v1)_[\w-]{20,128}",
        _START + r"AIza[\w-]{30,64}",
        _START + r"ya29\.[\w-]{20,512}",
        # code hosts and registries
        _START + r"gh[pousr]_[A-Za-z0-9]{20,255}",
        _START + r"github_pat_\w{20,255}",
        _START + r"(?:glpat|gldt|glrt|glcbt|glptt|glft)-[\w-]{16,128}",
        _START + r"(?:npm|dckr_pat|dckr_oat|figd|dop_v1|shpat|shpss|atlasv1)_[\w-]{20,255}",
        _START + r"pypi-[\w-]{20,512}",
        _START + r"ATATT3[\w=-]{20,512}",
        # clouds
        _START + r"(?:AKIA|ASIA|AROA|AIDA)[0-9A-Z]{16}(?![0-9A-Z])",
        r"(?<=AccountKey=)[A-Za-z0-9+/=]{20,128}",
        r"(?<=SharedAccessKey=)[A-Za-z0-9+/=]{20,128}",
        r"(?<=[?&]sig=)[A-Za-z0-9%+/=_-]{16,512}",
        r"(?<=[?&]X-Amz-Signature=)[0-9a-f]{16,128}",
        r"(?<=[?&]X-Goog-Signature=)[0-9a-f]{16,1024}",
        _START + r"hvs\.[\w-]{20,255}",
        _START + r"(?:dapi|doo_v1_|dop_v1_)[0-9a-f]{32,64}",
        # services
        _START + r"xox[abceoprs]-[\w-]{10,255}",
        _START + r"xapp-[\w-]{10,255}",
        r"(?<=hooks\.slack\.com/services/)[\w/]{10,128}",
        r"(?<=/api/webhooks/)\d{10,24}/[\w-]{20,128}",
        r"(?<=webhook\.office\.com/webhookb2/)[\w@/-]{10,512}",
        r"(?<=/bot)\d{8,10}:[\w-]{30,46}",
        r"(?<=SecretStr\(['\"])[^'\"]{1,256}",
        r"(?<=aws_secret_access_key )\S{16,128}",
        _START + r"SG\.[\w-]{16,64}\.[\w-]{16,128}",
        _START + r"(?:sk|rk|pk|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,255}",
        _START + r"key-[0-9a-f]{32}",
        _START + r"(?:AC|SK)[0-9a-f]{32}(?![0-9a-f])",
        _START + r"\d{8,10}:AA[\w-]{30,40}",
        _START + r"(?:sq0(?:atp|csp)|EAAA|EAACEdEose0cBA)[\w-]{16,255}",
        _START + r"(?:lin_api|sntrys|sntryu|phc|phx|pscale_(?:tkn|pw|oauth)|PMAK|NRAK|glsa|glc|secret)_[\w-]{20,255}",
        _START + r"(?:ntn|secret)_[A-Za-z0-9]{30,64}",
        # tokens in general
        _START + r"eyJ[\w-]{6,4096}\.[\w-]{6,4096}\.[\w-]{5,4096}",
        r"(?<=curl -u )[^\s:]{1,128}:\S{1,256}",
        r"(?<=curl --user )[^\s:]{1,128}:\S{1,256}",
        r"(?<=sshpass -p )\S{1,256}",
        r"(?<=[Bb]earer )[^\s\"',]{8,4096}",
        r"(?<=: [Bb]asic )[A-Za-z0-9+/=]{8,4096}",
        r"(?<=://)[^/\s:@\"']{0,128}:[^/\s@\"']{1,256}(?=@)",
        r"(?<=://)[^/\s:@\"']{8,256}(?=@)",
    )
]
