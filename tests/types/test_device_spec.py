"""Devices: reading and writing them, and what the recorded facts do not say."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.types import DeviceSpecV1, DeviceSpecV2, canonical_name, device_spec

names = st.none() | st.text("abcz_09", min_size=1, max_size=4)
numbers = st.none() | st.integers(0, 20)
kinds = st.none() | st.sampled_from(["CPU", "gpu", "TPU", "NPU"])


@st.composite
def specs(draw):
    kind = draw(kinds)
    index = draw(numbers) if kind else None
    return DeviceSpecV2(draw(names), draw(numbers), draw(numbers), kind, index)


@given(specs())
def test_text_is_read_back(spec):
    assert DeviceSpecV2.from_string(spec.to_string()) == spec
    assert canonical_name(spec.to_string()) == spec.to_string()
    assert pickle.loads(pickle.dumps(spec)) == spec


@given(specs(), specs())
def test_merging_prefers_the_inner_spec(outer, inner):
    merged = outer.make_merged_spec(inner)
    for part in ("job", "replica", "task", "device_type", "device_index"):
        wanted = getattr(inner, part)
        assert getattr(merged, part) == (getattr(outer, part) if wanted is None else wanted)


@given(specs(), specs(), specs())
def test_merging_is_associative(a, b, c):
    left = a.make_merged_spec(b).make_merged_spec(c)
    assert left == a.make_merged_spec(b.make_merged_spec(c))


def test_version_1_can_be_changed():
    spec = DeviceSpecV1(job="a")
    spec.job, spec.task, spec.replica = "b", "3", 1
    spec.device_type, spec.device_index = "gpu", 2
    assert spec.to_string() == "/job:b/replica:1/task:3/device:GPU:2"
    spec.merge_from(DeviceSpecV2(job="c"))
    assert spec.job == "c"
    spec.device_type = None
    assert spec.to_string() == "/job:c/replica:1/task:3"
    assert hash(spec) == hash(DeviceSpecV1.from_string(spec.to_string()))
    with pytest.raises(ValueError, match="expected an integer task, got 'x'"):
        spec.task = "x"
    assert spec.task == 3


def test_version_2_cannot():
    with pytest.raises(AttributeError):
        DeviceSpecV2().job = "a"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("/foo:1", "Unknown attribute 'foo'"),
        ("/job", "Unknown attribute 'job'"),
        ("/cpu:x", "expected an integer device index, got 'x'"),
        ("/cpu:0/gpu:0", "Multiple device types .* got CPU and GPU"),
    ],
)
def test_malformed_text_is_shown(text, message):
    with pytest.raises(ValueError, match=message) as caught:
        DeviceSpecV2.from_string(text)
    assert text in str(caught.value)


def test_a_new_type_gets_a_short_form(monkeypatch):
    monkeypatch.setattr(device_spec, "_SHORT_TYPES", set(device_spec._SHORT_TYPES))
    with pytest.raises(ValueError, match="Unknown attribute 'npu'"):
        canonical_name("/npu:1")
    device_spec.register_device_type("npu")
    assert canonical_name("/npu:1") == "/device:NPU:1"


def test_canonical_name_of_nothing_and_of_a_spec():
    assert canonical_name(None) == ""
    assert canonical_name(DeviceSpecV1(job="a")) == "/job:a"
