"""The model and its sampler: the cache changes nothing, and rows are independent of each other."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from rollscope.errors import BadInput  # noqa: E402
from rollscope.trainer.config import ModelConfig  # noqa: E402
from rollscope.trainer.policy import tokenizer  # noqa: E402
from rollscope.trainer.policy.model import Transformer, token_logps  # noqa: E402
from rollscope.trainer.rollouts.sample import generate, pad  # noqa: E402


@pytest.fixture(scope="module")
def model() -> Transformer:
    torch.manual_seed(0)
    model = Transformer(ModelConfig(width=32, layers=2, heads=4, context=40))
    for weight in model.parameters():  # larger than the initial weights, so that attention matters
        torch.nn.init.normal_(weight, std=0.3)
    return model


CONTEXTS = [[1, 5, 9, 12], [1, 7], [1, 20, 21, 22, 23, 24, 25], [1]]


def test_text_survives_the_tokenizer():
    text = "7*4-2>26: [calc(1+1)]{2}\n~"
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.token_texts([1, *tokenizer.encode("a"), 2]) == ["<bos>", "a", "<eos>"]
    with pytest.raises(BadInput, match="has no token"):
        tokenizer.encode("naïve")


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_sampled_logps_are_those_of_a_full_forward_pass(model, temperature):
    rows = generate(model, CONTEXTS, [12] * 4, temperature, torch.Generator().manual_seed(1))
    ids = pad([context + row.ids for context, row in zip(CONTEXTS, rows, strict=True)])
    logp, entropy = token_logps(model(ids[:, :-1]), ids[:, 1:], temperature)
    for i, (context, row) in enumerate(zip(CONTEXTS, rows, strict=True)):
        start = len(context) - 1
        assert logp[i, start : start + len(row.ids)].tolist() == pytest.approx(row.logp, abs=2e-5)
    assert (entropy > 0).all()


def test_a_row_does_not_depend_on_its_neighbours(model):
    together = generate(model, CONTEXTS, [10] * 4, 0)
    alone = [generate(model, [context], [10], 0)[0] for context in CONTEXTS]
    assert [row.ids for row in together] == [row.ids for row in alone]


def test_rows_end_at_the_end_token_or_at_their_allowance(model):
    rows = generate(model, CONTEXTS, [3, 0, 10, 1], 1.0, torch.Generator().manual_seed(0))
    assert [len(row.ids) <= most for row, most in zip(rows, [3, 0, 10, 1], strict=True)] == [True] * 4
    assert rows[1].ids == [] and rows[1].stop_reason == "length"
    for row in rows:
        assert (row.stop_reason == "stop") == (tokenizer.EOS in row.ids)
        assert tokenizer.EOS not in row.ids[:-1]


def test_a_row_never_outgrows_the_context(model):
    rows = generate(model, [[1] * 38], [99], 1.0, torch.Generator().manual_seed(0))
    assert len(rows[0].ids) <= 2


def test_a_cancelled_row_has_that_stop_reason(model):
    answers = iter([False, False, True])
    rows = generate(model, CONTEXTS, [20] * 4, 1.0, torch.Generator().manual_seed(2), cancelled=lambda: next(answers))
    assert {row.stop_reason for row in rows} <= {"cancelled", "stop"}
    assert any(row.stop_reason == "cancelled" and len(row.ids) == 2 for row in rows)


def test_the_same_seed_writes_the_same_text(model):
    def once() -> list[list[int]]:
        return [row.ids for row in generate(model, CONTEXTS, [10] * 4, 1.0, torch.Generator().manual_seed(5))]

    assert once() == once()
