"""Policy optimisation, each algorithm a page. Advantages and losses are pure functions of tensors; the pages say how they are put together."""
