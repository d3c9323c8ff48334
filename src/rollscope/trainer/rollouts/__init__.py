"""From tasks to samples that can be trained on.

`player` plays tasks with the policy (`sample` draws the tokens), `workers` run players in
processes, `dispatch` keeps the workers busy, `pipeline` runs the operators, `buffer` holds fresh
groups.
"""
