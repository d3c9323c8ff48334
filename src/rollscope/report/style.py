"""The style sheet of a report: light and dark on a screen, ink on paper."""

from __future__ import annotations

STYLE = """
:root { --ink: #1a1d21; --quiet: #6b727c; --line: #e2e5e9; --page: #fff; --accent: #2f6fde;
  --bad: #c9352b; --watch: #b7791f; --info: #4a6fa5; --good: #2e7d4f; color-scheme: light dark; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --quiet: #8d96a1; --line: #2b3138;
  --page: #14171a; --accent: #7aa7ff; --bad: #ff7b72; --watch: #e3b341; --info: #8bb1e8; --good: #56b87f; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 860px; padding: 32px 20px; background: var(--page); color: var(--ink);
  font: 14px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 24px; line-height: 1.25; margin: 0 0 4px; } h2 { font-size: 15px; margin: 32px 0 8px; }
h3 { font-size: 15px; margin: 0 0 4px; } p { margin: 0 0 8px; } small { font-weight: 400; }
.name, .context, .facts, .quiet, small, footer { color: var(--quiet); } .name { margin: 0; }
.mark { display: inline-block; min-width: 1em; font-weight: 700; color: var(--quiet); }
.mark.bad { color: var(--bad); } .mark.watch { color: var(--watch); } .mark.info { color: var(--info); }
.mark.good { color: var(--good); }
article { border-left: 2px solid var(--line); padding: 0 0 4px 14px; margin: 0 0 18px; break-inside: avoid; }
.follows { margin-top: 10px; } ol { margin: 0 0 8px; padding-left: 20px; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(260px, 1fr)); gap: 16px; }
figure { margin: 0; break-inside: avoid; } figcaption { font-weight: 600; } figcaption .quiet { font-weight: 400; }
figure p { font-size: 13px; color: var(--quiet); }
svg { width: 100%; max-width: 480px; height: auto; display: block; }
svg text { font-size: 9px; fill: var(--quiet); paint-order: stroke; stroke: var(--page); stroke-width: 3px; }
svg path { fill: none; stroke: var(--accent); stroke-width: 1.4; } svg circle { fill: var(--accent); }
svg .grid { stroke: var(--line); stroke-width: 1; } svg .band { stroke: none; fill: var(--accent); opacity: .14; }
svg .line1 path { stroke: var(--quiet); } svg .line1 .band { fill: var(--quiet); }
rect.bad { fill: var(--bad); } rect.watch { fill: var(--watch); } rect.info { fill: var(--info); }
rect.soft { opacity: .12; }
pre { white-space: pre-wrap; margin: 0 0 8px; padding: 8px 10px; border: 1px solid var(--line); border-radius: 4px;
  font: 12px/1.45 ui-monospace, monospace; unicode-bidi: isolate; }
.sample { break-inside: avoid; } table { border-collapse: collapse; width: 100%; font-size: 13px; }
th, td { text-align: left; vertical-align: top; padding: 3px 8px 3px 0; border-bottom: 1px solid var(--line); }
th { font-weight: 400; color: var(--quiet); width: 38%; } footer { margin-top: 32px; font-size: 12px; }
@media print { :root { --ink: #000; --quiet: #555; --line: #ccc; --page: #fff; --accent: #1a4fa8; --bad: #b00020;
  --watch: #8a5a00; --info: #345; --good: #205c38; } body { padding: 0; font-size: 11px; } h2 { break-after: avoid; } }
"""
