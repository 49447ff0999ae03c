"""Layouts in the words of other systems: every one says a layout or says why not, and what it said comes back."""
import shutil
import subprocess

import numpy as np
import pytest
import relayout
from layouts import ALL, indices, layouts
from relayout import interop


def test_every_system_says_it_or_says_why_not():
    said = {system: 0 for system in relayout.SYSTEMS}
    for layout in ALL:
        for system in relayout.SYSTEMS:
            for dtype in ("f32", "bf16"):
                try:
                    text = layout.as_(system, dtype)
                except relayout.UnsupportedError as error:
                    assert error.field == "system" and error.value == system and str(error)
                else:
                    assert text and isinstance(text, str)
                    said[system] += 1
    assert min(said.values()) > 0, said
    with pytest.raises(relayout.Error):
        ALL[0].as_("fortran77")


def test_numpys_words_are_an_array():
    rng = np.random.default_rng(0)
    done = 0
    for layout in ALL:
        try:
            text = layout.as_("numpy", "f32")
        except relayout.UnsupportedError:
            continue
        buf = rng.random(max(layout.span_elements, 1), np.float32)
        array = eval(text, {"np": np, "buf": buf})
        for index in indices(layout):
            assert array[index] == buf[layout.offset(index)]
        done += 1
    assert done > 50


def round_trip(to, back, among=ALL):
    """Every layout that a system can say comes back as it was."""
    done = 0
    for layout in among:
        try:
            said = to(layout)
        except (relayout.UnsupportedError, relayout.InvalidArgumentError):  # no elements, no dims, too many dims
            continue
        again = back(said, layout)
        assert again == layout or same_offsets(again, layout), (layout, said, again)
        done += 1
    assert done >= 10, done


def same_offsets(a, b):
    """Apart from offset0, which some descriptions leave to the pointer; and from dims that a system adds."""
    a, b = (layout.squeeze() for layout in (a, b))
    if a.dims != b.dims:
        return False
    return all(a.offset(i) - a.offset0 == b.offset(i) - b.offset0 for i in indices(a))


@pytest.mark.parametrize("system", ["numpy", "pytorch", "directml", "onednn", "cudnn"])
def test_a_description_comes_back_as_it_is(system):
    """from_x(to_x(layout)) is the layout, its offset included, of each system that gives fields."""
    to, back = getattr(interop, f"to_{system}"), getattr(interop, f"from_{system}")
    layout_of = {"numpy": lambda made: made[0], "onednn": lambda made: made[0]}.get(system, lambda made: made)
    done, with_offset = 0, 0
    for layout in ALL:
        for dtype in ("f32", "f16"):
            try:
                said = to(layout, dtype)
            except (relayout.UnsupportedError, relayout.InvalidArgumentError):
                continue
            again = layout_of(back(said))
            if system == "cudnn":  # whose descriptors have no offset, and at least four dims
                assert again == layout or same_offsets(again, layout), (layout, said, again)
            else:
                assert again == layout, (layout, said, again)
            done, with_offset = done + 1, with_offset + (layout.offset0 != 0)
    assert done > 20 and (with_offset > 5 or system == "cudnn"), (done, with_offset)


def test_a_description_says_all():
    layout = relayout.layout("nhwc", (2, 3, 4, 5))
    for call in (lambda: interop.from_directml(interop.to_directml(layout), sizes=(1,)),
                 lambda: interop.from_directml(interop.to_directml(layout), total_bytes=480),
                 lambda: interop.from_pytorch(interop.to_pytorch(layout), storage_offset=1),
                 lambda: interop.from_cudnn(interop.to_cudnn(layout), vector_count=4)):
        with pytest.raises(relayout.InvalidArgumentError, match="itself"):
            call()
    f32 = {"DataType": 1, "Sizes": (4,)}
    for fields in ({}, {"DataType": 1}, {"DataType": 99, "Sizes": (1,)}, {**f32, "byte_offset": 2},
                   {**f32, "byte_offset": -4}):
        with pytest.raises(relayout.Error):
            interop.from_directml(fields)
    for call in (interop.from_pytorch, interop.from_cudnn):
        with pytest.raises(relayout.InvalidArgumentError):
            call({})
        with pytest.raises(TypeError):
            call((1, 2))
    with pytest.raises(TypeError):
        interop.from_directml("f32")


def test_interop_arrays():
    round_trip(interop.to_numpy, lambda said, _: interop.from_numpy(said, byte_offset=said["byte_offset"])[0])
    round_trip(interop.to_pytorch, lambda said, _: interop.from_pytorch(said["size"], said["stride"],
                                                                        said["storage_offset"]))
    for name in ("f32", "s64", "bool", "u8", "f64", "f16"):
        layout = relayout.layout("ba", (3, 4))
        assert interop.from_numpy(interop.to_numpy(layout, name)) == (layout, name)


def test_interop_directml():
    round_trip(lambda l: interop.to_directml(l), lambda said, layout: interop.from_directml(
        "f32", said["Sizes"], said["Strides"], said["TotalTensorSizeInBytes"]))
    for wrong in ((2**32 + 1, 2), (-1, 2)):
        with pytest.raises(relayout.InvalidArgumentError):
            interop.from_directml("f32", wrong)


def test_interop_onednn():
    round_trip(interop.to_onednn, lambda said, _: interop.from_onednn(said)[0])
    round_trip(interop.to_onednn_verbose, lambda said, layout: interop.from_onednn_verbose(said, layout.dims)[0],
               [layout for layout in layouts() if layout.tag and layout.elements > 1])


def test_interop_onednn_log():
    lines, others = interop.read_onednn_log(
        "onednn_verbose,v1,info,cpu,isa:Intel AVX2\n"
        "onednn_verbose,v1,primitive,create_nested:cache_miss,cpu,reorder,jit:uni,undef,src:f32:a:blocked:abcd::f0 "
        "dst:bf16:a:any:any::f0,,,2x17x5x4,0.1\n"
        "an output of the program\n"
        "dnnl_verbose,exec,cpu,reorder,jit:uni,undef,"
        "src_f32::blocked:abcd:f0 dst_f32:p:blocked:aBcd8b:f0,,,2x17x5x4,1\n"
        "onednn_verbose,v1,primitive,exec,gpu,sdpa,ocl:micro,undef,"
        "query:f16::blocked:abcd::f0 key:f16::blocked:abdc::f0 "
        "val:f16::blocked:abcd::f0 dst:f16::blocked:abcd::f0,,msk:causal,1x2x8x4:1x2x4x9:1x2x9x6,0.2\n")
    assert [line["number"] for line in lines] == [2, 4, 5] and [other["number"] for other in others] == [1]
    assert lines[0]["operation"] == "create_nested:cache_miss"
    src, dst = lines[0]["tensors"]
    assert src["layout"] == relayout.layout("nchw", (2, 17, 5, 4)) and src["why"] is None
    assert dst["layout"] is None and "any" in dst["why"] and dst["dtype"] == "bf16"
    assert lines[1]["tensors"][1]["layout"] == relayout.layout("nChw8c", (2, 17, 5, 4))
    assert [tensor["dims"] for tensor in lines[2]["tensors"]] == [(1, 2, 8, 4), (1, 2, 4, 9), (1, 2, 9, 6),
                                                                 (1, 2, 8, 6)]
    assert "not about a primitive" in others[0]["why"]


def test_tensors_in_text():
    shape = (2, 3, 4)
    x = np.zeros(shape, np.float32).transpose(2, 0, 1)
    text = f"numpy {x.shape} strides {x.strides} {x.dtype}"
    assert relayout.layout(text) == relayout.layout_of(x)
    assert relayout.layout("torch (1,64,5,4) strides (1280,1,256,64)") == relayout.layout("nhwc", (1, 64, 5, 4))
    line = ("onednn_verbose,exec,cpu,reorder,jit:uni,undef,src_f32::blocked:abcd:f0 dst_f32:p:blocked:aBcd16b:f0,,,"
            "2x17x5x4,0.01")
    assert relayout.layout("dst of " + line) == relayout.layout("nChw16c", (2, 17, 5, 4))
    src, dst = interop.tensors_in_text(line)
    assert src == dict(name="src", expression="abcd", dims=(2, 17, 5, 4), dtype="f32", why=None)
    assert dst["expression"] == "aBcd16b"
    header = '{"w":{"dtype":"X9","shape":[2],"data_offsets":[0,2]}}'
    assert "X9" in interop.tensors_in_text(header)[0]["why"]
    with pytest.raises(relayout.InvalidArgumentError, match="src, dst"):
        relayout.layout(line)
    with pytest.raises(relayout.InvalidArgumentError, match="given besides"):
        relayout.layout("torch (2,3)", (3, 2))


def test_interop_cudnn():
    round_trip(interop.to_cudnn, lambda said, _: interop.from_cudnn(
        said["dimensions"], said["strides"], "f32", said["vector_count"], said["vectorized_dimension"]))


def test_interop_texts():
    round_trip(interop.to_xla, lambda said, _: interop.from_xla(said)[0])
    round_trip(interop.to_tvm, lambda said, layout: interop.from_tvm(said, layout.dims),
               [layout for layout in ALL if layout.names in ("nchw", "ncw", "ncdhw", "oihw")])
    round_trip(interop.to_cute, lambda said, _: interop.from_cute(said))


def test_interop_mace():
    done = 0
    for name in ("in_out_channel", "in_out_height", "in_out_width", "conv2d_filter", "weight_height", "weight_width"):
        layout = interop.from_mace(name, (2, 8, 4, 12))
        said = interop.to_mace(layout)
        assert interop.from_mace(said["name"], (2, 8, 4, 12), said["pitch_texels"]) == layout
        done += said["name"] == name
    assert done >= 4


def test_interop_c_function(tmp_path):
    """The function in C, with a compiler if there is one."""
    layout = relayout.layout("nChw16c", (2, 17, 5, 4))
    code = interop.c_function(layout, "where")
    assert "where(" in code
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    rows = "".join(f"if (where({', '.join(map(str, i))}) != {layout.offset(i)}) return 1;\n" for i in indices(layout))
    (tmp_path / "x.c").write_text(code + "\nint main(void) {\n" + rows + "return 0; }\n")
    subprocess.run(["cc", tmp_path / "x.c", "-o", tmp_path / "x"], check=True)
    subprocess.run([tmp_path / "x"], check=True)


def test_cute_algebra():
    """The laws of CuTe's functions, on the examples of its documentation."""
    def cute(text):
        return interop.from_cute(text)

    a, b = cute("(6,2):(8,2)"), cute("(4,3):(3,1)")
    composed = interop.compose(a, b)
    flat_a = [a.offset(i % 6, i // 6) for i in range(12)]
    assert [composed.offset(i, j) for j in range(3) for i in range(4)] == [flat_a[b.offset(i, j)] for j in range(3)
                                                                             for i in range(4)]
    assert interop.to_cute(interop.complement(cute("4:1"), 24)) == "6:4"
    assert interop.cosize(cute("(4,2):(1,4)")) == 8
    assert interop.coalesce(cute("(2,(1,6)):(1,(6,2))")) == cute("12:1")
    for name in ("logical_divide", "zipped_divide", "tiled_divide", "flat_divide"):
        assert getattr(interop, name)(cute("12:1"), cute("3:1")).elements == 12
    for name in ("logical_product", "blocked_product", "raked_product"):
        assert getattr(interop, name)(cute("(2,5):(5,1)"), cute("(3,4):(1,3)")).elements == 120
    for inverse in (interop.right_inverse, interop.left_inverse):
        assert inverse(cute("(4,2):(2,1)")).elements == 8


def test_scale_factors_and_caches():
    for kind in ("mxfp8", "nvfp4"):
        assert interop.scale_factors(kind, 128, 256).elements > 0
    with pytest.raises(relayout.InvalidArgumentError):
        interop.scale_factors("fp4", 128, 256)
    for order in ("nhd", "hnd", "key_packed", "value_transposed"):
        for pairing in ("in_block", "first", "separate"):
            try:
                assert interop.kv_cache(order, pairing, 4, 16, 8, 64).elements > 0
            except relayout.Error as error:
                assert str(error)
    assert interop.names_of(relayout.layout("nhwc", (2, 3, 4, 5)))
