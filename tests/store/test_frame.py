"""Frames: whole and checked, or reported; never silently wrong."""

import random

import pytest

from rollscope.store.log.frame import HEADER, MAGIC, Damage, Frame, frames, header, padded, salt_of

SALT = 77


def stream(payloads, salt=SALT):
    return b"".join(header(salt, number, padded(p)) + padded(p) for number, p in enumerate(payloads))


def whole(raw, salt=SALT):
    return [bytes(f.payload) for f in frames(raw, salt) if isinstance(f, Frame)]


def damage(raw, salt=SALT):
    return [d for d in frames(raw, salt) if isinstance(d, Damage)]


PAYLOADS = [padded(b"first"), padded(b"second, longer"), b"", padded(b"last" * 50)]


def test_what_was_framed_comes_back():
    assert whole(stream(PAYLOADS)) == PAYLOADS
    assert damage(stream(PAYLOADS)) == []


@pytest.mark.parametrize("cut", range(1, HEADER.size + 200, 7))
def test_a_torn_tail_is_skipped_and_is_not_damage(cut):
    raw = stream(PAYLOADS)[:-cut]
    assert whole(raw) == PAYLOADS[:3]
    assert damage(raw) == []


def test_every_flipped_bit_is_found_and_costs_one_block():
    raw = stream(PAYLOADS)
    for at in range(len(raw)):
        bad = bytearray(raw)
        bad[at] ^= 1 << random.Random(at).randrange(8)
        kept, lost = whole(bytes(bad)), damage(bytes(bad))
        assert len(kept) >= len(PAYLOADS) - 1 and set(kept) <= set(PAYLOADS)
        assert lost or kept == PAYLOADS[:3], (
            f"byte {at} changed and nothing was said"
        )  # a longer last block reads as a tail
        assert all(d.offset <= at < d.offset + d.length for d in lost)


def test_a_block_cut_short_in_mid_file_loses_only_itself():
    one, two, three = (stream([PAYLOADS[1]] * 3)[i * 48 : (i + 1) * 48] for i in range(3))
    raw = one + two[:40] + three
    assert len(whole(raw)) == 2
    assert [(d.offset, d.length) for d in damage(raw)] == [(48, 40)]


def test_text_that_holds_a_frame_of_another_file_is_not_taken_for_one():
    forged = stream([padded(b"forged")], salt=SALT + 1)
    raw = stream([padded(forged), padded(b"honest")])
    broken = bytearray(raw)
    broken[HEADER.size - 1] ^= 1  # the header around the text no longer holds, so the reader searches inside it
    assert whole(bytes(broken)) == [padded(b"honest")]


def test_zeros_after_a_power_loss_are_reported_and_do_not_stop_reading():
    raw = stream(PAYLOADS) + b"\0" * 500
    assert whole(raw) == PAYLOADS
    assert [d.offset for d in damage(raw)] == [len(raw) - 500]


def test_the_salt_is_found_behind_a_damaged_start():
    raw = stream(PAYLOADS)
    assert salt_of(raw) == salt_of(b"\0" * 9 + raw[9:]) == SALT
    assert salt_of(b"") is None and salt_of(MAGIC) is None
